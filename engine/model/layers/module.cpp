// nn.Module: a layer whose forward pass is a function of the recipe.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "core/function_error.h"
#include "core/trace.h"
#include "core/words.h"
#include "init.h"
#include "model/initial.h"
#include "model/layer.h"
#include "model/module_object.h"
#include "replay.h"
#include "tensor/autocast.h"
#include "tensor/tensor_object.h"

namespace trainlab {

namespace {

class Module final : public Layer {
 public:
  Module(const Options& options, LayerContext& context)
      : forward_(options.function("forward")), place_(context.place()) {
    if (options.given("params")) declare(options, context);
    const Shape& shape = context.any_input();
    takes_integers_ = context.incoming().integers;
    const at::Tensor y = call_with_zeros(shape, takes_integers_, context.path());
    if (y.dim() == 0 || y.size(0) != 2) {
      throw context.error("expected forward(self, x) to keep the batch axis: for an input of shape " +
                          shape_text(zeros_batch(shape)) + " it gives " + shape_text(y.sizes()));
    }
    output = Shape(y.sizes().begin() + 1, y.sizes().end());
    integers = at::isIntegralType(y.scalar_type(), true);
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    auto self = std::make_shared<ModuleObject>();
    for (std::size_t i = 0; i < names_.size(); ++i) self->parameters.emplace(names_[i], pass.parameter(slots_[i]));
    self->training = pass.training;
    const Key key = pass.keys.empty() ? Key(0) : pass.keys.front().fold(place_);
    const at::Tensor in = pass.in_full(x).contiguous();  // recipes may call view
    std::optional<Autocast> region;
    if (c10::isReducedFloatingType(pass.compute)) region.emplace(in.device().type(), pass.compute);
    const at::Tensor y = called(self, in, key);
    if (y.dim() != static_cast<std::int64_t>(output.size()) + 1 || y.size(0) != x.size(0) ||
        !std::equal(output.begin(), output.end(), y.sizes().begin() + 1)) {
      throw recipe_error("expected forward(self, x) to give [" + std::to_string(x.size(0)) +
                         ", …] with samples of shape " + shape_text(output) +
                         ", as it did when the model was built, found " + shape_text(y.sizes()))
          .in(path);
    }
    return y;
  }

  bool stackable() const override { return false; }
  bool calls_function() const override { return true; }
  bool changes_values() const override {
    const std::string before = forward_->text();
    call_with_zeros(input_shape, takes_integers_, path, /*training=*/true);
    return forward_->text() != before;
  }
  Flops flops() const override {
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    return {unknown, unknown};
  }

 private:
  // The time of the function is the recipe's, unlike that of the engine's own layers.
  at::Tensor called(const std::shared_ptr<ModuleObject>& self, const at::Tensor& x, Key key) const {
    const Span span(Phase::callback, path);
    return call(self, x, key, path);
  }

  void declare(const Options& options, LayerContext& context) {
    if (!options.is_keyed("params")) {
      throw context.error("expected params by name, such as { weight = { 64, 32 } }, found " +
                          options.get("params").brief());
    }
    const Options sizes = options.keyed("params");
    if (options.is_keyed("init")) refuse_other_names(options.keyed("init"), sizes.names(), context);
    for (const std::string& name : sizes.names()) {
      const Shape shape = sizes.integers(name);
      std::int64_t fan_in = 1;
      for (std::size_t i = 1; i < shape.size(); ++i) fan_in *= shape[i];
      Initializer initial = shape.size() > 1 ? uniform_by_fan_in(fan_in) : constant(0);
      if (options.is_keyed("init")) {
        const Options inits = options.keyed("init");
        const std::vector<std::string> named = inits.names();
        if (std::find(named.begin(), named.end(), name) != named.end()) initial = initializer_of(inits, name, shape);
      } else if (options.given("init") && shape.size() > 1) {
        initial = initializer_of(options, "init", shape);
      }
      slots_.push_back(context.parameter(name, shape, initial, shape.size() > 1));
      names_.push_back(name);
      shapes_.push_back(shape);
    }
  }

  static void refuse_other_names(const Options& inits, const std::vector<std::string>& names,
                                 const LayerContext& context) {
    for (const std::string& name : inits.names()) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      Error error = context.error("init: there is no parameter \"" + name + "\"; the parameters are " + joined(names));
      const std::string close = Registry::closest(name, names);
      if (!close.empty()) error.hint("did you mean \"" + close + "\"?");
      throw error;
    }
  }

  static Shape zeros_batch(const Shape& sample) {
    Shape batch{2};
    batch.insert(batch.end(), sample.begin(), sample.end());
    return batch;
  }

  // The shape of the output is found by a call with two samples of zeros and parameters of zeros.
  at::Tensor call_with_zeros(const Shape& sample, bool of_integers, const std::string& at,
                             bool training = false) const {
    const at::NoGradGuard no_gradients;
    auto self = std::make_shared<ModuleObject>();
    self->training = training;
    for (std::size_t i = 0; i < names_.size(); ++i) self->parameters.emplace(names_[i], at::zeros(shapes_[i]));
    return call(self, at::zeros(zeros_batch(sample), of_integers ? at::kLong : at::kFloat), Key(0), at);
  }

  at::Tensor call(const std::shared_ptr<ModuleObject>& self, const at::Tensor& x, Key key,
                  const std::string& at) const {
    const NoStop whole;  // LuaJIT would take a stop for an error
    try {
      forward_->rekey(key);
      const std::vector<Argument> arguments{std::static_pointer_cast<Object>(self), std::make_shared<TensorObject>(x)};
      const std::vector<Argument> results = forward_->call(arguments);
      const TensorObject* const tensor = results.empty() ? nullptr : tensor_in(results.front());
      if (!tensor) throw function_error(*forward_, "expected forward(self, x) to return a tensor");
      return tensor->tensor;
    } catch (Error& error) {
      throw error.in(at);
    }
  }

  std::shared_ptr<Callable> forward_;
  std::string place_;
  bool takes_integers_ = false;
  std::vector<std::string> names_;
  std::vector<Shape> shapes_;
  std::vector<std::size_t> slots_;
};

}  // namespace

void register_module(Registry& registry) {
  registry.add(
      Entry("nn.Module", "layer", "A layer whose forward pass is a function of the recipe.")
          .with(Option("params", "sizes of the parameters, by name").integer().at_least(1).many().keyed())
          .with(Option("forward",
                       "returns the output for a batch x; self.NAME is a parameter, self.training is true in training")
                    .function("function(self, x) → tensor")
                    .required())
          .with(Option("init",
                       "initial values by name of the parameter, or one init for all parameters with two or more axes "
                       "(default: uniform in ±1/√n, where n is the product of all sizes but the first; 0 for "
                       "parameters with one axis)")
                    .entry("init")
                    .keyed())
          .example("nn.Module { params = { weight = { 10, 64 } }, forward = function(self, x) return "
                   "x:matmul(self.weight:t()) end }")
          .note("forward is called once with two samples of zeros, to find the shape of the output. Random operators "
                "and math.random in forward are keyed by seed, step and place in the model. Under a `precision` of "
                "fewer digits x is in float32, and the operators of matrix products and convolutions convert their "
                "operands themselves."),
      layer_kind<Module>());
}

}  // namespace trainlab
