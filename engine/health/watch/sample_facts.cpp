#include "sample_facts.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>

namespace trainlab {
namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 30;  // that are hashed; takes some tenths of a second
constexpr std::int64_t most_chosen = 200'000;             // samples of a part, about

// The samples of a part whose bytes are stored one after the other.
struct StoredSamples {
  const Part* part;
  const char* first;
  std::size_t bytes;  // of one sample

  std::size_t all_bytes() const { return bytes * static_cast<std::size_t>(part->size()); }
  std::size_t hash(std::int64_t place) const {
    const char* const sample = first + static_cast<std::size_t>(part->row(place)) * bytes;
    return std::hash<std::string_view>{}({sample, bytes});
  }
};

std::optional<StoredSamples> stored_samples(const Part& part) {
  const Column* x = part.data->find("x");
  if (!x || !x->values.defined() || !x->values.is_contiguous() || x->values.dim() < 1 || part.data->size < 1) return {};
  const std::size_t bytes = x->values.nbytes() / static_cast<std::size_t>(part.data->size);
  if (bytes == 0) return {};
  return StoredSamples{.part = &part, .first = static_cast<const char*>(x->values.const_data_ptr()), .bytes = bytes};
}

struct HashedSample {
  std::size_t hash;
  std::int64_t place;  // in the part
};

// The samples whose hash is a multiple of `every`, in the order of their hashes, and then of their places.
std::vector<HashedSample> chosen_samples(const StoredSamples& samples, std::size_t every) {
  std::vector<HashedSample> chosen;
  for (std::int64_t place = 0; place < samples.part->size(); ++place) {
    const std::size_t hash = samples.hash(place);
    if (hash % every == 0) chosen.push_back({.hash = hash, .place = place});
  }
  std::ranges::stable_sort(chosen, {}, &HashedSample::hash);
  return chosen;
}

double share_of(std::int64_t count, const std::vector<HashedSample>& all) {
  return static_cast<double>(count) / static_cast<double>(all.size());
}

}  // namespace

SampleFacts sample_facts(const DataParts& data) {
  SampleFacts facts;
  const std::optional<StoredSamples> train = stored_samples(data.train);
  const std::optional<StoredSamples> val = data.val ? stored_samples(*data.val) : std::nullopt;
  if (!train || train->all_bytes() + (val ? val->all_bytes() : 0) > most_bytes) return facts;

  const std::int64_t most = std::max({std::int64_t{1}, data.train.size(), val ? data.val->size() : 0});
  const auto every = static_cast<std::size_t>((most + most_chosen - 1) / most_chosen);
  const std::vector<HashedSample> chosen = chosen_samples(*train, every);
  std::int64_t repeated = 0;
  for (auto first = chosen.begin(); first != chosen.end();) {
    const auto end =
        std::find_if(first, chosen.end(), [&](const HashedSample& one) { return one.hash != first->hash; });
    const std::int64_t copies = end - first;
    if (copies > 3) repeated += copies;
    if (copies > 1) {
      std::vector<std::int64_t>& places = facts.alike.emplace_back();
      for (auto one = first; one != end; ++one) places.push_back(one->place);
    }
    first = end;
  }
  if (!val) return facts;
  const std::vector<HashedSample> chosen_of_val = chosen_samples(*val, every);
  if (chosen.empty() || chosen_of_val.empty()) return facts;
  const std::int64_t shared = std::ranges::count_if(chosen_of_val, [&](const HashedSample& one) {
    return std::ranges::binary_search(chosen, one.hash, {}, &HashedSample::hash);
  });
  facts.repeated = share_of(repeated, chosen);
  facts.shared = shared < 3 ? 0 : share_of(shared, chosen_of_val);  // one or two may be equal by chance
  return facts;
}

}  // namespace trainlab
