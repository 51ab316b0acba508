#include "predict.h"

#include "core/files.h"
#include "predict/generate.h"
#include "predict/prediction_text.h"
#include "run/run.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

std::string text_of(const Predictor& predictor, const Request& request) {
  const Prediction& wanted = *request.prediction;
  if (wanted.prompt) {
    const Generation generation{
        .length = wanted.length,
        .sampling = {.temperature = wanted.temperature, .top_k = wanted.top_k, .top_p = wanted.top_p},
        .seed = request.seed.value_or(1)};
    return generate(predictor, *wanted.prompt, generation) + "\n";
  }
  const NewInputs inputs = read_inputs(*wanted.input, predictor.file().inputs, predictor.data());
  return prediction_text(predictor, inputs, predictor.predict(inputs, wanted.batch),
                         wanted.format == "json" ? PredictionFormat::json : PredictionFormat::csv);
}

}  // namespace

bool needs_recipe(const Request& request) {
  return read_model(request.prediction->folder, request.prediction->model).has_functions;
}

std::string predicted_text(const Registry& registry, const Request& request, std::shared_ptr<const Spec> stage) {
  prepare_arithmetic(request.threads.value_or(usable_cores()));
  return with_torch_errors([&] {
    const Predictor predictor(registry, request.prediction->folder, parse_device(request.device.value_or("auto")),
                              std::move(stage), request.prediction->model);
    const std::string text = text_of(predictor, request);
    // Bytes that a model of bytes makes need not be text, and only a file can hold them as they are.
    if (!request.prediction->output) return valid_utf8(text);
    write_atomic(*request.prediction->output, text);
    return std::string();
  });
}

}  // namespace trainlab
