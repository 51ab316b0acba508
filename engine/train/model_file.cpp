#include "train/model_file.h"

#include <array>
#include <stdexcept>

#include "core/files.h"
#include "head.h"

namespace trainlab {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t largest_file = std::int64_t{64} << 20;
constexpr std::array<const char*, 4> meanings = {"values", "classes", "binary", "probabilities"};

bool holds_function(const Value& value) {
  if (value.is_list()) {
    for (const Value& element : value.list())
      if (holds_function(element)) return true;
  }
  if (!value.is_map()) return false;
  if (value["@"] == Value("function")) return true;
  for (const auto& [name, member] : value.map())
    if (holds_function(member)) return true;
  return false;
}

// Whether the loss, or the first of a sum, reads the outputs as logits of questions of yes or no.
bool reads_logits(const Options& fit) {
  if (fit.is_function("loss")) return false;
  Options loss = fit.child("loss");
  if (loss.entry().name == "loss.sum") {
    const Options::Element first = loss.elements("losses").front();
    if (!first.entry) return false;
    loss = *first.entry;
  }
  return loss.entry().name == "loss.bce_with_logits";
}

void find_meaning(ModelFile& file, const FitPlan& plan) {
  if (!plan.loss) return;  // a step of the recipe's own
  const Head& head = plan.head;
  if (head.target_type == at::kLong && is_single_logit(head)) {
    file.meaning = Meaning::binary;
    file.classes = 2;
  } else if (reads_logits(plan.options)) {
    file.meaning = Meaning::probabilities;
  } else if (const auto axis = class_axis(head)) {
    file.meaning = Meaning::classes;
    file.classes = axis->classes;
    file.classes_first = axis->first;
  }
  if (head.classes == file.classes) file.class_names = head.class_names;
}

}  // namespace

ModelFile::ModelFile(const FitPlan& plan)
    : model(plan.options.child("model").value()),
      has_functions(holds_function(model)),
      type(plan.type),
      keeps_best(plan.keep_best) {
  for (const std::size_t index : plan.inputs) {
    const Column& column = plan.data.train.data->columns[index];
    inputs.push_back({.name = column.name,
                      .shape = column.sample_shape(),
                      .integers = at::isIntegralType(column.batch_type(), /*includeBool=*/true)});
  }
  // A step of the recipe's own may feed its model with what is no column.
  if (plan.options.given("input")) inputs = {{.name = "x", .shape = plan.options.integers("input")}};
  find_meaning(*this, plan);
}

void ModelFile::write(const fs::path& stage_folder) const {
  Value::List columns;
  for (const InputColumn& column : inputs) {
    Value::List shape(column.shape.begin(), column.shape.end());
    columns.push_back(Value::Map{{"name", column.name}, {"shape", shape}, {"integers", column.integers}});
  }
  const Value file = Value::Map{{"format", 1},
                                {"model", model},
                                {"has_functions", has_functions},
                                {"inputs", columns},
                                {"dtype", dtype_name(type)},
                                {"meaning", meanings[static_cast<std::size_t>(meaning)]},
                                {"classes_first", classes_first},
                                {"classes", classes},
                                {"class_names", Value::List(class_names.begin(), class_names.end())},
                                {"keep", keeps_best ? "best" : "last"}};
  write_atomic(stage_folder / "model.json", to_json(file, 1) + "\n");
}

ModelFile::ModelFile(const fs::path& stage_folder) {
  const fs::path path = stage_folder / "model.json";
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw usage_error("there is no trained model in " + stage_folder.string())
        .hint("a task has none; a fit of several models has their weights in checkpoints/");
  }
  const Value file = parse_json(read_file(path, largest_file), path.string());
  const auto damaged = [&] { return recipe_error(path.string() + ": damaged, or of another version of trainlab"); };
  if (!(file["format"] == Value(1))) throw damaged();
  try {
    model = file["model"];
    has_functions = file["has_functions"].boolean();
    for (const Value& column : file["inputs"].list()) {
      InputColumn input{.name = column["name"].string(), .integers = column["integers"].boolean()};
      for (const Value& size : column["shape"].list()) input.shape.push_back(size.integer());
      inputs.push_back(std::move(input));
    }
    if (inputs.empty() || !model.is_map()) throw damaged();
    type = file["dtype"].string() == "float64" ? at::kDouble : at::kFloat;
    std::size_t known = 0;
    while (known < meanings.size() && file["meaning"].string() != meanings[known]) ++known;
    if (known == meanings.size()) throw damaged();
    meaning = static_cast<Meaning>(known);
    classes_first = file["classes_first"].boolean();
    classes = file["classes"].integer();
    for (const Value& name : file["class_names"].list()) class_names.push_back(name.string());
    if (!class_names.empty() && static_cast<std::int64_t>(class_names.size()) != classes) throw damaged();
    keeps_best = file["keep"].string() == "best";
  } catch (const std::logic_error&) {
    throw damaged();
  }
}

std::string ModelFile::class_name(std::int64_t number) const {
  return class_names.empty() ? std::to_string(number) : class_names[static_cast<std::size_t>(number)];
}

}  // namespace trainlab
