// Factories of the data entries and the helpers that they share.
#pragma once

#include "data/dataset.h"

namespace trainlab {

// Like open_data(), for the source of a method: work that needs the training rows (DataParts::settle) stays open.
DataParts open_source(const Options& spec, const DataContext& context);

// Does the work that is still open, if there is any.
void settle(DataParts& parts);

// Runs `f`; an Error{recipe} without a path gets that of this option ("": of the entry), and its line unless the error
// has one.
template <class F>
decltype(auto) placed_at(const Options& spec, std::string_view option, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::recipe || !error.path().empty()) throw;
    const Error place = spec.error(option, "");
    Error placed = error;
    placed.in(place.path());
    placed.at(place.file(), place.line());
    throw placed;
  }
}

// The value of the option `seed`, or the seed of the context.
Option seed_option();
std::int64_t seed_of(const Options& spec, const DataContext& context);

Part whole(Dataset dataset);

}  // namespace trainlab
