#include "cases.h"

#include <ATen/ops/empty.h>

#include "core/callable.h"
#include "support/stand_in_device.h"

namespace trainlab::testing {

const Registry& registry() {
  static const Registry all = [] {
    Registry made;
    register_model(made);
    return made;
  }();
  return all;
}

// nn.NAME(positional…, { named }).
Value nn(const std::string& name, Value::List positional, Value::Map named) {
  const Entry* entry = registry().find("nn." + name);
  if (!entry) throw std::logic_error("no nn." + name);
  Value::Map map = registry().assemble(*entry, std::move(positional), std::move(named));
  map.emplace("@", entry->name);
  return map;
}

Value sequential(Value::List layers) { return nn("Sequential", std::move(layers)); }

Model build(const Value& spec, const Shape& input) {
  const auto checked = std::make_shared<Spec>(Spec{registry().check(spec, "model"), {}});
  return {Options(registry(), checked, "model"), input};
}

Model build_on(const Value& spec, Signals columns) {
  const auto checked = std::make_shared<Spec>(Spec{registry().check(spec, "model"), {}});
  return {Options(registry(), checked, "model"), std::move(columns)};
}

Model build(const Case& layer) {
  return build_on(layer.spec, {{"x", {.shape = layer.input, .integers = layer.below > 0}}});
}

at::Tensor drawn(at::IntArrayRef shape, Key key, at::ScalarType type) {
  const at::Tensor out = at::empty(shape, test::on_test_device(type));
  fill_normal(out, key, 0, 1);
  return out;
}

// Whether the entry is somewhere in the spec.
bool shows(const Value& spec, const std::string& entry) {
  if (spec.is_map()) {
    for (const auto& [key, value] : spec.map()) {
      if (key == "@" ? value.string() == entry : shows(value, entry)) return true;
    }
  }
  if (spec.is_list()) {
    for (const Value& value : spec.list()) {
      if (shows(value, entry)) return true;
    }
  }
  return false;
}

// [length, features] → a branch "memory" of half the positions, and a decoder layer that attends to it.
static Value decoder(bool norm_first) {
  return sequential(
      {nn("Branch", {nn("Transpose"), nn("AvgPool1d", {2}), nn("Transpose"), nn("Linear", {6})}, {{"name", "memory"}}),
       nn("TransformerDecoderLayer", {2}, {{"memory", "memory"}, {"norm_first", norm_first}})});
}

// A small causal language model with an output head tied to its token vectors.
Value gpt(std::int64_t vocabulary, std::int64_t width, std::int64_t heads, std::int64_t layers) {
  const Value block = nn("TransformerEncoderLayer", {heads}, {{"causal", true}, {"bias", false}});
  return sequential({nn("Shared", {"tokens", nn("Embedding", {vocabulary, width})}), nn("PositionalEmbedding"),
                     nn("Repeat", {layers, block}), nn("LayerNorm", {}, {{"bias", false}}),
                     nn("Shared", {"tokens", nn("Linear", {vocabulary}, {{"bias", false}})})});
}

const std::vector<Case>& cases() {
  using List = Value::List;
  constexpr bool no_golden = false;
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
      {"layer_norm_axes",
       nn("LayerNorm", {}, {{"eps", 1e-2}, {"normalized_shape", List{3, 4}}, {"bias", false}}),
       {2, 3, 4}},
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
      {"input", nn("Input", {"x"}), {3}, 0, no_golden},
      {"branch",
       sequential({nn("Branch", {nn("Linear", {2}), nn("Linear", {3})}, {{"name", "b"}}), nn("Input", {"b"})}),
       {3},
       0,
       no_golden},
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
      // layers_conv_golden.py
      {"conv1d", nn("Conv1d", {4, 3}, {{"stride", 2}, {"padding", 1}}), {3, 9}},
      {"conv1d_same", nn("Conv1d", {4, 4}, {{"padding", "same"}, {"dilation", 3}, {"groups", 2}}), {2, 12}},
      {"conv2d_reflect", nn("Conv2d", {3, 3}, {{"padding", List{2, 1}}, {"padding_mode", "reflect"}}), {2, 5, 4}},
      {"conv2d_circular",
       nn("Conv2d", {3, List{3, 2}}, {{"padding", "same"}, {"padding_mode", "circular"}}),
       {2, 5, 4}},
      {"conv2d_replicate",
       nn("Conv2d", {3, 3}, {{"padding", 1}, {"stride", 2}, {"padding_mode", "replicate"}}),
       {2, 5, 4}},
      {"conv3d", nn("Conv3d", {3, List{2, 3, 2}}, {{"padding", List{0, 1, 1}}}), {2, 4, 3, 3}},
      {"conv_transpose1d", nn("ConvTranspose1d", {2, 4}, {{"stride", 2}, {"padding", 1}}), {3, 5}},
      {"conv_transpose2d",
       nn("ConvTranspose2d", {6, 3},
          {{"stride", List{2, 1}},
           {"padding", 1},
           {"output_padding", List{1, 0}},
           {"groups", 2},
           {"dilation", List{1, 2}},
           {"bias", false}}),
       {4, 3, 5}},
      {"conv_transpose3d", nn("ConvTranspose3d", {3, 2}, {{"stride", 2}}), {2, 2, 3, 2}},
      {"separable_conv2d", nn("SeparableConv2d", {5, 3}, {{"stride", 2}, {"padding", 1}}), {3, 6, 5}},
      {"max_pool1d", nn("MaxPool1d", {3, 2, 1}), {3, 8}},
      {"max_pool3d", nn("MaxPool3d", {2}, {{"ceil_mode", true}}), {2, 4, 3, 5}},
      {"avg_pool1d", nn("AvgPool1d", {2}), {3, 7}},
      {"avg_pool3d", nn("AvgPool3d", {2, 1, 1}, {{"count_include_pad", false}}), {2, 3, 4, 3}},
      {"adaptive_avg_pool1d", nn("AdaptiveAvgPool1d", {3}), {3, 7}},
      {"adaptive_avg_pool3d", nn("AdaptiveAvgPool3d", {List{1, 2, 3}}), {2, 3, 4, 5}},
      {"batch_norm3d", nn("BatchNorm3d"), {3, 2, 2, 2}},
      {"group_norm", nn("GroupNorm", {2}), {4, 3, 2}},
      {"group_norm_plain", nn("GroupNorm", {3}, {{"eps", 1e-2}, {"affine", false}}), {6, 4}},
      {"instance_norm1d", nn("InstanceNorm1d"), {3, 5}},
      {"instance_norm2d", nn("InstanceNorm2d", {}, {{"affine", true}}), {3, 4, 3}},
      {"instance_norm3d", nn("InstanceNorm3d", {}, {{"eps", 1e-3}}), {2, 2, 3, 2}},
      {"upsample_nearest", nn("Upsample", {2}), {3, 3, 2}},
      {"upsample_nearest1d", nn("Upsample", {3}), {2, 4}},
      {"upsample_linear1d", nn("Upsample", {}, {{"size", 7}, {"mode", "linear"}}), {3, 4}},
      {"upsample_bilinear",
       nn("Upsample", {}, {{"size", List{5, 7}}, {"mode", "linear"}, {"align_corners", true}}),
       {2, 3, 4}},
      {"zero_pad1d", nn("ZeroPad1d", {List{1, 2}}), {2, 4}},
      {"zero_pad2d", nn("ZeroPad2d", {1}), {2, 3, 4}},
      {"reflection_pad1d", nn("ReflectionPad1d", {List{2, 1}}), {2, 4}},
      {"reflection_pad2d", nn("ReflectionPad2d", {List{1, 2, 0, 1}}), {2, 3, 4}},
      {"pixel_shuffle", nn("PixelShuffle", {2}), {8, 2, 3}},
      {"weight_norm", nn("WeightNorm", {nn("Linear", {3})}), {4}},
      {"weight_norm_conv", nn("WeightNorm", {nn("Conv2d", {3, 2}, {{"bias", false}})}), {2, 3, 4}},
      {"spectral_norm", nn("SpectralNorm", {nn("Linear", {3})}), {4}},
      {"spectral_norm_conv", nn("SpectralNorm", {nn("Conv1d", {3, 2})}, {{"n_power_iterations", 3}}), {2, 5}},
      {"squeeze_excitation", nn("SqueezeExcitation", {4}), {8, 3, 4}},
      // layers_sequence_golden.py
      {"embedding", nn("Embedding", {7, 3}), {5}, 7},
      {"embedding_padding", nn("Embedding", {5, 3}, {{"padding_idx", 2}}), {3, 2}, 5},
      {"positional_embedding", nn("PositionalEmbedding"), {4, 3}},
      {"lstm", nn("LSTM", {4}), {5, 3}},
      {"lstm_options", nn("LSTM", {4}, {{"num_layers", 2}, {"bidirectional", true}, {"bias", false}}), {5, 3}},
      {"lstm_last", nn("LSTM", {4}, {{"num_layers", 2}, {"bidirectional", true}, {"output", "last"}}), {5, 3}},
      {"gru", nn("GRU", {4}), {5, 3}},
      {"gru_last", nn("GRU", {4}, {{"num_layers", 2}, {"output", "last"}}), {5, 3}},
      {"attention", nn("MultiheadAttention", {2}), {5, 6}},
      {"attention_causal", nn("MultiheadAttention", {3}, {{"causal", true}, {"bias", false}}), {5, 6}},
      {"attention_grouped_rotary",
       nn("MultiheadAttention", {2}, {{"causal", true}, {"kv_heads", 1}, {"rotary", 100.0}}),
       {4, 8}},
      {"encoder", nn("TransformerEncoderLayer", {2}), {4, 6}},
      {"encoder_post",
       nn("TransformerEncoderLayer", {3}, {{"norm_first", false}, {"dim_feedforward", 5}, {"activation", nn("ReLU")}}),
       {4, 6}},
      {"decoder", decoder(true), {4, 6}},
      {"decoder_post", decoder(false), {4, 6}},
      {"gpt", gpt(7, 8, 2, 2), {5}, 7},
      {"rms_norm", nn("RMSNorm", {}, {{"eps", 1e-3}}), {2, 5}},
      {"rms_norm_plain", nn("RMSNorm", {}, {{"elementwise_affine", false}}), {5}},
      {"concat", nn("Concat", {nn("Linear", {3}), nn("Identity"), sequential({nn("Linear", {2}), nn("Tanh")})}), {4}},
      {"concat_channels", nn("Concat", {nn("Conv2d", {3, 1}), nn("Identity")}, {{"dim", -3}}), {2, 3, 4}},
      {"sum", nn("Sum", {nn("Linear", {3}), sequential({nn("Linear", {3}), nn("ReLU")})}), {4}},
      {"repeat", nn("Repeat", {2, nn("Residual", {nn("Linear", {3}), nn("Tanh")})}), {3}},
      {"shared",
       sequential({nn("Shared", {"w", nn("Linear", {3})}), nn("Tanh"), nn("Shared", {"w", nn("Linear", {3})})}),
       {3}},
      {"celu", nn("CELU", {1.5}), {6}},
      {"glu", nn("GLU"), {6}},
      {"glu_channels", nn("GLU", {-2}), {4, 3}},
      {"hardsigmoid", nn("Hardsigmoid"), {6}},
      {"hardswish", nn("Hardswish"), {6}},
      {"log_sigmoid", nn("LogSigmoid"), {6}},
      {"mish", nn("Mish"), {6}},
      {"prelu", nn("PReLU"), {6}},
      {"prelu_channels", nn("PReLU", {3}), {3, 2}},
      {"relu6", nn("ReLU6"), {6}},
      {"selu", nn("SELU"), {6}},
      {"flatten_some", nn("Flatten", {1, 2}), {3, 2, 2, 2}},
      {"reshape", nn("Reshape", {3, -1}), {12}},
      {"permute", nn("Permute", {List{1, 2, 0}}), {3, 4, 2}},
      {"transpose", nn("Transpose"), {3, 4}},
      // in no golden file: test_closed_forms.cpp has their numbers
      {"hardtanh", nn("Hardtanh", {-0.5, 0.25}), {6}, 0, no_golden},
      {"softsign", nn("Softsign"), {6}, 0, no_golden},
      {"unflatten", nn("Unflatten", {1, List{2, -1}}), {3, 4, 2}, 0, no_golden},
      {"adaptive_max_pool1d", nn("AdaptiveMaxPool1d", {3}), {3, 7}, 0, no_golden},
      {"adaptive_max_pool2d", nn("AdaptiveMaxPool2d", {List{2, 3}}), {3, 5, 7}, 0, no_golden},
      {"adaptive_max_pool3d", nn("AdaptiveMaxPool3d", {List{1, 2, 3}}), {2, 3, 4, 5}, 0, no_golden},
      {"zero_pad3d", nn("ZeroPad3d", {1}), {2, 2, 3, 2}, 0, no_golden},
      {"reflection_pad3d", nn("ReflectionPad3d", {1}), {2, 2, 3, 2}, 0, no_golden},
      {"constant_pad1d", nn("ConstantPad1d", {2, 0.5}), {2, 4}, 0, no_golden},
      {"constant_pad2d", nn("ConstantPad2d", {1, 0.5}), {2, 3, 4}, 0, no_golden},
      {"constant_pad3d", nn("ConstantPad3d", {1, 0.5}), {2, 2, 3, 2}, 0, no_golden},
      {"replication_pad1d", nn("ReplicationPad1d", {2}), {2, 4}, 0, no_golden},
      {"replication_pad2d", nn("ReplicationPad2d", {1}), {2, 3, 4}, 0, no_golden},
      {"replication_pad3d", nn("ReplicationPad3d", {1}), {2, 2, 3, 2}, 0, no_golden},
      {"unfold", nn("Unfold", {2}), {2, 3, 4}, 0, no_golden},
      {"fold", nn("Fold", {List{3, 4}, 2}), {8, 6}, 0, no_golden},
      {"rnn", nn("RNN", {4}), {5, 3}, 0, no_golden},
      {"lstm_cell", nn("LSTMCell", {4}), {3}, 0, no_golden},
      {"gru_cell", nn("GRUCell", {4}), {3}, 0, no_golden},
      {"rnn_cell", nn("RNNCell", {4}), {3}, 0, no_golden},
      {"dropout", nn("Dropout", {0.3}), {2, 5}, 0, no_golden},
      {"dropout1d", nn("Dropout1d", {0.3}), {6, 5}, 0, no_golden},
      {"dropout2d", nn("Dropout2d", {0.3}), {6, 2, 2}, 0, no_golden},
      {"alpha_dropout", nn("AlphaDropout", {0.3}), {2, 5}, 0, no_golden},
      {"stochastic_depth", nn("StochasticDepth", {nn("Linear", {5})}, {{"p", 0.4}}), {5}, 0, no_golden},
      {"sequential_dropout",
       sequential({nn("Linear", {6}), nn("Dropout", {0.4}), nn("Residual", {nn("Dropout"), nn("Linear", {6})})}),
       {5},
       0,
       no_golden},
  };
  return all;
}

}  // namespace trainlab::testing
