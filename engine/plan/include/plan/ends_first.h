// EndsFirst: whether a planned training comes to its own length or to its budget first; unknown without a budget.
#pragma once

namespace trainlab {

enum class EndsFirst { unknown, length, budget };

inline const char* text_of(EndsFirst end) {
  return end == EndsFirst::length ? "length" : end == EndsFirst::budget ? "budget" : "unknown";
}

}  // namespace trainlab
