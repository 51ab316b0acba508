// lab.sweep and lab.ensemble: stages made of many fits. Trials are kept in a study's file in the stage's folder, and
// any number of processes that execute the recipe work on them (see study/storage.h): a process that reaches the stage
// helps until no work is left.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "core/registry.h"
#include "run/stage.h"

namespace trainlab {

struct FitCompany;
struct FitPlan;
struct TaskCompany;

// Trials that a process trains together, or one that trains by itself.
struct TrialsAtWork {
  std::filesystem::path stage;  // the folder of the sweep or ensemble
  std::string names;            // "trials 3 and 4 of sweep search"
  std::int64_t count = 1;       // trainings, of which a trial has one for each of its seeds
};

// Company from a room above for each training of trials, given before it begins.
struct TrialAddition {
  std::function<void(const FitPlan& plan, const TrialsAtWork& trials, FitCompany& company)> join_fits = {};
  std::function<void(const Options& task, const RunSettings& settings, const TrialsAtWork& trial, TaskCompany& company)>
      join_task = {};
};

// Adds the entries "sweep" and "ensemble".
void register_sweep(Registry& registry, const TrialAddition& addition = {});

}  // namespace trainlab
