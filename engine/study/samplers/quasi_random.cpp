// Low-discrepancy points: they fill the space more evenly than chance, for any number of points.
//
// Sobol points (direction numbers of Joe and Kuo 2008, from Boost) with Owen's scrambling by a hash (Burley 2020,
// Practical Hash-based Owen Scrambling, JCGT 9-4), and Halton points whose digits are permuted at random, anew at each
// place. Trial k is point k of the sequence, so that neither the asking process nor the order matters.
#include <algorithm>
#include <boost/random/sobol.hpp>
#include <cmath>

#include "samplers.h"

namespace trainlab {

namespace {

std::uint32_t reversed(std::uint32_t x) {
  x = ((x >> 1) & 0x55555555U) | ((x & 0x55555555U) << 1);
  x = ((x >> 2) & 0x33333333U) | ((x & 0x33333333U) << 2);
  x = ((x >> 4) & 0x0f0f0f0fU) | ((x & 0x0f0f0f0fU) << 4);
  return __builtin_bswap32(x);
}

// Burley 2020, section 4: each bit is flipped by a hash of those above it.
std::uint32_t owen_scrambled(std::uint32_t x, std::uint32_t seed) {
  x = reversed(x);
  x ^= x * 0x3d20adeaU;
  x += seed;
  x *= (seed >> 16) | 1U;
  x ^= x * 0x05526c56U;
  x ^= x * 0x53a22864U;
  return reversed(x);
}

// The common part of both: points of a sequence in the unit cube; a refused point is replaced by a random point.
class Sequence : public Sampler {
 public:
  Sequence(const Space& space, Key key) : space_(space), draws_(space_, key) {}

  bool sample(std::int64_t trial, std::int64_t attempt, std::span<const std::span<const double>>,
              std::span<double> point) final {
    if (attempt == 0) {
      place(trial);
      choose_open(space_, point, [&](std::size_t i) { return coordinate(i); });
    } else {
      choose_open(space_, point, draws_.units(trial, attempt));
    }
    return true;
  }

 protected:
  virtual void place(std::int64_t trial) = 0;          // goes to the trial's point
  virtual double coordinate(std::size_t i) const = 0;  // of it, in [0, 1)
  const Space& space() const { return space_; }

 private:
  const Space space_;
  ParameterDraws draws_;
};

class Sobol final : public Sequence {
 public:
  Sobol(const Space& space, Key key) : Sequence(space, key), engine_(space.size()), words_(space.size()) {
    for (std::size_t i = 0; i < space.size(); ++i)
      seeds_.push_back(static_cast<std::uint32_t>(key.fold(space[i].name).bits()));
  }

 private:
  void place(std::int64_t trial) override {
    // Boost leaves out the sequence's first point, 0; scrambled it is as good as any, and nets of 2^k points have it.
    std::fill(words_.begin(), words_.end(), 0U);
    if (trial == 0) return;
    engine_.seed(static_cast<std::uint32_t>(trial - 1));
    for (std::uint32_t& word : words_) word = static_cast<std::uint32_t>(engine_());
  }
  double coordinate(std::size_t i) const override { return owen_scrambled(words_[i], seeds_[i]) * 0x1p-32; }

  boost::random::sobol_engine<std::uint32_t, 32> engine_;
  std::vector<std::uint32_t> words_, seeds_;
};

class Halton final : public Sequence {
 public:
  Halton(const Space& space, Key key) : Sequence(space, key) {
    std::int64_t prime = 1;
    for (std::size_t i = 0; i < space.size(); ++i) {
      const auto is_prime = [](std::int64_t n) {
        for (std::int64_t d = 2; d * d <= n; ++d) {
          if (n % d == 0) return false;
        }
        return true;
      };
      do ++prime;
      while (!is_prime(prime));
      Axis axis{.base = prime, .digits = {}};
      // As many places as a double tells apart.
      double share = 1;
      for (std::uint64_t digit = 0; share > 0x1p-53; ++digit, share /= static_cast<double>(prime)) {
        axis.digits.push_back(permutation(key.fold(space[i].name).fold(digit), prime));
      }
      axes_.push_back(std::move(axis));
    }
  }

 private:
  struct Axis {
    std::int64_t base;
    std::vector<std::vector<std::int64_t>> digits;  // [place], a permutation
  };
  void place(std::int64_t trial) override { trial_ = trial; }
  double coordinate(std::size_t i) const override {
    const Axis& axis = axes_[i];
    std::int64_t rest = trial_;
    double value = 0, share = 1;
    for (const auto& digit : axis.digits) {
      share /= static_cast<double>(axis.base);
      value += share * static_cast<double>(digit[static_cast<std::size_t>(rest % axis.base)]);
      rest /= axis.base;
    }
    return std::min(value, 1 - 0x1p-53);
  }

  std::vector<Axis> axes_;
  std::int64_t trial_ = 0;
};

std::unique_ptr<Sampler> make_sobol(const Options& spec, const Space& space, std::int64_t seed, std::size_t) {
  if (space.size() > most_sobol_parameters) {
    throw spec.error("", "expected at most " + std::to_string(most_sobol_parameters) + " parameters, found " +
                             std::to_string(space.size()));
  }
  return sobol_sampler(space, sampler_seed(spec, seed));
}

std::unique_ptr<Sampler> make_halton(const Options& spec, const Space& space, std::int64_t seed, std::size_t) {
  return std::make_unique<Halton>(space, Key(static_cast<std::uint64_t>(sampler_seed(spec, seed))).fold("halton"));
}

}  // namespace

std::unique_ptr<Sampler> sobol_sampler(const Space& space, std::int64_t seed) {
  return std::make_unique<Sobol>(space, Key(static_cast<std::uint64_t>(seed)).fold("sobol"));
}

void register_quasi_random(Registry& registry) {
  registry.add(
      Entry("sampler.sobol", "sampler", "Quasi-random: covers the space more evenly than chance. Best with 2^k trials.")
          .with(sampler_seed_option())
          .example("sampler.sobol()")
          .note("Sobol points of Joe and Kuo 2008 with Owen's scrambling (Burley 2020)."),
      SamplerKind{.make = make_sobol});
  registry.add(
      Entry("sampler.halton", "sampler", "Quasi-random: for any number of trials and up to a dozen parameters.")
          .with(sampler_seed_option())
          .example("sampler.halton()")
          .note(
              "Halton 1960, with digits that are permuted at random. With many parameters Sobol points are more even."),
      SamplerKind{.make = make_halton});
}

}  // namespace trainlab
