#include "predict/stage_predictor.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "run/folder.h"

namespace trainlab {

namespace {

namespace fs = std::filesystem;

// trials/0007/seed-2 of a sweep or an ensemble (see TrialFolder in engine/sweep).
fs::path folder_of_trial(const fs::path& stage_folder, std::int64_t trial, std::int64_t repeat) {
  const std::string number = std::to_string(trial);
  return stage_folder / "trials" / (std::string(number.size() < 4 ? 4 - number.size() : 0, '0') + number) /
         ("seed-" + std::to_string(repeat));
}

// The repeat, from 1, with the best value; of equal ones the first.
std::int64_t best_repeat(const Value& values, bool maximize) {
  if (!values.is_list()) return 1;  // the trial has a single one
  std::size_t best = 0;
  for (std::size_t i = 1; i < values.list().size(); ++i) {
    const Value &one = values.list()[i], &other = values.list()[best];
    if (!one.is_number()) continue;
    if (!other.is_number() || (maximize ? one.number() > other.number() : one.number() < other.number())) best = i;
  }
  return static_cast<std::int64_t>(best) + 1;
}

std::vector<StoredModel> best_of_sweep(const fs::path& folder, const Value& summary) {
  const Value& best = summary["best"];
  if (best.is_map()) {
    const std::int64_t repeat = best_repeat(best["seed_values"], summary["goal"] == Value("max"));
    return {{.folder = folder_of_trial(folder, best["trial"].integer(), repeat)}};
  }
  if (summary["pareto"].is_list() && !summary["pareto"].list().empty()) {
    const std::int64_t first = summary["pareto"].list().front()["trial"].integer();
    throw usage_error("the sweep in " + folder.string() + " has several metrics, and so no single best trial")
        .hint("name the folder of a trial in place of the run's: " + folder_of_trial(folder, first, 1).string());
  }
  throw usage_error("the sweep in " + folder.string() + " has no complete trial, and so no best model");
}

std::vector<StoredModel> members_of_ensemble(const fs::path& folder, const Value& summary) {
  std::vector<StoredModel> members;
  if (summary["members"].is_list()) {
    for (const Value& member : summary["members"].list()) {
      // Ensembles of earlier versions do not say where a member lies, which one of seeds has trained itself.
      const fs::path own = member["folder"].is_string() ? folder / member["folder"].string()
                                                        : folder_of_trial(folder, member["trial"].integer(), 1);
      const fs::path place = own.lexically_normal();
      const auto known = std::ranges::find(members, place, &StoredModel::folder);
      if (known == members.end()) {
        members.push_back({.folder = place});
      } else {
        ++known->weight;
      }
    }
  }
  if (members.empty()) throw usage_error("the ensemble in " + folder.string() + " has no members yet");
  return members;
}

}  // namespace

std::vector<StoredModel> models_behind(const fs::path& stage_folder) {
  const Value summary = read_summary(stage_folder);
  const Value& kind = summary["kind"];
  try {
    if (kind == Value("sweep")) return best_of_sweep(stage_folder, summary);
    if (kind == Value("ensemble")) return members_of_ensemble(stage_folder, summary);
  } catch (const std::logic_error&) {  // of Value
    throw damaged_file(stage_folder / "summary.json", "its best trial or its members cannot be read");
  }
  if (kind.is_string() && kind.string() != "fit") {
    throw usage_error("a " + kind.string() + " keeps no model: only a fit, a sweep and an ensemble of fits have one");
  }
  return {{.folder = stage_folder}};
}

StagePredictor::StagePredictor(const Registry& registry, const fs::path& stage_folder, at::Device device,
                               const std::shared_ptr<const Spec>& stage, const std::optional<std::string>& name)
    : is_ensemble_(read_summary(stage_folder)["kind"] == Value("ensemble")), models_(models_behind(stage_folder)) {
  predictors_.reserve(models_.size());
  for (const StoredModel& model : models_) {
    const bool is_own = model.folder == stage_folder;
    // The spec of a sweep or an ensemble is not that of the fits which its function builds.
    if (!is_own && read_model(model.folder, name).has_functions) {
      throw usage_error("the model in " + model.folder.string() +
                        " has functions of its recipe, and of a sweep or an ensemble no such model can be built again")
          .hint("a fit can: lab.run(build(found.best.params)) trains the best parameters as a stage of its own");
    }
    predictors_.emplace_back(registry, model.folder, device, is_own ? stage : nullptr, name);
  }
}

const Predictor& StagePredictor::only() const {
  if (predictors_.size() == 1) return predictors_.front();
  throw usage_error("an ensemble of " + std::to_string(predictors_.size()) + " models has no single one")
      .hint("lab.load_run(\"" + models_.front().folder.string() + "\") is the result of its first member");
}

Prediction StagePredictor::predict(const std::function<NewInputs(const Predictor&)>& inputs, std::int64_t batch) const {
  const at::NoGradGuard no_gradients;
  Prediction result;
  std::vector<at::Tensor> outputs;
  for (const Predictor& predictor : predictors_) {
    NewInputs own = inputs(predictor);
    outputs.push_back(predictor.predict(own, batch));
    if (outputs.size() == 1) result.names = std::move(own.names);
    const ModelFile &file = predictor.file(), &other = first().file();
    const std::string of_member =
        "the members of an ensemble predict alike, and the member in " + models_[outputs.size() - 1].folder.string();
    if (outputs.back().sizes() != outputs.front().sizes() || file.meaning != other.meaning) {
      throw run_error(of_member + " gives " + shape_text(outputs.back().sizes()) + " where the first gives " +
                      shape_text(outputs.front().sizes()));
    }
    if (file.class_names != other.class_names) throw run_error(of_member + " predicts other classes than the first");
  }
  if (!is_ensemble_) {
    result.mean = outputs.front();
    return result;
  }
  double count = 0;
  at::Tensor sum, squares;
  for (std::size_t m = 0; m < outputs.size(); ++m) {
    const at::Tensor share = outputs[m].to(at::kDouble).mul(models_[m].weight);
    sum = sum.defined() ? sum.add(share) : share;
    count += models_[m].weight;
  }
  const at::Tensor mean = sum.div(count);
  for (std::size_t m = 0; m < outputs.size(); ++m) {
    const at::Tensor share = outputs[m].to(at::kDouble).sub(mean).square().mul(models_[m].weight);
    squares = squares.defined() ? squares.add(share) : share;
  }
  const at::ScalarType type = outputs.front().scalar_type();
  result.mean = mean.to(type);
  result.spread = squares.div(count).sqrt().to(type);
  return result;
}

}  // namespace trainlab
