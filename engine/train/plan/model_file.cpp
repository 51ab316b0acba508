#include "train/model_file.h"

#include <array>
#include <stdexcept>

#include "core/files.h"
#include "core/words.h"
#include "data/data_hashes.h"
#include "objective/head.h"
#include "run/folder.h"
#include "run/stage_files.h"
#include "tensor/names.h"

namespace trainlab {

namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 4> meanings = {"values", "classes", "binary", "probabilities"};

// The function that the loss, or the first of a sum, applies to the outputs itself (LossKind::applies).
std::string_view applied(const Options& fit) {
  const std::optional<Options> loss = single_losses(fit).front().entry;
  return loss ? fit.registry().implementation<LossKind>(loss->entry()).applies : std::string_view();
}

void find_meaning(ModelFile& file, const FitPlan& plan) {
  if (!plan.loss) return;  // a step of the recipe's own
  const Head& head = plan.head;
  if (head.target_type == at::kLong && is_single_logit(head)) {
    file.meaning = Meaning::binary;
    file.classes = 2;
  } else if (applied(plan.options) == "sigmoid") {
    file.meaning = Meaning::probabilities;
  } else if (const auto axis = class_axis(head)) {
    file.meaning = Meaning::classes;
    file.classes = axis->classes;
    file.classes_first = axis->first;
  } else if (has_shares(head) && applied(plan.options) == "softmax") {
    file.meaning = Meaning::classes;
    file.classes = axis_of_shares(head).classes;
    file.classes_first = axis_of_shares(head).first;
  }
  if (head.classes == file.classes) file.class_names = head.class_names;
}

// `sizes`: sizes of the input, if a step of the recipe's own feeds the model with a tensor that is not a column.
ModelFile described(const FitPlan& plan, const std::string& name, const Value& spec, const Model& model,
                    const std::optional<Shape>& sizes) {
  ModelFile file;
  file.name = name;
  file.model = spec;
  file.has_functions = holds_function(spec);
  file.type = plan.precision.weights;
  file.precision = plan.precision.of_layers();
  file.keeps_best = plan.keep_best;
  if (sizes) {
    file.inputs.push_back({.name = "x", .shape = *sizes});
    return file;
  }
  for (const std::string& column : model.columns()) {
    const Column& found = *plan.data.train.data->find(column);
    file.inputs.push_back({.name = column,
                           .shape = found.sample_shape(),
                           .integers = at::isIntegralType(found.batch_type(), /*includeBool=*/true)});
  }
  return file;
}

std::vector<ModelFile> models_of(const FitPlan& plan, const Options& fit) {
  std::vector<ModelFile> all;
  if (plan.model) {
    const auto sizes = fit.given("input") ? std::optional<Shape>(fit.integers("input")) : std::nullopt;
    all.push_back(described(plan, "", fit.child("model").value(), *plan.model, sizes));
    find_meaning(all.back(), plan);
    return all;
  }
  for (const FitPlan::StepModel& one : plan.step_models) {
    all.push_back(described(plan, one.name, fit.keyed("model").child(one.name).value(), *one.model, one.input));
  }
  return all;
}

Value to_value(const ModelFile& file) {
  Value::List columns;
  for (const InputColumn& column : file.inputs) {
    Value::List shape(column.shape.begin(), column.shape.end());
    columns.push_back(Value::Map{{"name", column.name}, {"shape", shape}, {"integers", column.integers}});
  }
  Value::Map all{{"model", file.model},
                 {"has_functions", file.has_functions},
                 {"inputs", columns},
                 {"dtype", dtype_name(file.type)},
                 {"meaning", meanings[static_cast<std::size_t>(file.meaning)]},
                 {"classes_first", file.classes_first},
                 {"classes", file.classes},
                 {"class_names", Value::List(file.class_names.begin(), file.class_names.end())},
                 {"keep", file.keeps_best ? "best" : "last"}};
  const LayerPrecision& precision = file.precision;
  if (precision.compute != at::ScalarType::Undefined) {
    all.emplace("compute", dtype_name(precision.compute));
    all.emplace("compute_keep", Value::List(precision.keep.begin(), precision.keep.end()));
  }
  return all;
}

// std::logic_error for a value that is not a model in this format.
ModelFile from_value(const std::string& name, const Value& value) {
  ModelFile file;
  file.name = name;
  file.model = value["model"];
  file.has_functions = value["has_functions"].boolean();
  for (const Value& column : value["inputs"].list()) {
    InputColumn input{.name = column["name"].string(), .integers = column["integers"].boolean()};
    for (const Value& size : column["shape"].list()) input.shape.push_back(size.integer());
    file.inputs.push_back(std::move(input));
  }
  const std::optional<at::ScalarType> type = find_dtype(value["dtype"].string());
  if (!type) throw std::logic_error("model.json");
  file.type = *type;
  if (const Value& compute = value["compute"]; !compute.is_nil()) {
    const std::optional<at::ScalarType> products = find_dtype(compute.string());
    if (!products) throw std::logic_error("model.json");
    file.precision.compute = *products;
    for (const Value& pattern : value["compute_keep"].list()) file.precision.keep.push_back(pattern.string());
  }
  std::size_t known = 0;
  while (known < meanings.size() && value["meaning"].string() != meanings[known]) ++known;
  file.meaning = static_cast<Meaning>(known);
  file.classes_first = value["classes_first"].boolean();
  file.classes = value["classes"].integer();
  for (const Value& class_name : value["class_names"].list()) file.class_names.push_back(class_name.string());
  file.keeps_best = value["keep"].string() == "best";
  const bool names_fit = file.class_names.empty() || static_cast<std::int64_t>(file.class_names.size()) == file.classes;
  if (file.inputs.empty() || !file.model.is_map() || known == meanings.size() || !names_fit) {
    throw std::logic_error("model.json");
  }
  return file;
}

}  // namespace

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

