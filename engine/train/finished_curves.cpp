#include "finished_curves.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/files.h"
#include "model/initial.h"
#include "run/folder.h"
#include "run/manifest.h"
#include "train/fix.h"
#include "train/model_file.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

// More curves would say hardly more, and reading these takes a few milliseconds.
constexpr std::size_t most_curves = 32;
// With much more data, an epoch goes further: the curve then has another course. docs/forecasts.md has the measurement.
constexpr double most_length_ratio = 1.5;
// Beside a run that was begun with --out there may be anything.
constexpr std::size_t most_folders = 10'000;

constexpr const char* file_name = "curve.json";

bool is_kept(const FitPlan& plan, const StageContext& context) {
  return !context.folder.empty() && context.manifest && !context.is_rehearsal && plan.length.total_steps > 0 &&
         context.settings->extended.empty();
}

// The fit as it is printed, without its seed, and without the run whose weights it begins with, which is another one
// each day. What a function computes is known from the recipe's text alone.
std::string key_of(const FitPlan& plan, const Options& fit, const StageContext& context, bool with_data) {
  if (!is_kept(plan, context)) return "";
  Value spec = fit.value();
  if (!with_data) spec.set("data", Value());
  spec.set("seed", Value());
  if (const StoredValues* const source = stored_for_whole(fit, "init")) {
    Value init = spec["init"];
    init.set(source->option, Value());
    spec.set("init", std::move(init));
  }
  std::string text = fit.registry().print(spec) + "\n" + plan.monitor;
  if (holds_function(spec)) text += "\n" + context.manifest->recipe_hash();
  return hash_bytes(text);
}

// Folders beside the run, the newest number first, and after the numbered ones the others by name.
std::vector<fs::path> folders_beside(const fs::path& run) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator each(run.parent_path(), error), end; !error && each != end; each.increment(error)) {
    if (each->path() != run) folders.push_back(each->path());
  }
  const auto by_number = [](const fs::path& folder) {
    const std::string name = folder.filename().string();
    return std::pair(run_number(name).value_or(-1), name);
  };
  std::ranges::sort(folders, std::ranges::greater(), by_number);
  if (folders.size() > most_folders) folders.resize(most_folders);
  return folders;
}

}  // namespace

FinishedCurves::FinishedCurves(const FitPlan& plan, const Options& fit, const StageContext& context)
    : plan_(plan),
      context_(context),
      key_(key_of(plan, fit, context, true)),
      key_without_data_(key_of(plan, fit, context, false)) {}

std::vector<FinishedCurve> FinishedCurves::found() const {
  std::vector<FinishedCurve> curves, of_other_data;
  if (key_.empty()) return curves;
  const fs::path run = find_run(context_.folder);
  const fs::path stage = context_.folder.lexically_relative(run);
  for (const fs::path& folder : folders_beside(run)) {
    if (curves.size() == most_curves) break;
    try {
      const Value stored = read_json(folder / stage / file_name);
      const bool is_same = stored["key"] == Value(key_);
      if (!is_same && !differs_by_data(stored)) continue;
      std::vector<FinishedCurve>& of_its_kind = is_same ? curves : of_other_data;
      if (of_its_kind.size() == most_curves) continue;
      LearningCurve curve(plan_.minimize(plan_.monitor));
      curve.restore(stored["curve"]);
      // Earlier versions kept only curves that had reached their length, and not the length.
      const double last = curve.points().empty() ? 0 : curve.points().back().step;
      const Value& length = stored["length"];
      of_its_kind.push_back({.curve = std::move(curve),
                             .length = length.is_number() ? length.number() : last,
                             .of_other_data = !is_same});
    } catch (const std::exception&) {
      // A damaged file, or a folder that may not be read: a forecast is no reason to end a training.
    }
  }
  return curves.empty() ? of_other_data : curves;
}

bool FinishedCurves::differs_by_data(const Value& stored) const {
  if (stored["key_without_data"] != Value(key_without_data_)) return false;
  const double ratio = stored["length"].number() / static_cast<double>(plan_.length.total_steps);
  return std::max(ratio, 1 / ratio) <= most_length_ratio;
}

void FinishedCurves::keep(const LearningCurve& curve) const {
  const bool went_back = std::ranges::any_of(plan_.fixes, [](const Fix& fix) { return fix.from > 0; });
  if (key_.empty() || went_back || (context_.resumed && context_.settings->is_mended)) return;
  const Value stored = Value::Map{{"key", key_},
                                  {"key_without_data", key_without_data_},
                                  {"curve", curve.state()},
                                  {"length", plan_.length.total_steps}};
  write_atomic(context_.folder / file_name, to_json(stored) + "\n");
}

}  // namespace trainlab
