#include "stored.h"

#include <charconv>

#include "core/value.h"

namespace trainlab {

std::string numbers_text(std::span<const double> numbers) {
  std::string text;
  for (const double x : numbers) {
    if (!text.empty()) text += ' ';
    text += number_text(x);
  }
  return text;
}

std::vector<double> parse_numbers(std::string_view text) {
  std::vector<double> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    double x = 0;
    const auto [next, error] = std::from_chars(at, end, x);
    if (error != std::errc()) {
      throw run_error("a number in the study's file cannot be read: \"" + std::string(text) + "\"");
    }
    numbers.push_back(x);
    at = next + (next < end ? 1 : 0);
  }
  return numbers;
}

std::vector<double> report_values(std::string_view text, const std::string& place) {
  std::vector<double> values = parse_numbers(text);
  if (values.empty()) throw run_error(place + ": a report without a value");
  return values;
}

TrialState parse_state(std::string_view name) {
  for (const TrialState state :
       {TrialState::waiting, TrialState::running, TrialState::complete, TrialState::pruned, TrialState::failed}) {
    if (trial_state_name(state) == name) return state;
  }
  throw run_error("the study's file holds a trial in a state \"" + std::string(name) + "\"");
}

Error newer_study(const std::string& place, int schema) {
  return usage_error(place + ": written by a newer trainlab (schema " + std::to_string(schema) + ", this one knows " +
                     std::to_string(study_schema) + ")")
      .hint("use that version, or another --out folder");
}

}  // namespace trainlab
