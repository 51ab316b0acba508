#include "sweep_support.h"

#include <utility>

#include "core/clock.h"
#include "core/params.h"
#include "support/stand_in_device.h"
#include "sweep/sweep.h"

namespace trainlab::test {

namespace {

const Registry& sweep_registry() {
  static const Registry registry = [] {
    Registry all;
    register_fits(all);
    register_study(all);
    register_sweep(all);
    return all;
  }();
  return registry;
}

// In place of a recipe's build.
class Build final : public Callable {
 public:
  explicit Build(Events events) : events_(std::move(events)) {}
  std::vector<Argument> call(std::span<const Argument>) override { return {}; }
  std::shared_ptr<const Spec> build(std::span<const Argument> arguments) override {
    const auto hp = std::dynamic_pointer_cast<Params>(std::get<std::shared_ptr<Object>>(arguments[0]));
    const auto given = [&](const char* name, const std::string& or_else, const std::string& before = "",
                           const std::string& behind = "") {
      const auto found = hp->values.find(name);
      return found == hp->values.end() ? or_else : before + number_text(found->second.number()) + behind;
    };
    auto spec = std::make_shared<Spec>();
    spec->value = sweep_registry().check(
        parse_json(R"({"@": "fit", "name": "member", "loss": "cross_entropy", "batch": 16, "epochs": 4,
          "data": {"@": "data:split", "source": {"@": "data.blobs", "samples": 64, "seed": 3},
                   "train": 0.5, "val": )" +
                       given("val", "0.5") + R"(},
          "model": {"@": "nn.Sequential", "layers": [)" +
                       given("width", "", R"({"@": "nn.Linear", "out_features": )", "}, ") +
                       R"({"@": "nn.Linear", "out_features": 3}]}, "checkpoint": "1 steps",
          "on": {"validate": {"@": "function", "index": 0}, "checkpoint": {"@": "function", "index": 1}},
          "optim": {"@": "optim.SGD", "lr": )" +
                       number_text(hp->values.at("lr").number()) + "}}",
                   "test"),
        "fit");
    const std::int64_t trial = hp->values.at("trial").integer();
    for (const auto& event : {events_.validate, events_.checkpoint}) {
      spec->functions.push_back(native([event, trial](std::span<const Argument>) -> std::vector<Argument> {
        if (event) event(trial);
        return {};
      }));
    }
    return spec;
  }
  void rekey(Key) override {}
  const std::string& where() const override { return where_; }

 private:
  Events events_;
  std::string where_ = "native:1";
};

}  // namespace

Options sweep(const std::string& more, const Events& events, const std::string& space) {
  auto spec = std::make_shared<Spec>();
  const bool has_sampler = more.find(R"("sampler")") != std::string::npos;
  spec->value =
      sweep_registry().check(parse_json(R"({"@": "sweep", "name": "s", "metric": "val.loss",
    "space": {"lr": {"@": "space.log", "low": 1e-6, "high": 1})" +
                                            space + R"(}, "build": {"@": "function", "index": 0})" +
                                            (has_sampler ? "" : R"(, "sampler": {"@": "sampler.random"})") + more + "}",
                                        "test"),
                             "sweep");
  spec->functions = {std::make_shared<Build>(events)};
  return Options(sweep_registry(), spec, "sweep");
}

Options ensemble(const std::string& more) {
  auto spec = std::make_shared<Spec>();
  spec->value = sweep_registry().check(parse_json(R"({"@": "ensemble", "name": "e", "params": {"lr": 0.1},
    "build": {"@": "function", "index": 0})" + more + "}",
                                                  "test"),
                                       "ensemble");
  spec->functions = {std::make_shared<Build>(Events{})};
  return Options(sweep_registry(), spec, "ensemble");
}

std::string work(const Options& stage, const std::filesystem::path& folder,
                 const std::function<void(const SharedStudy&)>& check, const Engine& engine) {
  prepare_devices();
  prepare_arithmetic(1);
  const SweepPlan plan(stage, engine.settings);
  StageContext context = quiet_context(folder, engine.settings);
  std::string said;
  context.supervisor = engine.supervisor;
  context.most_flops = engine.most_flops;
  context.say = context.say_damage = [&](const std::string& line) { said += line + "\n"; };
  SpeedTotal speed(nullptr, {});
  Worker worker(plan, context, speed, steady_seconds);
  worker.run();
  if (check) check(worker.study());
  return said;
}

}  // namespace trainlab::test
