#include <cstdio>

#include "chosen_device.h"
#include "command.h"
#include "core/files.h"
#include "core/printable.h"
#include "execution.h"
#include "predict/generate.h"
#include "predict/prediction_text.h"
#include "registry.h"
#include "run/folder.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

std::string folder_of(const Request& request) { return request.options["folder"].string(); }

std::optional<std::string> model_of(const Request& request) {
  const Value& model = request.options["model"];
  return model.is_nil() ? std::nullopt : std::optional(model.string());
}

void warn(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) std::fprintf(stderr, "%s\n", printable(warning).c_str());
}

Generation generation_of(const Request& request) {
  const Value& options = request.options;
  return {.length = options["length"].integer(),
          .sampling = {.temperature = options["temperature"].number(),
                       .top_k = options["top-k"].integer(),
                       .top_p = options["top-p"].number()},
          .seed = settled(request).seed};
}

std::string text_of(const StagePredictor& predictor, const Request& request) {
  const Value& options = request.options;
  if (const Value& prompt = options["prompt"]; !prompt.is_nil()) {
    return generate(predictor.only(), prompt.string(), generation_of(request)) + "\n";
  }
  const auto inputs = [&](const Predictor& one) {
    return read_inputs(options["input"].string(), one.file().inputs, one.data());
  };
  const Prediction prediction = predictor.predict(inputs, options["batch"].integer());
  warn(prediction.warnings);
  return prediction_text(predictor.first(), prediction,
                         options["format"] == Value("json") ? PredictionFormat::json : PredictionFormat::csv);
}

// The text for standard output; empty if a file was asked for, which is written here. `stage`: the fit's spec, if the
// recipe was executed for it. Raises Error.
std::string predicted_text(const Registry& registry, const Request& request, const std::string& device,
                           const std::shared_ptr<const Spec>& stage) {
  return with_torch_errors([&] {
    const StagePredictor predictor(registry, folder_of(request), parse_device(device), stage, model_of(request));
    warn(predictor.warnings());
    const std::string text = text_of(predictor, request);
    // The output of a model of bytes may be no valid text. Only a file can hold such bytes unchanged.
    const Value& output = request.options["output"];
    if (output.is_nil()) return valid_utf8(text);
    write_atomic(output.string(), text);
    return std::string();
  });
}

// Executes the recipe to get the functions of the model. The stage of the model provides them; the stages before it
// give their stored results.
class PredictExecution final : public Execution {
 public:
  explicit PredictExecution(const EngineStart& start) : Execution(start, Purpose::predict) {}

 private:
  StageResult run_stage(const std::shared_ptr<const Spec>& stage) override {
    StageResult result = pass_over(with_set(*stage, false));
    if (predicted_) throw ExecutionEnds();
    return result;
  }

  int end(const Recipe::Outcome& outcome) override {
    if (outcome.stage) pass_over(with_set(*outcome.stage, true));
    if (!predicted_) {
      throw recipe_error("the recipe has no stage \"" + request().options["stage"].string() +
                         "\" any more, which it ran before");
    }
    send(predicted_text(registry(), request(), run().settings().device, predicted_));
    return 0;
  }

  StageResult pass_over(const std::shared_ptr<const Spec>& stage) {
    const std::string name = stage_key(registry(), stage->value);
    if (Value(name) == request().options["stage"]) {
      predicted_ = stage;
      return {};
    }
    const std::filesystem::path folder = find_stage(*request().path("out"), name).folder;
    return {read_stage_summary(folder), folder, stage};
  }

  std::shared_ptr<const Spec> predicted_;  // the stage whose model predicts, once it is found
};

// Whether the model is that of a stage of the recipe, and not of a trial, and has functions of the recipe.
bool needs_recipe(const Request& request) {
  const std::filesystem::path folder = folder_of(request);
  const std::filesystem::path model = models_behind(folder).front().folder;
  if (model != folder || find_stage(*request.path("out"), request.options["stage"].string()).folder != folder)
    return false;
  return read_model(folder, model_of(request)).has_functions;
}

// Prints a trained model's outputs for new inputs, or its continuation of a prompt. Writes nothing into the run.
int predict(const EngineStart& start) {
  if (needs_recipe(start.request)) return PredictExecution(start).execute();
  const ChosenDevice device = chosen_device(start.request);
  warn(device.warnings);
  send_text(*start.channel, predicted_text(all_entries(), start.request, device.name, nullptr));
  return 0;
}

}  // namespace

Command predict_command() { return {"predict", predict}; }

}  // namespace trainlab
