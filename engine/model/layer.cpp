#include "model/layer.h"

#include <charconv>

#include "build.h"

namespace trainlab {

KeptMemory::KeptMemory(double element_bytes, const Shape& input)
    : element_bytes_(element_bytes), current_(add(input, true)) {
  tensors_[current_].values = 0;
}

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

LayerContext::LayerContext(Tables& tables, const Options& spec, Shape input, std::string path, std::string name,
                           bool input_needs_gradient)
    : tables_(&tables),
      spec_(&spec),
      input_(std::move(input)),
      path_(std::move(path)),
      name_(std::move(name)),
      input_needs_gradient_(input_needs_gradient),
      first_parameter_(tables.parameters.size()) {}

namespace {

std::string joined(const std::string& prefix, std::string_view name) {
  return prefix.empty() ? std::string(name) : prefix + "." + std::string(name);
}

}  // namespace

std::size_t LayerContext::parameter(std::string_view name, Shape shape, Initializer initialize, bool decays) {
  double values = 1;
  for (const std::int64_t n : shape) values *= static_cast<double>(n);
  if (values > 0x1p60) throw error("its " + std::string(name) + " of shape " + shape_text(shape) + " is too large");
  tables_->parameters.push_back({joined(name_, name), std::move(shape), std::move(initialize), decays});
  return tables_->parameters.size() - 1;
}

std::size_t LayerContext::buffer(std::string_view name, Shape shape, double value, at::ScalarType type) {
  tables_->buffers.push_back({joined(name_, name), std::move(shape), value, type});
  return tables_->buffers.size() - 1;
}

std::unique_ptr<Layer> LayerContext::child(const Options& spec, const Shape& input, int position) {
  const std::string number = std::to_string(position);
  const bool needs_gradient = input_needs_gradient_ || tables_->parameters.size() > first_parameter_;
  return build_layer(*tables_, spec, input, path_ + "[" + number + "]." + short_name(spec.entry()),
                     joined(name_, number), needs_gradient);
}

std::unique_ptr<Layer> LayerContext::child(const Options& spec, const Shape& input, std::string_view name) {
  return build_layer(*tables_, spec, input, joined(path_, name), joined(name_, name), input_needs_gradient_);
}

Error LayerContext::shape_error(const std::string& expected) const {
  return error("expected " + expected + ", found an input of shape " + shape_text(input_));
}

Error LayerContext::error(const std::string& message) const { return layer_error(path_, spec_->where(), message); }

namespace {

Error at_layer(Error error, const std::string& path, const std::string& where) {
  error.in(path);
  int line = 0;
  const std::size_t colon = where.rfind(':');
  if (colon != std::string::npos) {
    std::from_chars(where.data() + colon + 1, where.data() + where.size(), line);
    error.at(where.substr(0, colon), line);
  }
  return error;
}

}  // namespace

Error layer_error(const std::string& path, const std::string& where, const std::string& message) {
  return at_layer(recipe_error(message), path, where);
}

std::string short_name(const Entry& entry) { return entry.name.substr(entry.name.rfind('.') + 1); }

std::unique_ptr<Layer> build_layer(LayerContext::Tables& tables, const Options& spec, const Shape& input,
                                   const std::string& path, const std::string& name, bool input_needs_gradient) {
  const std::size_t first_parameter = tables.parameters.size();
  LayerContext context(tables, spec, input, path, name, input_needs_gradient);
  std::unique_ptr<Layer> layer = spec.registry().implementation<LayerFactory>(spec.entry())(spec, context);
  layer->input_shape = input;
  layer->path = path;
  layer->where = spec.where();
  const std::string name_only = short_name(spec.entry());
  if (layer->children().empty()) {
    const std::string full = spec.registry().print(spec.value());
    layer->printed = full.substr(spec.entry().name.size() - name_only.size());
  } else {
    layer->printed = name_only;
  }
  for (std::size_t i = first_parameter; i < tables.parameters.size(); ++i) {
    layer->own_parameters += static_cast<std::size_t>(element_count(tables.parameters[i].shape));
  }
  return layer;
}

at::Tensor forward_checked(const Layer& layer, const at::Tensor& x, const Pass& pass) {
  try {
    return layer.forward(x, pass);
  } catch (const c10::Error& error) {
    throw at_layer(torch_error(error), layer.path, layer.where);
  }
}

}  // namespace trainlab
