#include "predict/predictor.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/concat.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>

#include "predict/kept_weights.h"
#include "tensor/device.h"

namespace trainlab {

namespace {

namespace fs = std::filesystem;

std::shared_ptr<const Model> build(const Registry& registry, const ModelFile& file, std::shared_ptr<const Spec> stage) {
  Signals columns;
  for (const InputColumn& input : file.inputs) columns[input.name] = {.shape = input.shape, .integers = input.integers};
  const auto built = [&](const Options& spec) { return std::make_shared<const Model>(spec, columns, file.precision); };
  if (stage) {
    const Options fit(registry, std::move(stage), "");
    return built(file.name.empty() ? fit.child("model") : fit.keyed("model").child(file.name));
  }
  if (file.has_functions) {
    throw usage_error("the model has functions of its recipe and cannot be built without the recipe")
        .hint("`trainlab predict RUN` executes the recipe that is stored in the run");
  }
  auto spec = std::make_shared<Spec>();
  spec->value = registry.check(file.model, "model");
  return built(Options(registry, std::move(spec), "model"));
}

// A state of its own with these weights (model.…).
ModelState state_of(const Model& model, const NamedTensors& weights, at::ScalarType type, at::Device device) {
  const Key key(0);  // of initial values, which are replaced
  ModelState state = model.initial_state({&key, 1}, type, device, false);
  load_named_state(model, state, weights);
  return state;
}

}  // namespace

Predictor::Predictor(const Registry& registry, const fs::path& stage_folder, at::Device device,
                     std::shared_ptr<const Spec> stage, const std::optional<std::string>& name)
    : file_(read_model(stage_folder, name)), device_(device) {
  KeptWeights kept = read_kept(stage_folder, file_);
  data_ = std::move(kept.data);
  warning_ = std::move(kept.warning);
  model_ = build(registry, file_, std::move(stage));
  state_ = state_of(*model_, kept.weights, file_.type, device_);
}

std::shared_ptr<ModelObject> Predictor::model_object() const {
  NamedTensors weights;
  for (auto& [name, tensor] : named_state(*model_, state_)) weights.emplace(name, tensor);
  auto object = std::make_shared<ModelObject>(model_, state_of(*model_, weights, file_.type, device_));
  object->training = false;
  return object;
}

at::Tensor Predictor::forward(std::span<const at::Tensor> columns) const {
  const at::NoGradGuard no_gradients;
  std::vector<at::Tensor> moved(columns.begin(), columns.end());
  device_at(device_).take(moved);
  return model_->forward(moved, Pass{.state = state_, .training = false, .keys = {}});
}

at::Tensor Predictor::as_told(const at::Tensor& out) const {
  switch (file_.meaning) {
    case Meaning::classes: return at::softmax(out, file_.classes_first ? 1 : -1);
    case Meaning::probabilities: return at::sigmoid(out);
    case Meaning::binary: {
      // [B, 1], or with positions [B, …, 1] or [B, 1, …]: two classes in place of the single logit.
      const at::Tensor logit = out.dim() == 2 || out.size(-1) == 1 ? out.squeeze(-1) : out.squeeze(1);
      return at::stack({at::sigmoid(logit.neg()), at::sigmoid(logit)}, -1);
    }
    case Meaning::values: break;
  }
  return out;
}

// Inputs of other sizes than in training are for models whose layers take them.
void Predictor::check_sizes(const NewInputs& inputs) const {
  const std::vector<Column>& columns = inputs.part.data->columns;
  std::vector<Shape> samples;
  std::optional<std::size_t> other;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    samples.push_back(columns[i].sample_shape());
    if (!other && samples[i] != file_.inputs[i].shape) other = i;
  }
  if (!other) return;
  try {
    model_->check_sizes(std::move(samples));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::recipe) throw;
    throw other_column(inputs.from, file_.inputs[*other], columns[*other])
        .hint("other sizes are for models whose layers take them: " + error.path() + ": " + error.message());
  }
}

at::Tensor Predictor::predict(const NewInputs& inputs, std::int64_t batch) const {
  check_sizes(inputs);
  const at::NoGradGuard no_gradients;
  LoaderOptions options;
  options.batch = batch;
  options.shuffle = false;
  options.float_type = file_.type;
  options.device = device_;
  Loader loader(inputs.part, options, {Key(0)}, false);
  std::vector<at::Tensor> all;
  for (std::int64_t i = 0; i < loader.batches_per_epoch(); ++i) {
    all.push_back(as_told(forward(loader.next().columns)).cpu());
  }
  return at::concat(all);
}

bool Predictor::is_language_model() const {
  if (!data_.contains("tokenizer") || file_.inputs.size() != 1 || !file_.inputs.front().integers) return false;
  const Shape &in = file_.inputs.front().shape, &out = model_->output();
  return file_.meaning == Meaning::classes && !file_.classes_first && in.size() == 1 && out.size() == 2 &&
         out[0] == in[0] && out[1] == Tokenizer::load(data_).size();
}

}  // namespace trainlab
