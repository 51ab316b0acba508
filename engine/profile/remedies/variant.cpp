#include "variant.h"

#include "tensor/free_memory.h"
#include "tensor/memory.h"

namespace trainlab {

namespace {

constexpr std::string_view threads_flag = "--threads ";

void check_memory(const FitPlan& plan, const FitPlan& base) {
  const double needed = estimate_memory(plan).total();
  if (needed <= 0.8 * static_cast<double>(free_tensor_memory()) || needed <= static_cast<double>(large_memory)) return;
  if (needed > estimate_memory(base).total()) throw run_error("it needs about " + memory_text(needed) + " of memory");
}

// The fit with a memory.budget that has room too for what a profile holds beside the base: the options that the budget
// chooses must not depend on it.
Options with_room_beside(const Variant& base, const Options& fit) {
  if (base.plan.budget == 0 || !fit.given("memory") || !fit.child("memory").given("budget")) return fit;
  auto spec = std::make_shared<Spec>(fit.spec());
  Value memory = spec->value["memory"];
  const std::int64_t budget = base.plan.budget + live_tensor_bytes() - base.live_before;
  memory.set("budget", std::to_string(budget) + " B");
  spec->value.set("memory", std::move(memory));
  return Options(fit.registry(), std::move(spec), fit.path());
}

// Puts data:pack behind each entry of images.
void pack_images(Value& data, const std::string& file) {
  if (data.is_list()) {
    for (Value& element : data.list()) pack_images(element, file);
  } else if (data["@"] == Value("data.images")) {
    data = Value::Map{{"@", "data:pack"}, {"source", data}, {"path", file}};
  } else if (data.is_map()) {
    for (auto& [name, member] : data.map()) pack_images(member, file);
  }
}

}  // namespace

std::optional<int> threads_of(const std::string& set) {
  if (!set.starts_with(threads_flag)) return std::nullopt;
  return std::stoi(set.substr(threads_flag.size()));
}

Variant variant_of(const Options& stage, const RunSettings& settings, const DataParts* opened) {
  const std::int64_t before = live_tensor_bytes();
  Variant variant{
      .stage = stage, .settings = settings, .plan = plan_fit(stage, settings, opened), .live_before = before};
  variant.live = live_tensor_bytes();
  return variant;
}

Variant with_changes(const std::vector<std::string>& changes, const Variant& base, const WithSet& with_set) {
  RunSettings settings = base.settings;
  std::vector<std::string> options;
  for (const std::string& change : changes) {
    if (const std::optional<int> threads = threads_of(change)) {
      settings.threads = *threads;
    } else {
      options.push_back(change);
    }
  }
  const Options stage = options.empty() ? base.stage : with_set(options);
  Variant variant = variant_of(with_room_beside(base, stage), settings, &base.plan.data);
  check_memory(variant.plan, base.plan);
  return variant;
}

Variant with_packed_images(const Variant& base, const std::filesystem::path& file) {
  auto spec = std::make_shared<Spec>(base.stage.spec());
  Value data = spec->value["data"];
  pack_images(data, file.string());
  spec->value.set("data", std::move(data));
  const Options packed(base.stage.registry(), std::move(spec), base.stage.path());
  return variant_of(with_room_beside(base, packed), base.settings, nullptr);
}

Variant in_group(const Variant& base, std::int64_t count) {
  Variant group = variant_of(with_room_beside(base, base.stage), base.settings, &base.plan.data);
  for (std::int64_t number = 1; number < count; ++number) {
    auto spec = std::make_shared<Spec>(base.stage.spec());
    spec->value.set("seed", base.plan.seed + number);
    group.beside.emplace_back(base.stage.registry(), std::move(spec), base.stage.path());
  }
  return group;
}

OwnBudget::OwnBudget(Variant& variant) : budget_(variant.plan.budget), own_(budget_) {
  if (own_ > 0) budget_ += live_tensor_bytes() - variant.live;
}

OwnBudget::~OwnBudget() { budget_ = own_; }

Profile profile_of_variant(Variant& variant, const StepLimits& limits,
                           const std::function<void(const std::string&)>& say, const StepFigures* known) {
  const OwnBudget budget(variant);
  const Measured how{
      .stage = variant.stage, .settings = variant.settings, .say = say, .beside = variant.beside, .known = known};
  return short_profile(&variant.plan, how, limits);
}

double samples_per_second(const Variant& variant, const Profile& profile) {
  return static_cast<double>(variant.fits()) * profile.samples / profile.wall();
}

}  // namespace trainlab
