#include "fit_support.h"

#include <ATen/ops/empty.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "core/files.h"
#include "data/dataset.h"
#include "model/layer.h"
#include "model/model.h"
#include "objective/loss.h"
#include "objects/run_handle.h"
#include "optim/optimizer.h"
#include "support/stand_in_device.h"
#include "tensor/types.h"

namespace trainlab::test {
namespace {

class NativeCallable : public Callable {
 public:
  explicit NativeCallable(std::function<std::vector<Argument>(std::span<const Argument>)> body)
      : body_(std::move(body)) {}
  std::vector<Argument> call(std::span<const Argument> arguments) override { return body_(arguments); }
  void rekey(Key) override {}
  const std::string& where() const override { return where_; }

 private:
  std::function<std::vector<Argument>(std::span<const Argument>)> body_;
  std::string where_ = "native:1";
};

// nn.Scratch gives its input, and takes some bytes for a moment. A dry run, which has tensors without values, does not
// see them.
class Scratch final : public Layer {
 public:
  Scratch(const Options& options, LayerContext& context) : bytes_(options.integer("bytes")) {
    output = context.any_input();
  }
  at::Tensor forward(const at::Tensor& x, const Pass&) const override {
    if (!x.is_meta()) at::empty({bytes_}, at::kByte);
    return x;
  }
  bool stackable() const override { return true; }
  void count_kept(KeptMemory&) const override {}

 private:
  std::int64_t bytes_;
};

}  // namespace

void register_fits(Registry& registry, const std::vector<FitAddition>& additions) {
  register_model(registry);
  register_data(registry);
  register_optim(registry);
  register_objective(registry);
  register_train(registry);
  register_fit(registry, additions);
}

const Registry& full_registry() {
  static const Registry registry = [] {
    Registry all;
    register_fits(all);
    all.add(
        Entry("nn.Scratch", "layer", "Takes memory for a moment.").with(Option("bytes", "of it").integer().required()),
        layer_kind<Scratch>());
    return all;
  }();
  return registry;
}

Options parse_options(const std::string& json, std::vector<std::shared_ptr<Callable>> functions) {
  auto spec = std::make_shared<Spec>();
  spec->value = full_registry().check(parse_json(json, "test"), "fit");
  spec->functions = std::move(functions);
  return Options(full_registry(), spec, "fit");
}

std::shared_ptr<Callable> native(std::function<std::vector<Argument>(std::span<const Argument>)> body) {
  return std::make_shared<NativeCallable>(std::move(body));
}

std::shared_ptr<Callable> stop_at(std::int64_t step) {
  return native([step](std::span<const Argument> arguments) -> std::vector<Argument> {
    const auto run = std::dynamic_pointer_cast<RunHandle>(std::get<std::shared_ptr<Object>>(arguments[0]));
    if (run->step() == step) request_stop();
    return {};
  });
}

ClearStop::~ClearStop() { clear_stop_request(); }

EmptyFolder::EmptyFolder() : before_(std::filesystem::current_path()) {
  std::filesystem::current_path(temporary_.path());
}

EmptyFolder::~EmptyFolder() { std::filesystem::current_path(before_); }

bool EmptyFolder::is_empty() const { return std::filesystem::is_empty(temporary_.path()); }

StageContext quiet_context(const std::filesystem::path& folder, const RunSettings& settings, bool resumed) {
  const auto nowhere = [](const std::string&) {};
  return {.name = "test",
          .folder = folder,
          .settings = &settings,
          .resumed = resumed,
          .say = nowhere,
          .say_damage = nowhere};
}

RunSettings test_settings() {
  RunSettings settings;
  settings.device = test_device().str();
  settings.quiet = true;
  return settings;
}

RunSettings cpu_settings() {
  RunSettings settings = test_settings();
  settings.device = "cpu";
  return settings;
}

Value run_one(const Options& fit, const std::filesystem::path& folder, bool resumed, const RunSettings& settings) {
  make_directories(folder);
  prepare_arithmetic(1);
  const FitPlan plan = plan_fit(fit, settings);
  const FitMember member{.options = plan.options, .context = quiet_context(folder, settings, resumed)};
  return run_fits(plan, {&member, 1}, false).front();
}

std::string rows_without_seconds(const std::filesystem::path& folder) {
  std::ifstream in(folder / "metrics.jsonl");
  std::string all;
  for (std::string line; std::getline(in, line);) {
    Value row = parse_json(line, "metrics.jsonl");
    row.set("seconds", Value());
    all += to_json(row) + "\n";
  }
  return all;
}

std::string digits_fit(const std::string& more) {
  return R"({"@": "fit", "name": "test",
    "data": {"@": "data:split", "source": {"@": "data.digits"}, "train": 0.8, "val": 0.1, "test": 0.1, "seed": 7},
    "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 24},
              {"@": "nn.ReLU"}, {"@": "nn.Dropout", "p": 0.1}, {"@": "nn.Linear", "out_features": 10}]},
    "loss": "cross_entropy", "metrics": ["accuracy"], "optim": {"@": "optim.AdamW", "lr": 0.005}, "batch": 64)" +
         more + "}";
}

std::string with_optimizer(std::string fit, const std::string& optimizer) {
  const std::string own = R"({"@": "optim.AdamW", "lr": 0.005})";
  return fit.replace(fit.find(own), own.size(), optimizer);
}

std::string digits_fit_with_layers(const std::string& layers, const std::string& more) {
  std::string text = digits_fit(more);
  const std::size_t begin = text.find("[{\"@\": \"nn.Flatten\"}"), end = text.find("]}", begin);
  return text.replace(begin, end - begin, "[" + layers);
}

}  // namespace trainlab::test
