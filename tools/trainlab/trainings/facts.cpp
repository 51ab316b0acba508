#include "trainings/facts.h"

namespace trainlab::cli {

namespace {

// A seed that no recipe would choose. If the recipe is executed with this seed and its fit has another one, the recipe
// fixes the seed itself.
constexpr std::int64_t unlikely_seed = 6'700'417'641;

EngineAnswer answer_to(Request request, const std::string& metric) {
  request.command = "fit_facts";
  if (!metric.empty()) request.options.set("metric", metric);
  request.options.set("quiet", true);
  EngineAnswer answer;
  answer.outcome = Supervisor(Supervisor::find_engine()).run(std::move(request));
  if (answer.outcome.code == 0 && !answer.outcome.error) {
    answer.facts = parse_json(answer.outcome.result["text"].string(), "the engine's answer");
  }
  return answer;
}

}  // namespace

EngineAnswer ask_about(Request request, const std::string& metric, std::optional<double> until) {
  request.options.set("seed", unlikely_seed);
  if (until) request.options.set("until", *until);
  return answer_to(std::move(request), metric);
}

EngineAnswer ask_about_other_seed(Request request, const std::string& metric) {
  request.options.set("seed", unlikely_seed + 1);
  return answer_to(std::move(request), metric);
}

EngineAnswer ask_about_ensemble(Request request, const std::string& metric) {
  return answer_to(std::move(request), metric);
}

std::string part_of(const std::string& metric) { return metric.substr(0, metric.find('.')); }

Value data_of(const Value& facts, const std::string& metric) {
  const std::string part = part_of(metric);
  return Value::Map{{"train", facts["train"]["contents"]}, {part, facts[part]["contents"]}};
}

std::optional<std::string> changed_part(const Value& before, const Value& now) {
  if (before.is_nil()) return std::nullopt;
  for (const auto& [part, samples] : now.map()) {
    if (before[part] != samples) return part;
  }
  return std::nullopt;
}

}  // namespace trainlab::cli
