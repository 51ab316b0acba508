// Sweeps over small fits, worked on in this process.
#pragma once

#include <filesystem>
#include <functional>
#include <limits>
#include <string>

#include "plan/sweep_plan.h"
#include "support/fit_support.h"
#include "worker.h"

namespace trainlab::test {

// What the recipe's callbacks do, told the trial.
struct Events {
  std::function<void(std::int64_t trial)> validate = {};
  std::function<void(std::int64_t trial)> checkpoint = {};
};

// A sweep over lr of fits of four epochs, with `more` put before its closing brace; its sampler is random unless `more`
// names one. A fit validates after each epoch, which has two steps, and commits a checkpoint after each step. `space`:
// further parameters; the model has a hidden layer of the parameter `width`, and the data ends with the share `val`,
// where they are parameters.
Options sweep(const std::string& more, const Events& events = {}, const std::string& space = "");

// An ensemble of such fits at the rate 0.1.
Options ensemble(const std::string& more);

// The engine that works on a sweep.
struct Engine {
  std::string supervisor = "here:1";
  RunSettings settings = test_settings();
  double most_flops = std::numeric_limits<double>::infinity();  // of the sweep
};

// Works on the sweep in `folder` until nothing is left or a stop is asked for, and hands the study to `check`. Returns
// what was said.
std::string work(const Options& stage, const std::filesystem::path& folder,
                 const std::function<void(const SharedStudy&)>& check = {}, const Engine& engine = {});

}  // namespace trainlab::test
