// Building one layer of a spec, with everything that Layer and LayerContext do not do themselves.
#pragma once

#include "model/layer.h"

namespace trainlab {

std::unique_ptr<Layer> build_layer(LayerContext::Tables& tables, const Options& spec, const Signal& incoming,
                                   const std::string& path, const std::string& name, const std::string& place);

// The spec of a layer that another layer makes of its own options: nn.NAME { options }, at the same line of the recipe.
Options made_spec(const Options& maker, const std::string& name, Value::Map options);

// "Conv2d" of "nn.Conv2d".
std::string short_name(const Entry& entry);

// The layer's forward pass, in float32 where the layer keeps float32 and the pass computes in another type.
at::Tensor forward_in_own_type(const Layer& layer, const at::Tensor& x, const Pass& pass);

// The error with a layer's path and, when known, its source position ("digits.lua:14").
Error at_layer(Error error, const std::string& path, const std::string& where);
// Error{recipe} with a layer's path and, when known, its source position ("digits.lua:14").
Error layer_error(const std::string& path, const std::string& where, const std::string& message);

}  // namespace trainlab
