// Parts of plan_fit() that have files of their own.
#pragma once

#include <string>
#include <vector>

#include "core/registry.h"

namespace trainlab {

// Warnings about a fit with one model and a loss, each as "FILE:LINE: path: text".
std::vector<std::string> warnings_of(const Options& fit);

}  // namespace trainlab
