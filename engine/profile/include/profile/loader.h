// `trainlab find loader`: how many threads prepare the batches of a fit, and how many batches they keep ready.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/statistics.h"
#include "run/stage.h"

namespace trainlab {

struct LoaderSize {
  std::int64_t threads = 1, prefetch = 4;
  bool operator==(const LoaderSize&) const = default;
};

struct TriedLoader {
  LoaderSize size;
  MedianInterval speed = {};  // the fit's samples a second with this loader
  MedianInterval ratio = {};  // speed with this loader divided by the speed with the fit's own
};

struct FoundLoader {
  LoaderSize now;
  double input = 0;                     // share of a step that waits for data, with the fit's own loader
  std::vector<TriedLoader> tried = {};  // the fit's own first, whose ratio is 1
  std::size_t suggestion = 0;           // index into `tried`
};

// Index of the loader with the fewest threads, and then the fewest batches ahead, among those within 2 % of the
// fastest. It is 0, the fit's own loader, unless the other loader's ratio is above 1 in its whole interval and at least
// 1.02 in the median. Pure.
std::size_t fewest_of_the_fastest(const std::vector<TriedLoader>& tried);

// If a step waits for data less than 2 % of its time, no other loader is tried, because none can help. Else short runs
// of the fit with its own loader and with others take turns (A B B A …): first 1, 2, 4 … threads up to twice
// the cores, then more and fewer batches ahead with the best of these. Batches and results are the same with every
// loader. `stage` is a lab.fit. Raises the errors of the fit. On the recipe's thread.
FoundLoader find_loader(const Options& stage, const RunSettings& settings,
                        const std::function<void(const std::string&)>& say);

std::string loader_text(const FoundLoader& found);
// { kind = "finder", loader = { now, suggestion, … }, curve = { { threads, prefetch, … }, … } }
Value to_value(const FoundLoader& found);

}  // namespace trainlab
