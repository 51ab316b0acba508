// The error rate and the power of `trainlab compare`, from simulated comparisons: bench_compare [COMPARISONS]
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/random/stream.h"
#include "support/simulated_pairs.h"

using namespace trainlab;
using namespace trainlab::compare;

namespace {

struct Row {
  const char* name;
  SimulatedRecipes recipes;
};

struct Found {
  double verdicts = 0;  // share of "faster" or "slower"
  double words = 0;     // share of "better" or "worse"
  double equal = 0;     // and at equal time
  double pairs = 0;
};

bool is_word(Quality quality) { return quality == Quality::better || quality == Quality::worse; }

Found found(int comparisons, const SimulatedRecipes& recipes, const Looks& looks) {
  constexpr int most = 20;
  Found sum;
  for (int i = 0; i < comparisons; ++i) {
    Stream stream(Key(1).fold(static_cast<std::uint64_t>(i)));
    const Judgement judged = simulated_comparison(stream, recipes, std::nullopt, looks, most);
    sum.verdicts += judged.speed == Speed::faster || judged.speed == Speed::slower;
    sum.words += is_word(judged.quality);
    sum.equal += is_word(judged.quality_at_equal_time);
    sum.pairs += judged.pairs;
  }
  return {sum.verdicts / comparisons, sum.words / comparisons, sum.equal / comparisons, sum.pairs / comparisons};
}

}  // namespace

int main(int argc, char** argv) {
  const int comparisons = argc > 1 ? std::atoi(argv[1]) : 2'000;
  if (comparisons < 1) {
    std::fprintf(stderr, "bench_compare [COMPARISONS]\n");
    return 2;
  }
  const std::vector<Row> rows{
      {"A/A", {}},
      {"A/A, heavy tails", {.has_heavy_tails = true}},
      {"A/A, 30 % never arrive", {.missing = 0.3}},
      {"A/A, 30 % never, stop at target", {.missing = 0.3, .a_ends = 10, .b_ends = 10, .stops_at_target = true}},
      {"A/A, A validates late", {.a_validates = 1, .b_validates = 0.5}},
      {"A/A, rounded quality", {.resolution = 0.05}},
      {"A/A, B twice as long", {.a_ends = 10, .b_ends = 20, .growth = 2}},
      {"B faster by 0.5 sd", {.speed = 0.5}},
      {"B faster by 0.75 sd", {.speed = 0.75}},
      {"B faster by 1 sd", {.speed = 1}},
      {"B faster by 1 sd, 30 % never", {.speed = 1, .missing = 0.3}},
      {"B faster by 1.5 sd", {.speed = 1.5}},
      {"B faster by 2 sd", {.speed = 2}},
  };
  std::printf(
      "%d comparisons; share of verdicts on speed, of words on quality, at the end and at equal time, mean pairs of "
      "at most 20\n",
      comparisons);
  std::printf("%-32s %30s %30s %30s %8s\n", "", "planned looks", "fixed, 20 pairs", "any time", "saved");
  for (const Row& row : rows) {
    std::printf("%-32s", row.name);
    double planned = 0;
    for (const Looks& looks : {Looks::planned(), Looks::fixed(20), Looks::any_time()}) {
      const Found one = found(comparisons, row.recipes, looks);
      if (planned == 0) planned = one.pairs;
      std::printf("   %.3f   %.3f   %.3f   %4.1f", one.verdicts, one.words, one.equal, one.pairs);
    }
    std::printf("   %4.0f %%\n", 100 * (1 - planned / 20));
  }
  return 0;
}
