#include "predict/stage_predictor.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "run/folder.h"
#include "run/stage_files.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

// Words on the values of a sample that normalisation makes too large for float32, as it does 3e38 where the deviation
// is 0.01; empty where there are none.
std::string beyond_float(const Part& part, std::int64_t sample) {
  for (const Column& column : part.data->columns) {
    if (!column.values.defined() || !column.scale.defined() || !column.shift.defined()) continue;
    const at::Tensor values = column.values.select(0, part.row(sample));
    const at::Tensor wrong = values.mul(column.scale).add(column.shift).to(at::kFloat).isfinite().logical_not();
    const auto count = wrong.sum().item<std::int64_t>();
    if (count > 0)
      return "; there normalisation makes " + std::to_string(count) + " of " + std::to_string(wrong.numel()) +
             " values of " + column.name + " too large for float32";
  }
  return "";
}

// A sentence on the rows whose outputs are no numbers.
std::optional<std::string> warning_of_outputs(const at::Tensor& outputs, const NewInputs& inputs) {
  const at::Tensor wrong = outputs.reshape({outputs.size(0), -1}).isfinite().all(1).logical_not();
  const auto count = wrong.sum().item<std::int64_t>();
  if (count == 0) return {};
  const auto first = wrong.to(at::kByte).argmax().item<std::int64_t>();
  return inputs.from + ": the outputs of " + std::to_string(count) + " of " + std::to_string(outputs.size(0)) +
         " rows are not finite (NaN or infinity), first those of index " + std::to_string(first) +
         beyond_float(inputs.part, first);
}

}  // namespace

StagePredictor::StagePredictor(const Registry& registry, const fs::path& stage_folder, at::Device device,
                               const std::shared_ptr<const Spec>& stage, const std::optional<std::string>& name)
    : is_ensemble_(read_summary(stage_folder)["kind"] == Value("ensemble")), models_(models_behind(stage_folder)) {
  predictors_.reserve(models_.size());
  for (const StoredModel& model : models_) {
    const bool is_own = model.folder == stage_folder;
    if (!is_own) check_trial(stage_folder, model.folder);
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

std::vector<std::string> StagePredictor::warnings() const {
  std::vector<std::string> all;
  for (const Predictor& predictor : predictors_)
    if (!predictor.warning().empty()) all.push_back(predictor.warning());
  return all;
}

Prediction StagePredictor::predict(const std::function<NewInputs(const Predictor&)>& inputs, std::int64_t batch) const {
  const at::NoGradGuard no_gradients;
  Prediction result;
  std::vector<at::Tensor> outputs;
  for (const Predictor& predictor : predictors_) {
    NewInputs own = inputs(predictor);
    outputs.push_back(predictor.predict(own, batch));
    const std::optional<std::string> warning = warning_of_outputs(outputs.back(), own);
    if (outputs.size() == 1) {
      result.names = std::move(own.names);
      result.warnings = std::move(own.warnings);
    }
    if (warning && std::ranges::find(result.warnings, *warning) == result.warnings.end())
      result.warnings.push_back(*warning);
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
