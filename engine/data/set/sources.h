// Data entries: their factories, and what these share. Each register_… declares one file's entries.
#pragma once

#include "data/dataset.h"

namespace trainlab {


// As open_data(), for the source of a method: what the source leaves open until the training rows are known stays open.
DataParts open_source(const Options& spec, const DataContext& context);

// What is still open is done; nothing when there is nothing.
void settle(DataParts& parts);

// Runs f; an Error{recipe} that is not placed in the recipe yet is placed at this option ("": the entry).
template <class F>
decltype(auto) placed_at(const Options& spec, std::string_view option, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::recipe || !error.path().empty()) throw;
    Error placed = spec.error(option, error.message());
    if (!error.hint().empty()) placed.hint(error.hint());
    throw placed;
  }
}

// The option `seed`, or the context's.
Option seed_option();
std::int64_t seed_of(const Options& spec, const DataContext& context);

Part whole(Dataset dataset);

}  // namespace trainlab
