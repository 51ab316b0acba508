#include <catch2/catch.hpp>

#include "cases.h"

namespace trainlab::tree_test {

using namespace trainlab::testing;

TEST_CASE("the tree shows path, constructor, output, parameters and FLOPs in columns") {
  const Value block =
      nn("Residual", {nn("Linear", {512}), nn("ReLU")}, {{"shortcut", nn("Linear", {512}, {{"bias", false}})}});
  const Model model = build(
      sequential({nn("Flatten"), nn("Linear", {64}), nn("Dropout", {0.1}), block, nn("Linear", {10})}), {1, 28, 28});
  CHECK(model.tree() ==
        "layer                                      output  parameters  FLOPs/sample\n"
        "model Sequential                           [10]       121,418         242 k\n"
        "  [1] Flatten()                            [784]            0             0\n"
        "  [2] Linear(64)                           [64]        50,240         100 k\n"
        "  [3] Dropout(0.1)                         [64]             0             0\n"
        "  [4] Residual                             [512]       66,048         131 k\n"
        "    [1] Linear(512)                        [512]       33,280        65.5 k\n"
        "    [2] ReLU()                             [512]            0             0\n"
        "    shortcut Linear { 512, bias = false }  [512]       32,768        65.5 k\n"
        "  [5] Linear(10)                           [10]         5,130        10.2 k\n");
}

}  // namespace trainlab::tree_test
