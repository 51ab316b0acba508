// TrialWarnings: what a process warns of while it trains trials, each thing once. A trial that ends stores those that
// are new, so that the summary of the stage has the warnings of all processes.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "core/value.h"

namespace trainlab {

class TrialWarnings {
 public:
  // Whether nothing of this kind was kept before; then the next trial that ends stores `text`.
  bool keep(const std::string& kind, const std::string& text) {
    if (!kinds_.insert(kind).second) return false;
    new_.emplace_back(text);
    return true;
  }
  bool has_new() const { return !new_.empty(); }
  // The texts that no trial has stored yet, for one that does.
  Value::List take() { return std::exchange(new_, {}); }

 private:
  std::set<std::string> kinds_;
  Value::List new_;
};

}  // namespace trainlab
