#include "predict/stage_predictor.h"

#include <ATen/core/grad_mode.h>

#include "run/folder.h"
#include "run/stage_files.h"

namespace trainlab {

namespace fs = std::filesystem;

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
    if (outputs.size() == 1) {
      result.names = std::move(own.names);
      result.warnings = std::move(own.warnings);
    }
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
