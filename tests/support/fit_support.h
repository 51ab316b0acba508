// For tests of whole fits: a registry with every entry, specs written as JSON, a temporary folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/registry.h"
#include "run/stage.h"
#include "support/error_of.h"
#include "support/temporary_folder.h"
#include "train/fit.h"

namespace trainlab::test {

// Adds the entries that fits are made of: models, data, optimizers, losses, metrics, stop rules, lab.fit.
void register_fits(Registry& registry, const std::vector<FitAddition>& additions = {});
// These entries; built once.
const Registry& full_registry();

// Checked options of an entry given as JSON ({"@": "fit", …}); functions[i] stands for {"@": "function", "index": i}.
Options parse_options(const std::string& json, std::vector<std::shared_ptr<Callable>> functions = {});

// A native function in place of a recipe's.
std::shared_ptr<Callable> native(std::function<std::vector<Argument>(std::span<const Argument>)> body);

// A function for on.step that asks the run to stop after this step.
std::shared_ptr<Callable> stop_at(std::int64_t step);

// Takes the request to stop back at the end of its scope.
struct ClearStop {
  ClearStop() = default;
  ClearStop(const ClearStop&) = delete;
  ClearStop& operator=(const ClearStop&) = delete;
  ~ClearStop();
};

// While the object lives, the working folder is a new, empty folder, so that a test can see what is left behind.
class EmptyFolder {
 public:
  EmptyFolder();
  ~EmptyFolder();
  bool is_empty() const;

 private:
  TemporaryFolder temporary_;
  std::filesystem::path before_;
};

StageContext quiet_context(const std::filesystem::path& folder, const RunSettings& settings, bool resumed = false);

// Those of a quiet run on test_device().
RunSettings test_settings();
RunSettings cpu_settings();  // the same on the CPU, whatever device the tests run on

// Runs one fit in `folder`.
Value run_one(const Options& fit, const std::filesystem::path& folder, bool resumed = false,
              const RunSettings& settings = test_settings());

// The rows of metrics.jsonl in a run folder without their times.
std::string rows_without_seconds(const std::filesystem::path& folder);

// The fit that most tests use, with `more` put before its closing brace: `, "epochs": 3`.
std::string digits_fit(const std::string& more);
// Such a fit with another optimizer: R"({"@": "optim.SGD"})".
std::string with_optimizer(std::string fit, const std::string& optimizer);
// The usual fit with other layers.
std::string digits_fit_with_layers(const std::string& layers, const std::string& more = "");

}  // namespace trainlab::test
