// The layer of docs/adding-a-layer.md, which the build takes from the page.
#include <catch2/catch.hpp>

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>

#include "core/callable.h"
#include "model/model.h"

namespace trainlab {

void register_scale(Registry& registry);

namespace documented_layer_test {

TEST_CASE("the layer that the documentation shows multiplies by its factor, alone and in a group") {
  Registry registry;
  register_model(registry);
  register_scale(registry);
  const Value spec = Value::Map{{"@", "nn.Scale"}, {"initial", 2.0}};
  const auto checked = std::make_shared<Spec>(Spec{registry.check(spec, "model"), {}});
  const Model model(Options(registry, checked, "model"), Shape{3});
  CHECK((model.output() == Shape{3}));
  CHECK(model.not_stackable().empty());
  const std::array keys = {Key(1), Key(2)};
  for (const bool group : {false, true}) {
    const ModelState state =
        model.initial_state(std::span(keys).first(group ? 2 : 1), at::kFloat, at::Device(at::kCPU), group);
    const at::Tensor x = at::ones(group ? Shape{2, 4, 3} : Shape{8, 3});
    CHECK(at::equal(model.forward(x, {state, false, {}}), x.mul(2)));
  }
}

}  // namespace documented_layer_test

}  // namespace trainlab
