#include "model/layer.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "build.h"
#include "core/callable.h"
#include "core/pattern.h"
#include "core/trace.h"
#include "core/words.h"
#include "model/layer_listener.h"
#include "model/recompute.h"
#include "replay.h"
#include "tensor/memory.h"
#include "tensor/operator_errors.h"

namespace trainlab {

namespace {

std::string column_names(const Signals& columns) {
  return columns.empty() ? "none" : joined(columns, ", ", &Signals::value_type::first);
}

}  // namespace

KeptMemory::KeptMemory(double element_bytes) : element_bytes_(element_bytes) { start_at_column(); }

std::size_t KeptMemory::add(const Shape& shape, bool kept) {
  tensors_.push_back({static_cast<double>(element_count(shape)), kept});
  return tensors_.size() - 1;
}

double KeptMemory::bytes() const {
  double values = 0;
  for (const Tensor& tensor : tensors_) values += tensor.kept ? tensor.values : 0;
  return values * element_bytes_ + extra_;
}

void Layer::count_kept(KeptMemory& memory) const {
  memory.keep_current();
  memory.produce(output);
}

LayerContext::LayerContext(Tables& tables, const Options& spec, Signal incoming, std::string path, std::string name,
                           std::string place)
    : tables_(&tables),
      spec_(&spec),
      incoming_(std::move(incoming)),
      path_(std::move(path)),
      name_(std::move(name)),
      place_(std::move(place)) {}

const Shape& LayerContext::any_input() const {
  if (incoming_.nothing) {
    throw error("expected an input, and the data has no column \"x\"")
        .hint("begin with nn.Input(\"NAME\"); the data has " + column_names(tables_->columns));
  }
  return incoming_.shape;
}

const Shape& LayerContext::input() const {
  const Shape& shape = any_input();
  if (incoming_.integers) {
    throw error("expected floating-point numbers, found integers of shape " + shape_text(shape))
        .hint("nn.Embedding makes vectors of token ids and categories");
  }
  return shape;
}

namespace {

std::string below(const std::string& prefix, std::string_view name) {
  return prefix.empty() ? std::string(name) : prefix + "." + std::string(name);
}

template <class Info>
auto find_name(const std::vector<Info>& all, const std::string& name) {
  return std::find_if(all.begin(), all.end(), [&](const Info& other) { return other.name == name; });
}

// Declares a tensor, or finds the tensor that a layer with the same shared weights has declared. `built`: the tensors
// of the model as it was built first, or null.
template <class Info>
std::size_t declare(std::vector<Info>& all, const std::vector<Info>* built, Info info, const LayerContext& context) {
  const auto first = find_name(all, info.name);
  if (first == all.end()) {
    if (built && (all.size() >= built->size() || (*built)[all.size()].name != info.name ||
                  (*built)[all.size()].shape != info.shape)) {
      const auto known = find_name(*built, info.name);
      throw context.error("an input of shape " + shape_text(context.incoming().shape) + " needs " + info.name +
                          " of shape " + shape_text(info.shape) + ", found " +
                          (known == built->end() ? "none" : shape_text(known->shape)));
    }
    all.push_back(std::move(info));
    return all.size() - 1;
  }
  if (first->shape != info.shape) {
    throw context
        .error("expected " + info.name + " of shape " + shape_text(first->shape) +
               " as in the layer that it is shared with, found " + shape_text(info.shape))
        .hint("layers that share weights need equal sizes; a layer under another name has its own weights");
  }
  return static_cast<std::size_t>(first - all.begin());
}

}  // namespace

std::size_t LayerContext::parameter(std::string_view name, Shape shape, Initializer initialize, bool decays) {
  double values = 1;
  for (const std::int64_t n : shape) values *= static_cast<double>(n);
  if (values > 0x1p60) throw error("its " + std::string(name) + " of shape " + shape_text(shape) + " is too large");
  return declare(tables_->parameters, tables_->built ? &tables_->built->parameters : nullptr,
                 ParameterInfo{below(name_, name), std::move(shape), std::move(initialize), decays, true, !decays},
                 *this);
}

const Shape* LayerContext::built(std::string_view parameter) const {
  if (!tables_->built) return nullptr;
  const auto found = find_name(tables_->built->parameters, below(name_, parameter));
  return found == tables_->built->parameters.end() ? nullptr : &found->shape;
}

std::size_t LayerContext::buffer(std::string_view name, Shape shape, double value, at::ScalarType type) {
  return buffer({.name = std::string(name), .shape = std::move(shape), .value = value, .type = type});
}

std::size_t LayerContext::buffer(BufferInfo info) {
  info.name = below(name_, info.name);
  return tables_->declared.emplace_back(
      declare(tables_->buffers, tables_->built ? &tables_->built->buffers : nullptr, std::move(info), *this));
}

std::unique_ptr<Layer> LayerContext::child(const Options& spec, const Signal& input, int position) {
  const std::string number = std::to_string(position);
  return build_layer(*tables_, spec, input, path_ + "[" + number + "]." + short_name(spec.entry()),
                     below(name_, number), below(place_, number));
}

std::unique_ptr<Layer> LayerContext::child(const Options& spec, const Signal& input, std::string_view name) {
  return build_layer(*tables_, spec, input, below(path_, name), below(name_, name), below(place_, name));
}

std::unique_ptr<Layer> LayerContext::shared_child(const Options& spec, const Signal& input, std::string_view name) {
  return build_layer(*tables_, spec, input, below(path_, name), "shared." + std::string(name), below(place_, name));
}

std::pair<Source, Signal> LayerContext::named(const std::string& name) {
  const auto& branches = tables_->branches;
  for (std::size_t i = 0; i < branches.size(); ++i) {
    if (branches[i].first == name) return {{.branch = true, .slot = i}, branches[i].second};
  }
  const auto found = tables_->columns.find(name);
  if (found == tables_->columns.end()) {
    std::string before;
    for (const auto& [branch, signal] : branches) before += (before.empty() ? "; branches: " : ", ") + branch;
    throw error("there is no column or branch \"" + name + "\"")
        .hint("the data has " + column_names(tables_->columns) + before);
  }
  std::vector<std::string>& read = tables_->read;
  auto slot = std::find(read.begin(), read.end(), name);
  if (slot == read.end()) slot = read.insert(read.end(), name);
  return {{.branch = false, .slot = static_cast<std::size_t>(slot - read.begin())}, found->second};
}

std::size_t LayerContext::name_branch(const std::string& name, const Signal& output) {
  auto& branches = tables_->branches;
  const bool taken = std::any_of(branches.begin(), branches.end(), [&](const auto& b) { return b.first == name; });
  if (taken || tables_->columns.contains(name)) {
    throw error("\"" + name + "\" is the name of a " + (taken ? "branch" : "column of the data") + " already");
  }
  branches.emplace_back(name, output);
  return branches.size() - 1;
}

Error LayerContext::shape_error(const std::string& expected) const {
  return error("expected " + expected + ", found an input of shape " + shape_text(incoming_.shape));
}

Error LayerContext::error(const std::string& message) const { return layer_error(path_, spec_->where(), message); }

namespace {

void place_at_layer(Error& error, const std::string& path, const std::string& where) {
  error.in(path);
  int line = 0;
  const std::size_t colon = where.rfind(':');
  if (colon != std::string::npos) {
    std::from_chars(where.data() + colon + 1, where.data() + where.size(), line);
    error.at(where.substr(0, colon), line);
  }
}

}  // namespace

Error at_layer(Error error, const std::string& path, const std::string& where) {
  place_at_layer(error, path, where);
  return error;
}

Error layer_error(const std::string& path, const std::string& where, const std::string& message) {
  return at_layer(recipe_error(message), path, where);
}

Options made_spec(const Options& maker, const std::string& name, Value::Map options) {
  options.insert_or_assign("@", "nn." + name);
  if (!maker.where().empty()) options.insert_or_assign("@at", maker.where());
  Value checked = maker.registry().check(std::move(options), maker.path());
  return {maker.registry(), std::make_shared<const Spec>(Spec{std::move(checked), {}}), maker.path()};
}

std::string short_name(const Entry& entry) { return entry.name.substr(entry.name.rfind('.') + 1); }

namespace {

bool keeps(const std::string& pattern, const std::string& name, const std::string& kind) {
  const std::string last = name.substr(name.rfind('.') + 1);
  const bool is_number = last.find_first_not_of("0123456789") == std::string::npos;
  return matches_pattern(pattern, name) || (!is_number && matches_pattern(pattern, last)) ||
         matches_pattern(pattern, kind);
}

}  // namespace

std::unique_ptr<Layer> build_layer(LayerContext::Tables& tables, const Options& spec, const Signal& incoming,
                                   const std::string& path, const std::string& name, const std::string& place) {
  const std::size_t first_parameter = tables.parameters.size(), first_buffer = tables.declared.size();
  LayerContext context(tables, spec, incoming, path, name, place);
  const auto& kind = spec.registry().implementation<LayerKind>(spec.entry());
  std::unique_ptr<Layer> layer = kind.make(spec, context);
  layer->traits = kind.traits;
  layer->input_shape = context.incoming().shape;
  layer->path = path;
  layer->place = place;
  layer->buffer_slots.assign(tables.declared.begin() + static_cast<std::ptrdiff_t>(first_buffer),
                             tables.declared.end());
  layer->where = spec.where();
  layer->kind = short_name(spec.entry());
  if (layer->children().empty()) {
    const std::string full = spec.registry().print(spec.value());
    layer->printed = full.substr(spec.entry().name.size() - layer->kind.size());
  } else {
    layer->printed = layer->kind;
  }
  for (std::size_t i = first_parameter; i < tables.parameters.size(); ++i) {
    layer->own_parameters += static_cast<std::size_t>(element_count(tables.parameters[i].shape));
  }
  layer->needs_gradient |= context.input_needs_gradient() || layer->own_parameters > 0;
  for (const std::string& pattern : tables.precision.keep) {
    if (!keeps(pattern, name, layer->kind)) continue;
    layer->is_kept = true;
    for (std::size_t i = first_parameter; i < tables.parameters.size(); ++i) tables.parameters[i].is_full = true;
    std::erase(tables.unmatched, pattern);
  }
  return layer;
}

namespace {

thread_local constinit LayerListener* layer_listener = nullptr;

}  // namespace

void tell_of_layer(const Layer& layer, const at::Tensor& input, const at::Tensor& output, const Pass& pass) {
  if (layer_listener) [[unlikely]]
    layer_listener->passed(layer, input, output, pass);
}

LayerListener* listen_to_layers(LayerListener* listener) { return std::exchange(layer_listener, listener); }

at::Tensor forward_in_own_type(const Layer& layer, const at::Tensor& x, const Pass& pass) {
  if (!layer.is_kept || pass.compute == at::ScalarType::Undefined) return layer.forward(x, pass);
  Pass own = pass;
  own.compute = at::kFloat;
  return layer.forward(own.in_full(x), own);
}

at::Tensor forward_checked(const Layer& layer, const at::Tensor& x, const Pass& pass) {
  const Span span(Phase::layer, layer.path);
  try {
    const bool is_again = pass.recompute && pass.recompute->layers.contains(layer.place);
    at::Tensor output = is_again ? forward_again(layer, x, pass) : forward_in_own_type(layer, x, pass);
    tell_of_layer(layer, x, output, pass);
    return output;
  } catch (TensorMemoryLimit& error) {
    if (error.path().empty()) place_at_layer(error, layer.path, layer.where);
    throw;  // the object itself, which a training step knows by its type
  } catch (const Error& error) {
    const bool has_place = !error.path().empty() || !error.file().empty();
    if (error.kind() != ErrorKind::run || has_place) throw;
    throw at_layer(error, layer.path, layer.where);  // memory that is not free
  } catch (const std::exception& exception) {
    throw at_layer(operator_error(exception), layer.path, layer.where);
  }
}

}  // namespace trainlab
