#include "squeezed.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/callable.h"

namespace trainlab {
namespace {

class SqueezedSchedule final : public Callable {
 public:
  SqueezedSchedule(std::unique_ptr<Schedule> schedule, double ratio, std::string where)
      : schedule_(std::move(schedule)), ratio_(ratio), where_(std::move(where)) {}

  // The middle of the step lies at the same share of both trainings.
  std::vector<Argument> call(std::span<const Argument> arguments) override {
    const auto step = static_cast<double>(std::get<Value>(arguments.front()).integer());
    return {Value(schedule_->factor(static_cast<std::int64_t>((step + 0.5) * ratio_)))};
  }
  void rekey(Key) override {}
  const std::string& where() const override { return where_; }

 private:
  std::unique_ptr<Schedule> schedule_;
  double ratio_;
  std::string where_;
};

}  // namespace

void squeeze_schedules(Spec& fit, const Options& whole, const RunLength& length, std::int64_t steps) {
  if (!whole.given("schedule")) return;
  const double ratio = static_cast<double>(length.total_steps) / static_cast<double>(steps);
  const auto squeezed = [&](const Options& table, const std::string& option) {
    auto schedule = table.is_function(option) ? make_schedule(table.function(option), length, Key(0))
                                              : make_schedule(table.child(option), length);
    fit.functions.push_back(std::make_shared<SqueezedSchedule>(std::move(schedule), ratio, table.where()));
    return Value(Value::Map{{"@", "function"}, {"index", std::ssize(fit.functions) - 1}});
  };
  if (whole.is_function("schedule") || whole.is_entry("schedule")) {
    fit.value.set("schedule", squeezed(whole, "schedule"));
    return;
  }
  const Options table = whole.child("schedule");
  Value::Map by_name;
  for (const std::string& number : table.names()) by_name.emplace(number, squeezed(table, number));
  fit.value.set("schedule", std::move(by_name));
}

}  // namespace trainlab
