// Which fits train together along a leading member axis, and how many. A pure function of the fit, its batch and the
// threads, so that it never depends on what a machine was doing.
#pragma once

#include <cstdint>
#include <string>

#include "train/fit_plan.h"

namespace trainlab {

// A spec without the places in the recipe where its entries were written.
Value without_places(const Options& spec);

// Fits of one structure can be members of one group: all but the optimizer's numbers, schedules, stop rules, callbacks
// and the seed is equal. Empty where a fit cannot share a group at all.
std::string structure_of(const Options& fit);

// Number of members of a stack that saves time; 1: such fits run alone.
std::int64_t stack_size(const FitPlan& plan, int threads);
// Why fits of this plan cannot be members of a group, with the layer or option that prevents it; empty where they can.
std::string why_alone(const FitPlan& plan);

}  // namespace trainlab
