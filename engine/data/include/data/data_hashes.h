// Hashes of data, by which a run that is continued notices that its files hold other data than before.
#pragma once

#include <span>
#include <string>

#include "core/value.h"
#include "data/dataset.h"

namespace trainlab {

// A hash for each column, {"train.x": …, "train.y": …}; of parts that share their data the first stands for all. All
// bytes of a column count, or those of samples spread over the whole where a column has more than 2 MiB; of images
// that are decoded while batches are made, some. Kept while the data lives. Thread-safe.
Value data_hashes(const DataParts& parts);

// A hash of these rows of a column, in this order: of all of them, or of some as in data_hashes(). Floats that are
// stored count as float64, so that their type does not matter. Thread-safe.
std::string hash_of_rows(const Column& column, std::span<const std::int64_t> rows);

// The names whose hashes differ, joined by commas; empty when there is none. Both as data_hashes() gives them.
std::string changed_columns(const Value& before, const Value& now);

}  // namespace trainlab
