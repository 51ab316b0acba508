// What a fit may do and hardly ever means.
#include <array>

#include "fit_plan_parts.h"

namespace trainlab {
namespace {

// Losses of scores, the function that they apply to them, and the layers that apply it too.
struct Applied {
  const char* loss;
  const char* function;
  std::array<const char*, 2> layers;
};
constexpr std::array<Applied, 3> applied = {{{"loss.cross_entropy", "softmax", {"nn.Softmax", "nn.LogSoftmax"}},
                                             {"loss.focal", "softmax", {"nn.Softmax", "nn.LogSoftmax"}},
                                             {"loss.bce_with_logits", "sigmoid", {"nn.Sigmoid", "nn.LogSigmoid"}}}};

std::vector<Options> losses_of(const Options& fit) {
  std::vector<Options> all;
  if (!fit.is_entry("loss")) return all;
  const Options loss = fit.child("loss");
  if (loss.entry().name != "loss.sum") return {loss};
  for (Options::Element& part : loss.elements("losses")) {
    if (part.entry) all.push_back(std::move(*part.entry));
  }
  return all;
}

Options last_layer(Options layer) {
  while (layer.entry().name == "nn.Sequential") layer = layer.children("layers").back();
  return layer;
}

}  // namespace

std::vector<std::string> warnings_of(const Options& fit) {
  const Options last = last_layer(fit.child("model"));
  for (const Options& loss : losses_of(fit)) {
    for (const Applied& one : applied) {
      if (loss.entry().name != one.loss || (last.entry().name != one.layers[0] && last.entry().name != one.layers[1]))
        continue;
      const std::string function = one.function;
      return {last.error("", std::string(one.loss).substr(5) + " applies the " + function + " itself: here it is applied twice")
                  .hint("leave the layer out; predictions are probabilities all the same")
                  .what()};
    }
  }
  return {};
}

}  // namespace trainlab
