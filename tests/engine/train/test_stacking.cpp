// Which fits train together: what may differ between members of a stack, and how many members a stack has.
#include <catch2/catch.hpp>

#include "support/fit_support.h"
#include "support/stand_in_device.h"
#include "train/stacking.h"

namespace trainlab::stacking_test {

using namespace test;

namespace {

std::string fit_text(const std::string& optim, const std::string& model, const std::string& more) {
  return R"({"@": "fit", "name": "test", "loss": "cross_entropy", "batch": 16,
    "data": {"@": "data:split", "source": {"@": "data.blobs", "samples": 60}, "train": 0.5, "val": 0.5},
    "model": {"@": "nn.Sequential", "layers": [)" +
         model + R"(]}, "optim": )" + optim + more + "}";
}

const std::string sgd = R"({"@": "optim.SGD", "lr": 0.1})",
                  net = R"({"@": "nn.Linear", "out_features": 8}, {"@": "nn.Dropout", "p": 0.1},
                           {"@": "nn.Linear", "out_features": 3})",
                  epochs = R"(, "epochs": 2)";

std::string structure(const std::string& optim, const std::string& model, const std::string& more) {
  return structure_of(parse_options(fit_text(optim, model, more), {native({})}));
}

std::int64_t stack(const std::string& optim, const std::string& model, const std::string& more) {
  return stack_size(plan_fit(parse_options(fit_text(optim, model, more)), test_settings()), 1);
}

}  // namespace

TEST_CASE("members of a stack may differ in the optimizer's numbers, dropout and the seed") {
  const std::string same = structure(sgd, net, epochs);
  REQUIRE_FALSE(same.empty());
  CHECK(structure(R"({"@": "optim.SGD", "lr": 0.2})", net, epochs) == same);
  CHECK(structure(sgd, net, epochs + R"(, "seed": 7)") == same);
  CHECK(structure(sgd, R"({"@": "nn.Linear", "out_features": 8}, {"@": "nn.Dropout", "p": 0.5},
                          {"@": "nn.Linear", "out_features": 3})",
                  epochs) == same);
}

TEST_CASE("members of a stack may have schedules of their own, one or a table of them") {
  const auto with = [](const std::string& schedule) {
    return structure(sgd, net, epochs + ", \"schedule\": " + schedule);
  };
  const std::string none = structure(sgd, net, epochs);
  CHECK(with(R"({"@": "sched.cosine", "floor": 0.1})") == none);
  CHECK(with(R"({"lr": {"@": "sched.cosine", "floor": 0.1}})") == none);
  CHECK(with(R"({"lr": {"@": "sched.cosine", "floor": 0.2}, "weight_decay": {"@": "sched.linear"}})") == none);
}

TEST_CASE("what keeps a fit from being a member of a stack is named") {
  const auto why = [](const std::string& optim, const std::string& model, const std::string& more) {
    return why_alone(plan_fit(parse_options(fit_text(optim, model, more), {native({})}), test_settings()));
  };
  CHECK(why(sgd, net, epochs).empty());
  CHECK(why(sgd, R"({"@": "nn.Reshape", "shape": [1, 2]}, {"@": "nn.GRU", "hidden_size": 4},
                    {"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 3})",
            epochs)
            .ends_with("model[2].GRU takes no member axis"));
  CHECK(why(R"({"@": "optim.LBFGS"})", net, epochs) == "optim.LBFGS takes no member axis");
  CHECK(why(sgd, net, R"(, "time": "10 s")") == "the fit has a budget of time");
  CHECK(why(sgd, net, epochs + R"(, "metrics": [{"@": "function", "index": 0}])") ==
        "the fit's option `metrics` holds a function");
}

TEST_CASE("members of a stack have one kind of optimizer, one shape and one length") {
  const std::string same = structure(sgd, net, epochs);
  CHECK(structure(R"({"@": "optim.AdamW", "lr": 0.1})", net, epochs) != same);
  CHECK(structure(R"({"@": "optim.SGD", "lr": 0.1, "nesterov": true, "momentum": 0.9})", net, epochs) != same);
  CHECK(structure(sgd, R"({"@": "nn.Linear", "out_features": 9}, {"@": "nn.Dropout", "p": 0.1},
                          {"@": "nn.Linear", "out_features": 3})",
                  epochs) != same);
  CHECK(structure(sgd, net, R"(, "epochs": 3)") != same);
}

TEST_CASE("a probability of dropping on which more depends is one of all members") {
  const auto alpha = [](const std::string& p) {
    return structure(sgd, R"({"@": "nn.AlphaDropout", "p": )" + p + R"(}, {"@": "nn.Linear", "out_features": 3})",
                     epochs);
  };
  CHECK(alpha("0.1") != alpha("0.2"));
}

TEST_CASE("fits with a function outside of callbacks, or with a budget of time, share no stack") {
  CHECK(structure(sgd, net, R"(, "time": "10 s")").empty());
  CHECK(structure(sgd, net, epochs + R"(, "metrics": [{"@": "function", "index": 0}])").empty());
  CHECK_FALSE(structure(sgd, net, epochs + R"(, "on": {"validate": {"@": "function", "index": 0}})").empty());
}

TEST_CASE("small steps are stacked, others and optimizers without a member axis are not") {
  // What pays off was measured on CPUs.
  CHECK(stack(sgd, net, epochs) == (test_device().is_cpu() ? 32 : 1));
  CHECK(stack(sgd, R"({"@": "nn.Linear", "out_features": 4096}, {"@": "nn.Linear", "out_features": 1024},
                      {"@": "nn.Linear", "out_features": 3})",
              epochs) == 1);
  CHECK(stack(R"({"@": "optim.LBFGS"})", net, R"(, "epochs": 2)") == 1);
  CHECK(stack(R"({"@": "optim.Lookahead", "base": {"@": "optim.LBFGS"}})", net, epochs) == 1);
}

}  // namespace trainlab::stacking_test