void write_models(const FitPlan& plan, const Options& fit, const fs::path& stage_folder) {
  Value::Map models;
  for (const ModelFile& file : models_of(plan, fit)) models.emplace(file.name, to_value(file));
  const Value content =
      Value::Map{{"format", 2}, {"models", std::move(models)}, {"data_hashes", data_hashes(plan.data)}};
  write_atomic(stage_folder / "model.json", to_json(content, 1) + "\n");
}

Value hashes_at_begin(const fs::path& stage_folder) { return read_json(stage_folder / "model.json")["data_hashes"]; }

ModelFile read_model(const fs::path& stage_folder, const std::optional<std::string>& name) {
  const fs::path path = stage_folder / "model.json";
  const Value content = read_json(path);
  if (content.is_nil()) {
    check_model(stage_folder);
    throw usage_error("there is no trained model in " + stage_folder.string())
        .hint("only a fit that has begun has one");
  }
  const auto damaged = [&] { return damaged_file(path, "it holds no models, or is of another version of trainlab"); };
  if (!(content["format"] == Value(2)) || !content["models"].is_map() || content["models"].map().empty())
    throw damaged();
  const Value::Map& models = content["models"].map();
  if (models.size() == 1 && models.contains("")) {
    if (name)
      throw usage_error("the fit in " + stage_folder.string() + " has one model, without a name, found \"" + *name +
                        "\"");
  } else if (!name || !models.contains(*name)) {
    Error error = usage_error(name ? "the fit in " + stage_folder.string() + " has no model named \"" + *name + "\""
                                   : "the fit in " + stage_folder.string() + " has several models, and none was named");
    throw error.hint("it has " + joined(models, ", ", [](const auto& one) { return one.first; }));
  }
  try {
    return from_value(name.value_or(""), models.find(name.value_or(""))->second);
  } catch (const std::logic_error&) {
    throw damaged();
  }
}

std::string ModelFile::class_name(std::int64_t number) const {
  return class_names.empty() ? std::to_string(number) : class_names[static_cast<std::size_t>(number)];
}

}  // namespace trainlab
