// Specs of layers for tests, as recipes would write them, and models built from them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/model.h"

namespace trainlab::testing {

inline const Registry& registry() {
  static const Registry all = [] {
    Registry made;
    register_model(made);
    return made;
  }();
  return all;
}

// nn.NAME(positional…, { named }).
inline Value nn(const std::string& name, Value::List positional = {}, Value::Map named = {}) {
  const Entry* entry = registry().find("nn." + name);
  if (!entry) throw std::logic_error("no nn." + name);
  Value::Map map = registry().assemble(*entry, std::move(positional), std::move(named));
  map.emplace("@", entry->name);
  return map;
}

inline Value sequential(Value::List layers) { return nn("Sequential", std::move(layers)); }

inline Model build(const Value& spec, const Shape& input) {
  const auto checked = std::make_shared<Spec>(Spec{registry().check(spec, "model"), {}});
  return {Options(registry(), checked, "model"), input};
}

struct Case {
  std::string name;
  Value spec;
  Shape input;  // of a sample
};

// The layers of tests/golden/model_golden.py under the same names, and those that PyTorch's numbers cannot be held
// against (Dropout draws its own masks).
inline const std::vector<Case>& cases() {
  using List = Value::List;
  static const std::vector<Case> all = {
      {"linear", nn("Linear", {4}), {5}},
      {"linear_no_bias", nn("Linear", {4}, {{"bias", false}}), {2, 5}},
      {"linear_more_axes", nn("Linear", {3}), {2, 3, 4}},
      {"conv2d", nn("Conv2d", {4, 3}), {2, 6, 5}},
      {"conv2d_options",
       nn("Conv2d", {6, List{3, 2}},
          {{"stride", List{2, 1}}, {"padding", List{1, 0}}, {"dilation", List{1, 2}}, {"groups", 2}, {"bias", false}}),
       {4, 7, 8}},
      {"max_pool2d", nn("MaxPool2d", {2}), {3, 6, 5}},
      {"max_pool2d_options",
       nn("MaxPool2d", {List{3, 2}},
          {{"stride", List{2, 1}}, {"padding", List{1, 0}}, {"dilation", List{1, 2}}, {"ceil_mode", true}}),
       {2, 6, 7}},
      {"avg_pool2d", nn("AvgPool2d", {2}), {3, 6, 5}},
      {"avg_pool2d_options", nn("AvgPool2d", {3, 2, 1, true, false}), {2, 6, 7}},
      {"adaptive_avg_pool2d", nn("AdaptiveAvgPool2d", {List{2, 3}}), {3, 5, 7}},
      {"batch_norm1d", nn("BatchNorm1d"), {4}},
      {"batch_norm1d_length", nn("BatchNorm1d"), {3, 5}},
      {"batch_norm1d_untracked", nn("BatchNorm1d", {}, {{"track_running_stats", false}}), {4}},
      {"batch_norm2d", nn("BatchNorm2d"), {3, 3, 2}},
      {"batch_norm2d_options", nn("BatchNorm2d", {}, {{"eps", 1e-2}, {"momentum", 0.3}, {"affine", false}}), {3, 3, 2}},
      {"layer_norm", nn("LayerNorm"), {5}},
      {"layer_norm_axes", nn("LayerNorm", {}, {{"eps", 1e-2}, {"normalized_shape", List{3, 4}}, {"bias", false}}), {2, 3, 4}},
      {"layer_norm_plain", nn("LayerNorm", {}, {{"elementwise_affine", false}}), {2, 5}},
      {"layer_norm_more_axes", nn("LayerNorm"), {2, 3, 4}},
      {"relu", nn("ReLU"), {6}},
      {"leaky_relu", nn("LeakyReLU", {0.2}), {6}},
      {"elu", nn("ELU", {1.3}), {6}},
      {"gelu", nn("GELU"), {6}},
      {"gelu_tanh", nn("GELU", {}, {{"approximate", "tanh"}}), {6}},
      {"silu", nn("SiLU"), {6}},
      {"sigmoid", nn("Sigmoid"), {6}},
      {"tanh", nn("Tanh"), {6}},
      {"softplus", nn("Softplus"), {6}},
      {"softplus_options", nn("Softplus", {2, 1.5}), {6}},
      {"softmax", nn("Softmax"), {5}},
      {"softmax_channels", nn("Softmax", {-3}), {3, 2, 2}},
      {"log_softmax", nn("LogSoftmax"), {5}},
      {"flatten", nn("Flatten"), {3, 2, 2}},
      {"identity", nn("Identity"), {3}},
      {"sequential",
       sequential({nn("Flatten"), nn("Linear", {6}), nn("ReLU"), nn("LayerNorm"), nn("Linear", {3})}),
       {3, 2, 2}},
      {"sequential_cnn",
       sequential({nn("Conv2d", {3, 3}, {{"padding", 1}}), nn("BatchNorm2d"), nn("ReLU"), nn("MaxPool2d", {2}),
                   nn("Flatten"), nn("Linear", {4})}),
       {1, 4, 4}},
      {"residual", nn("Residual", {nn("Linear", {7}), nn("Tanh"), nn("Linear", {5})}), {5}},
      {"residual_shortcut",
       nn("Residual", {nn("Conv2d", {4, 3}, {{"padding", 1}}), nn("ReLU")}, {{"shortcut", nn("Conv2d", {4, 1})}}),
       {2, 4, 3}},
      {"residual_in_sequential",
       sequential({nn("Linear", {5}), nn("Residual", {nn("Linear", {5}), nn("SiLU")}), nn("Linear", {2})}),
       {4}},
      {"dropout", nn("Dropout", {0.3}), {2, 5}},
      {"sequential_dropout",
       sequential({nn("Linear", {6}), nn("Dropout", {0.4}), nn("Residual", {nn("Dropout"), nn("Linear", {6})})}),
       {5}},
  };
  return all;
}

}  // namespace trainlab::testing
