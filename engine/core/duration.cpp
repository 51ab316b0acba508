#include "core/duration.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/value.h"
#include "core/words.h"
#include "text.h"

namespace trainlab {

namespace {

struct UnitName {
  std::string_view name;
  Unit unit;
  double seconds = 1;  // of a unit of time
};

constexpr std::array<UnitName, 20> kUnits{{
    {"%", Unit::percent},          {"step", Unit::steps},          {"steps", Unit::steps},
    {"epoch", Unit::epochs},       {"epochs", Unit::epochs},       {"sample", Unit::samples},
    {"samples", Unit::samples},    {"s", Unit::seconds},           {"sec", Unit::seconds},
    {"second", Unit::seconds},     {"seconds", Unit::seconds},     {"min", Unit::seconds, 60},
    {"minute", Unit::seconds, 60}, {"minutes", Unit::seconds, 60}, {"h", Unit::seconds, 3600},
    {"hour", Unit::seconds, 3600}, {"hours", Unit::seconds, 3600}, {"d", Unit::seconds, 86400},
    {"day", Unit::seconds, 86400}, {"days", Unit::seconds, 86400},
}};

const UnitName* unit_called(std::string_view name) {
  const auto found = std::ranges::find(kUnits, name, &UnitName::name);
  return found == kUnits.end() ? nullptr : &*found;
}

// The unit of a word that is no name of a unit here: "mins", "hrs", "m", "Epochs".
const UnitName* unit_meant(std::string_view word) {
  const std::string name = lower(word);
  if (name == "m") return unit_called("min");
  if (name == "hr" || name == "hrs") return unit_called("h");
  const UnitName* const unit = unit_called(name);
  return unit || !name.ends_with('s') ? unit : unit_called(name.substr(0, name.size() - 1));
}

// An amount as a Duration holds it. 1.1 h are 3960 s: what the product of two doubles leaves below the nanosecond is
// rounded away.
double held(double amount, const UnitName& unit) {
  if (unit.seconds == 1) return amount + 0.0;  // never −0
  return std::round(amount * unit.seconds * 1e9) / 1e9 + 0.0;
}

// The duration that a text probably means, as "1h30m"; empty where none can be told.
std::string meant_by(std::string_view text) {
  Duration sum;
  for (std::string_view rest = trimmed(text); !rest.empty();) {
    double amount = 0;
    const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), amount);
    if (problem != std::errc() || !std::isfinite(amount) || amount < 0) return "";
    rest = trimmed(rest.substr(static_cast<std::size_t>(end - rest.data())));
    const std::size_t length = std::min(rest.find_first_of(" \t0123456789."), rest.size());
    const UnitName* const unit = unit_meant(rest.substr(0, length));
    const bool is_first = sum.amount == 0;
    if (!unit || (!is_first && (unit->unit != Unit::seconds || sum.unit != Unit::seconds))) return "";
    sum = {sum.amount + held(amount, *unit), unit->unit};
    rest = trimmed(rest.substr(length));
  }
  return sum.amount > 0 && std::isfinite(sum.amount) ? to_text(sum) : "";
}

Error not_a_duration(std::string_view text, bool is_time) {
  const char* const examples =
      is_time
          ? R"(a time and its unit: "30 s", "90 min", "18 h" or "2 d")"
          : R"(a number and a unit: "5%", "500 steps", "2 epochs", "10000 samples", "30 s", "90 min", "18 h" or "2 d")";
  const std::string meant = meant_by(text);
  return recipe_error("expected a duration, found " + quoted(text, 60))
      .hint(meant.empty() ? examples : "write \"" + meant + "\"");
}

}  // namespace

Duration parse_duration(std::string_view text, bool is_time) {
  const std::string_view body = trimmed(text);
  double amount = 0;
  const auto [end, problem] = std::from_chars(body.data(), body.data() + body.size(), amount);
  if (problem != std::errc() || !std::isfinite(amount)) throw not_a_duration(text, is_time);

  const std::string_view unit = trimmed(body.substr(static_cast<std::size_t>(end - body.data())));
  const UnitName* const found = unit_called(unit);
  if (!found) throw not_a_duration(text, is_time);
  if (amount < 0) throw recipe_error("a duration cannot be negative, found " + quoted(text, 60));

  const bool counted = found->unit == Unit::steps || found->unit == Unit::samples;
  if (counted && std::trunc(amount) != amount) {
    throw recipe_error("expected a whole number of " + std::string(found->unit == Unit::steps ? "steps" : "samples") +
                       ", found " + quoted(text, 60));
  }
  const Duration duration{held(amount, *found), found->unit};
  if (!std::isfinite(duration.amount)) throw not_a_duration(text, is_time);
  return duration;
}

std::string to_text(const Duration& duration) {
  const auto counted = [&](const std::string& unit) {
    std::string count = count_text(duration.amount);
    std::erase(count, ',');  // parse_duration reads the text, too
    return count + " " + unit + (duration.amount == 1 ? "" : "s");
  };
  switch (duration.unit) {
    case Unit::percent: return number_text(duration.amount) + "%";
    case Unit::steps: return counted("step");
    case Unit::epochs: return counted("epoch");
    case Unit::samples: return counted("sample");
    case Unit::seconds: break;
  }
  const auto whole = [&](double seconds) {
    return duration.amount >= seconds && std::fmod(duration.amount, seconds) == 0;
  };
  if (whole(3600)) return number_text(duration.amount / 3600) + " h";
  if (whole(60)) return number_text(duration.amount / 60) + " min";
  return number_text(duration.amount) + " s";
}

std::optional<std::int64_t> in_steps(const Duration& duration, std::int64_t steps_per_epoch, std::int64_t batch,
                                     std::int64_t total_steps) {
  double steps = 0;
  switch (duration.unit) {
    case Unit::percent:
      if (total_steps == 0) return std::nullopt;
      steps = duration.amount / 100 * static_cast<double>(total_steps);
      break;
    case Unit::steps: steps = duration.amount; break;
    case Unit::epochs: steps = duration.amount * static_cast<double>(steps_per_epoch); break;
    case Unit::samples: steps = duration.amount / static_cast<double>(batch); break;
    case Unit::seconds: return std::nullopt;
  }
  return std::llround(std::min(steps, static_cast<double>(largest_exact)));  // beyond any run
}

}  // namespace trainlab
