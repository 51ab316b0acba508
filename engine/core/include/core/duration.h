// Durations as recipes write them: "5%", "500 steps", "2 epochs", "10000 samples", "18 h", "90 min", "30 s".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainlab {

enum class Unit { percent, steps, epochs, samples, seconds };

struct Duration {
  double amount = 0;  // of `unit`; times are held in seconds
  Unit unit = Unit::steps;

  bool operator==(const Duration&) const = default;
};

// Accepts singular and plural units, with or without a space: step(s), epoch(s), sample(s), s, sec, second(s), min,
// minute(s), h, hour(s), d, day(s), %. Raises Error{recipe} saying what is accepted. Negative amounts are refused.
// `is_time`: a time is wanted, and the examples of the error are times alone.
Duration parse_duration(std::string_view text, bool is_time = false);
std::string to_text(const Duration& duration);

// Steps that a duration spans (rounded to the nearest, at least 0), given the length of an epoch, the batch size and
// the total number of steps. nullopt for a time, which only a clock can tell, and for a percentage of an unknown
// total (total_steps = 0).
std::optional<std::int64_t> in_steps(const Duration& duration, std::int64_t steps_per_epoch, std::int64_t batch,
                                     std::int64_t total_steps);

}  // namespace trainlab
