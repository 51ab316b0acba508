#include "study/failures.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

#include "core/printable.h"

namespace trainlab {
namespace {

constexpr std::size_t longest = 200;  // bytes of a reason

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Whether digits after `c` belong to a word ("conv2") or to a place in a file ("r.lua:12"), which no other number is
// like.
bool binds_digits(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' || c == '.';
}

// A reason, taken apart: texts[0] numbers[0] texts[1] numbers[1] … texts[n].
struct Parts {
  std::vector<std::string> texts, numbers;
};

Parts parts_of(std::string_view reason) {
  Parts parts;
  std::string text;
  for (std::size_t at = 0; at < reason.size();) {
    if (!is_digit(reason[at]) || (at > 0 && binds_digits(reason[at - 1]))) {
      text += reason[at++];
      continue;
    }
    double number = 0;
    const char* const begin = reason.data() + at;
    const char* const end = std::from_chars(begin, reason.data() + reason.size(), number).ptr;
    parts.texts.push_back(std::move(text));
    text.clear();
    parts.numbers.emplace_back(begin, end);
    at += static_cast<std::size_t>(end - begin);
  }
  parts.texts.push_back(std::move(text));
  return parts;
}

struct Group {
  std::vector<std::int64_t> trials;
  std::vector<std::string> numbers;  // "…" where two trials have different ones

  void add(std::int64_t trial, std::vector<std::string> own) {
    if (trials.empty()) numbers = own;
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (numbers[i] != own[i]) numbers[i] = "…";
    }
    trials.push_back(trial);
  }
};

std::string reason_of(const StoredTrial& trial) {
  const Value& reason = trial.info["reason"];
  if (!reason.is_string()) return {};
  return reason.string().substr(0, reason.string().find('\n'));
}

}  // namespace

std::optional<Failures> failures_of(std::span<const StoredTrial> trials) {
  Failures failures;
  std::map<std::vector<std::string>, Group> groups;
  for (const StoredTrial& trial : trials) {
    if (!is_final(trial.state)) continue;
    ++failures.ended;
    if (trial.state != TrialState::failed) continue;
    ++failures.count;
    Parts parts = parts_of(reason_of(trial));
    groups[std::move(parts.texts)].add(trial.number, std::move(parts.numbers));
  }
  if (failures.count == 0) return std::nullopt;
  const auto& [texts, most] = *std::ranges::max_element(groups, [](const auto& a, const auto& b) {
    const Group &one = a.second, &other = b.second;
    if (one.trials.size() != other.trials.size()) return one.trials.size() < other.trials.size();
    return one.trials.front() > other.trials.front();
  });
  std::string reason = texts.front();
  for (std::size_t i = 0; i < most.numbers.size(); ++i) reason += most.numbers[i] + texts[i + 1];
  failures.reason = shortened(reason, longest);
  failures.alike = most.trials;
  return failures;
}

std::string text_of(const Failures& failures) {
  std::string text = std::to_string(failures.count) + " of " + std::to_string(failures.ended) + " trials failed";
  if (failures.reason.empty()) return text;
  const auto alike = static_cast<std::int64_t>(failures.alike.size());
  const std::string share = failures.count == 1       ? ""
                            : alike == failures.count ? "all of them "
                                                      : std::to_string(alike) + " of them ";
  return text + ", " + share + "with: " + failures.reason;
}

}  // namespace trainlab
