// Changes of a model that are found in the options of its layers.
#include <catch2/catch.hpp>

#include "support/fit_support.h"
#include "train/model_changes.h"

namespace trainlab::model_changes_test {

using namespace test;

namespace {

using Texts = std::vector<std::string>;

ModelChanges changes_of(const std::string& layers) {
  return ModelChanges(parse_options(digits_fit_with_layers(layers)));
}

}  // namespace

TEST_CASE("the features of hidden layers, and activations between them, can be changed") {
  const ModelChanges mlp = changes_of(R"({"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 25},
      {"@": "nn.GELU"}, {"@": "nn.Linear", "out_features": 1}, {"@": "nn.ReLU"},
      {"@": "nn.Residual", "body": [{"@": "nn.Linear", "out_features": 8}],
       "shortcut": {"@": "nn.Linear", "out_features": 8}},
      {"@": "nn.SiLU"}, {"@": "nn.GELU"}, {"@": "nn.Linear", "out_features": 10}, {"@": "nn.Tanh"})");
  CHECK(mlp.features(0.5) == Texts{"model[2].out_features=12", "model[4].out_features=1", "model[6][1].out_features=4",
                                   "model[6].shortcut.out_features=4"});
  CHECK(mlp.features(2).front() == "model[2].out_features=50");
  CHECK(mlp.half_repeats().empty());
  CHECK(mlp.rectifiers() == Texts{"model[3]=ReLU", "model[7]=ReLU", "model[8]=ReLU"});  // not the output's
  CHECK(mlp.replaced() == Texts{"GELU", "SiLU"});
}

TEST_CASE("layers inside of layers are found too, with the activations that they have by default") {
  const ModelChanges transformer = changes_of(R"({"@": "nn.Linear", "out_features": 16},
      {"@": "nn.Repeat", "times": 5, "layer": {"@": "nn.TransformerEncoderLayer", "num_heads": 2}},
      {"@": "nn.Repeat", "times": 1, "layer": {"@": "nn.TransformerEncoderLayer", "num_heads": 2,
       "dim_feedforward": 32, "activation": "ReLU"}},
      {"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 10})");
  CHECK(transformer.features(0.5) == Texts{"model[1].out_features=8", "model[3].layer.dim_feedforward=16"});
  CHECK(transformer.half_repeats() == Texts{"model[2].times=2"});
  CHECK(transformer.rectifiers() == Texts{"model[2].layer.activation=ReLU"});
}

TEST_CASE("a model without hidden layers has nothing to change") {
  const ModelChanges linear = changes_of(R"({"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 10})");
  CHECK(linear.features(2).empty());
  CHECK(linear.rectifiers().empty());
}

}  // namespace trainlab::model_changes_test
