#include <limits>

#include "cli/arguments.h"
#include "cli/ending.h"
#include "cli/requests.h"
#include "core/error.h"
#include "run/folder.h"

namespace trainlab::cli {

namespace {

void check_predict(const Arguments& given) {
  if (given.has("json") && given.flags["format"] == Value("csv") && !given.has("output")) {
    throw usage_error("either --json or --format csv");
  }
}

// Predictions are text; a text that a prompt begins has no format.
void check_ending(const std::string& output) {
  const std::string ending = std::filesystem::path(output).extension();
  for (const char* other : {".gz", ".jsonl", ".npy", ".npz", ".parquet", ".pt", ".safetensors", ".tsv", ".xlsx"}) {
    if (ending == other)
      throw usage_error("--output: expected a file .csv or .json, found " + output)
          .hint("predictions are written as --format csv or json");
  }
}

bool is_json(const Arguments& given) {
  if (!given.has("output")) return given.has("json");
  return std::filesystem::path(given.flags["output"].string()).extension() == ".json";
}

void check_output(const Arguments& given) {
  const std::string& output = given.flags["output"].string();
  std::error_code ignored;
  if (given.has("input")) check_ending(output);
  if (std::filesystem::is_directory(output, ignored))
    throw usage_error("--output: expected a file, found the folder " + output);
  if (given.has("input") && std::filesystem::equivalent(output, given.flags["input"].string(), ignored))
    throw usage_error("--output: expected another file than that of --input, found " + output);
}

// The request for the given stage, or for the stage that the recipe returned. Raises Error{usage} if the stage does not
// exist or has no model.
Request request_for_prediction(const Arguments& given) {
  const std::filesystem::path run = find_run(given.words.front());
  const Value& asked = given.flags["stage"];
  const StageRecord stage =
      find_stage(given.words.front(), asked.is_nil() ? std::nullopt : std::optional(asked.string()));
  if (stage.kind == "task") {
    std::string others;
    for (const StageRecord& other : read_stages(run))
      if (other.kind != "task") others += (others.empty() ? "--stage " : ", or --stage ") + other.name;
    throw usage_error("stage \"" + stage.name + "\" is of kind task: only a fit, a sweep and an ensemble have models")
        .hint(!others.empty() ? others
                              : "a task predicts in its own function: model:forward(x); what ctx:save(name, model) has "
                                "written, lab.init.weights gives to a fit");
  }
  if (stage.kind != "fit" && read_summary(stage.folder).is_nil()) {
    throw usage_error("stage \"" + stage.name + "\" has not ended, and its best models are not known yet")
        .hint("the folder of an ended trial, " + stage.folder + "/trials/0000/seed-1, can stand in place of the run's");
  }
  Request request = request_for_run(given, run, read_manifest(run));
  request.command = given.command->name;
  Value& options = request.options;
  // The settings of the run are left out, because a prediction does not depend on how the run was begun.
  for (const char* own : {"device", "memory", "seed", "threads"}) {
    if (!given.has(own)) options.set(own, Value());
  }
  options.set("out", run.string());
  options.set("stage", stage.name);
  options.set("folder", stage.folder);
  if (given.has("output")) check_output(given);
  if (!given.has("format") && is_json(given)) options.set("format", "json");
  return request;
}

int run_predict(const Program&, const Arguments& given) {
  const Request request = request_for_prediction(given);
  const Outcome outcome = Supervisor(Supervisor::find_engine()).run(request, std::nullopt);
  if (outcome.code != 0) return tell(outcome, given.has("json"), given.command->name);
  if (!given.has("json")) {
    print_data(outcome.result["text"].string());
    return 0;
  }
  Value object = Value::Map{{"kind", "predict"}, {"status", "done"}};
  if (given.has("output")) {
    object.set("output", request.options["output"]);
  } else if (given.has("prompt")) {
    const std::string& text = outcome.result["text"].string();
    object.set("text", text.substr(0, text.size() - 1));  // without the line break that ends it on a terminal
  } else {
    object.set("predictions", parse_json(outcome.result["text"].string(), "the predictions"));
  }
  print(to_json(object) + "\n");
  return 0;
}

Flag seed_of_draws() {
  Flag flag = common_flag("seed", "seed of the draws");
  flag.needs = "prompt";
  return flag;
}

}  // namespace

Command predict_command() {
  return {
      .name = "predict",
      .line = "predict for new inputs with a trained model",
      .text =
          "RUN is a run folder, or a folder in its stages/ or trials/. The kept weights of its fit predict, those\n"
          "of a sweep's best trial, or the members of an ensemble together; nothing in RUN is changed.\n",
      .words = {.operand = "RUN", .what = "one run folder", .least = 1, .most = 1},
      .flags =
          {
              {.name = "input",
               .type = file_type("FILE"),
               .help = ".csv as in training (the target is not needed), an array x as .npy, .npz, .safetensors,\n"
                       "or a .jpg, .png or a folder of them"},
              {.name = "output", .type = file_type("FILE"), .help = "file to write (default: standard output)"},
              {.name = "format",
               .type = choice_type("F", {"csv", "json"}),
               .help = "csv or json; json for an --output that ends so",
               .otherwise = "csv",
               .needs = "input"},
              {.name = "batch",
               .type = whole_type("N", 1, 1 << 20),
               .help = "number of samples at a time",
               .otherwise = 256,
               .needs = "input"},
              {.name = "stage",
               .type = text_type("NAME"),
               .help = "name of a stage (default: the stage that the recipe returned)"},
              {.name = "model", .type = text_type("NAME"), .help = "name of the model, if the fit has several"},
              {.name = "prompt",
               .type = text_type("TEXT"),
               .help = "the beginning of a text, which a language model continues"},
              {.name = "length",
               .type = whole_type("N", 0, 1 << 24),
               .help = "number of tokens to add",
               .otherwise = 200,
               .needs = "prompt"},
              {.name = "temperature",
               .type = number_type("T", 0, 1e6, "from 0"),
               .help = "0: always the most probable token",
               .otherwise = 0.8,
               .needs = "prompt"},
              {.name = "top-k",
               .type = whole_type("K", 1, 1 << 30),
               .help = "draw only from the K most probable tokens",
               .otherwise = 0,
               .needs = "prompt"},
              {.name = "top-p",
               .type = number_type("P", std::numeric_limits<double>::min(), 1, "above 0 and at most 1"),
               .help = "only the most probable tokens that together have probability P",
               .otherwise = 1.0,
               .needs = "prompt"},
              seed_of_draws(),
              common_flag("json",
                          "one object: \"predictions\", a list as of --format json; \"text\" of a prompt; or "
                          "\"output\""),
          },
      .alternatives = {.flags = {"input", "prompt"},
                       .required = true,
                       .error = "`trainlab predict` needs --input FILE, or --prompt TEXT for a language model"},
      .works = Command::Works::with_engine,
      .check = check_predict,
      .run = run_predict,
  };
}

}  // namespace trainlab::cli
