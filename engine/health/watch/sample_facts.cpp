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

// The share of the samples of a part that are among those of the training part.
double shared_share(const std::vector<HashedSample>& part, const std::vector<HashedSample>& train) {
  if (part.empty()) return unmeasured;
  const std::int64_t shared = std::ranges::count_if(part, [&](const HashedSample& one) {
    return std::ranges::binary_search(train, one.hash, {}, &HashedSample::hash);
  });
  return shared < 3 ? 0 : share_of(shared, part);  // one or two may be equal by chance
}

std::size_t bytes_of_all(const std::optional<StoredSamples>& samples) { return samples ? samples->all_bytes() : 0; }

}  // namespace

SampleFacts sample_facts(const DataParts& data) {
  SampleFacts facts;
  const std::optional<StoredSamples> train = stored_samples(data.train);
  const std::optional<StoredSamples> val = data.val ? stored_samples(*data.val) : std::nullopt;
  std::optional<StoredSamples> test = data.test ? stored_samples(*data.test) : std::nullopt;
  const std::size_t trained = bytes_of_all(train) + bytes_of_all(val);
  if (!train || trained > most_bytes) return facts;
  if (trained + bytes_of_all(test) > most_bytes) test.reset();

  std::int64_t most = 1;
  for (const auto& samples : {train, val, test}) most = std::max(most, samples ? samples->part->size() : 0);
  const auto every = static_cast<std::size_t>((most + most_chosen - 1) / most_chosen);
  const std::vector<HashedSample> chosen = chosen_samples(*train, every);
  if (chosen.empty()) return facts;
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
  facts.repeated = share_of(repeated, chosen);
  if (val) facts.shared = shared_share(chosen_samples(*val, every), chosen);
  if (test) facts.shared_by_test = shared_share(chosen_samples(*test, every), chosen);
  return facts;
}

}  // namespace trainlab
