#include "lean.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/bucketize.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "core/clones.h"
#include "elements.h"

namespace trainlab {
namespace {

constexpr std::int64_t fewest_coded_values = 4096;

// The numbers of one table in rising order, and how the nearest one is found; of two equally near ones the lower one
// counts.
struct CodeBook {
  std::array<float, 256> written{}, read{};
  std::array<float, 256> limits{};           // the largest number that still has this code
  std::array<std::uint8_t, 65536> lowest{};  // by a float's upper 16 bits: the lowest code of floats with these bits

  explicit CodeBook(bool is_square) {
    std::vector<double> numbers{0, 1};
    for (int decade = 0; decade < 7; ++decade) {
      const int parts = is_square ? 2 << decade : 1 << decade;
      for (int k = 0; k < parts; ++k) {
        const double number = (0.1 + 0.9 * (k + 0.5) / parts) * std::pow(10, decade - 6);
        numbers.push_back(number);
        if (!is_square) numbers.push_back(-number);
      }
    }
    std::ranges::sort(numbers);
    std::ranges::transform(numbers, written.begin(), [](double number) { return static_cast<float>(number); });
    read = written;
    if (is_square) read[0] = read[1] / 2;
    for (std::size_t code = 0; code + 1 < written.size(); ++code) {
      const double middle = (double(written[code]) + double(written[code + 1])) / 2;
      const auto near = static_cast<float>(middle);
      limits[code] = double(near) > middle ? std::nextafter(near, -1.0F) : near;
    }
    limits.back() = std::numeric_limits<float>::infinity();
    for (std::size_t upper = 0; upper < lowest.size(); ++upper) {
      const auto bits = static_cast<std::uint32_t>(upper) << 16;
      const float one = std::bit_cast<float>(bits), other = std::bit_cast<float>(bits | 0xffffU);
      if (std::isnan(one) || std::isnan(other)) continue;
      const auto code = [this](float x) { return std::ranges::lower_bound(limits, x) - limits.begin(); };
      const auto low = code(std::min(one, other)), high = code(std::max(one, other));
      // The upper bits must leave a choice of two codes at the most.
      if (high - low > 1) throw std::logic_error("the numbers of 8 bits lie too close together");
      lowest[upper] = static_cast<std::uint8_t>(low);
    }
  }

  TRAINLAB_INLINE std::uint8_t code(float x) const {
    const std::uint8_t low = lowest[std::bit_cast<std::uint32_t>(x) >> 16];
    return static_cast<std::uint8_t>(low + (x > limits[low]));
  }
};

const CodeBook& book_of(const LeanState& state) {
  static const CodeBook signed_book(false), square_book(true);
  return state.is_square ? square_book : signed_book;
}

// A permutation of 32-bit numbers in which each bit depends on all bits (Wellons, "hash prospector", lowbias32).
TRAINLAB_INLINE std::uint32_t hashed(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ (x >> 16);
}
constexpr std::uint32_t place_factor = 0x9e3779b9U;

template <class T>
TRAINLAB_INLINE void read_codes(const CodeBook& book, const std::uint8_t* __restrict codes, float largest,
                                T* __restrict values, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) values[i] = T(book.read[codes[i]]) * T(largest);
}

template <class T>
TRAINLAB_INLINE float write_codes(const CodeBook& book, const T* __restrict values, std::uint8_t* __restrict codes,
                                  std::int64_t n) {
  // Without their signs, the bits of floating point numbers are in the order of the numbers, and NaN comes last.
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits unsigned_bits = std::numeric_limits<Bits>::max() >> 1;
  Bits most = 0;
  for (std::int64_t i = 0; i < n; ++i) most = std::max(most, Bits(std::bit_cast<Bits>(values[i]) & unsigned_bits));
  const auto largest = float(std::bit_cast<T>(most));
  const T by = largest == 0 ? T(1) : T(largest);
  for (std::int64_t i = 0; i < n; ++i) codes[i] = book.code(float(values[i] / by));
  return largest;
}

template <class T>
TRAINLAB_INLINE void read_bfloat16(const std::uint16_t* __restrict stored, T* __restrict values, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) values[i] = T(wide(stored[i]));
}

template <class T>
TRAINLAB_INLINE void write_bfloat16(const T* __restrict values, std::uint16_t* __restrict stored, std::int64_t n,
                                    std::uint32_t key, std::int64_t first) {
  for (std::int64_t i = 0; i < n; ++i) {
    const auto value = float(values[i]);
    const std::uint32_t random = hashed(std::uint32_t(first + i) * place_factor + key) & 0xffffU;
    const std::uint32_t bits = (std::bit_cast<std::uint32_t>(value) + random) >> 16;
    stored[i] = static_cast<std::uint16_t>(value == value ? bits : 0x7fc0U);
  }
}

TRAINLAB_INLINE std::int64_t block_size(const LeanState& state, std::int64_t first) {
  return std::min(lean_block, state.values.numel() - first);
}

template <class T>
TRAINLAB_INLINE void read_values(const LeanState& state, std::int64_t block, T* values) {
  const std::int64_t first = block * lean_block, n = block_size(state, first);
  if (state.format == StateFormat::full) {
    std::copy_n(state.values.const_data_ptr<T>() + first, n, values);
  } else if (state.format == StateFormat::bfloat16) {
    read_bfloat16(static_cast<const std::uint16_t*>(state.values.const_data_ptr()) + first, values, n);
  } else {
    read_codes(book_of(state), state.values.const_data_ptr<std::uint8_t>() + first,
               state.largest.const_data_ptr<float>()[block], values, n);
  }
}

template <class T>
TRAINLAB_INLINE void write_values(const LeanState& state, std::int64_t block, const T* values) {
  const std::int64_t first = block * lean_block, n = block_size(state, first);
  if (state.format == StateFormat::full) {
    std::copy_n(values, n, state.values.mutable_data_ptr<T>() + first);
  } else if (state.format == StateFormat::bfloat16) {
    auto* const stored = static_cast<std::uint16_t*>(state.values.mutable_data_ptr());
    write_bfloat16(values, stored + first, n, state.key, first);
  } else {
    state.largest.mutable_data_ptr<float>()[block] =
        write_codes(book_of(state), values, state.values.mutable_data_ptr<std::uint8_t>() + first, n);
  }
}

at::Tensor table_on(const float* numbers, std::int64_t n, at::Device device) {
  return at::from_blob(const_cast<float*>(numbers), {n}, at::kFloat).clone().to(device);
}

}  // namespace

Option state_option() {
  return Option(
             "state",
             "what the running means are kept in: the type of the computation, bfloat16, or 8 bits for each value of "
             "tensors of at least 4096 values")
      .choice({"full", "bfloat16", "8bit"})
      .or_default("full");
}

StateFormat state_format(const Options& options, std::int64_t values) {
  if (!options.entry().find("state")) return StateFormat::full;
  const std::string& state = options.string("state");
  if (state == "bfloat16") return StateFormat::bfloat16;
  return state == "8bit" && values >= fewest_coded_values ? StateFormat::codes : StateFormat::full;
}

bool wants_lean_state(const Options& spec) {
  const auto lean = [](const Value& state) { return state.is_string() && state.string() != "full"; };
  if (lean(spec.get("state"))) return true;
  return spec.given("groups") &&
         std::ranges::any_of(spec.get("groups").list(), [&](const Value& group) { return lean(group["state"]); });
}

std::uint32_t rounding_key(std::size_t parameter, std::size_t state, double step) {
  std::uint32_t key = hashed(static_cast<std::uint32_t>(parameter) + 1);
  key = hashed(key ^ static_cast<std::uint32_t>(state));
  return hashed(key ^ static_cast<std::uint32_t>(step));
}

TRAINLAB_CLONES void read_block(const LeanState& state, std::int64_t block, float* values) {
  read_values(state, block, values);
}
TRAINLAB_CLONES void read_block(const LeanState& state, std::int64_t block, double* values) {
  read_values(state, block, values);
}
TRAINLAB_CLONES void write_block(const LeanState& state, std::int64_t block, const float* values) {
  write_values(state, block, values);
}
TRAINLAB_CLONES void write_block(const LeanState& state, std::int64_t block, const double* values) {
  write_values(state, block, values);
}

at::Tensor read_state(const LeanState& state, at::ScalarType type) {
  if (state.format == StateFormat::bfloat16) return state.values.to(type);
  const at::Tensor codes = state.values.flatten().to(at::kLong);
  const at::Tensor numbers = table_on(book_of(state).read.data(), 256, codes.device()).index_select(0, codes).to(type);
  const at::Tensor largest =
      state.largest.to(type).unsqueeze(1).expand({-1, lean_block}).flatten().narrow(0, 0, codes.numel());
  return numbers.mul(largest).view_as(state.values);
}

void write_state(const LeanState& state, const at::Tensor& values) {
  const at::Tensor flat = values.flatten();
  const std::int64_t n = flat.numel();
  if (state.format == StateFormat::bfloat16) {
    constexpr std::int64_t low = 0xffffffff;
    at::Tensor x = at::arange(n, at::device(flat.device()).dtype(at::kLong)).mul_(place_factor).add_(state.key);
    x = x.bitwise_and(low);
    x = x.bitwise_xor(x.bitwise_right_shift(16)).mul(0x7feb352d).bitwise_and(low);
    x = x.bitwise_xor(x.bitwise_right_shift(15)).mul(0x846ca68b).bitwise_and(low);
    x = x.bitwise_xor(x.bitwise_right_shift(16)).bitwise_and(0xffff).to(at::kInt);
    const at::Tensor single = flat.to(at::kFloat);
    const at::Tensor rounded = single.view(at::kInt).add(x).bitwise_and(-65536).view(at::kFloat);
    state.values.copy_(at::where(single.isnan(), single, rounded).view_as(values));
    return;
  }
  const CodeBook& book = book_of(state);
  const std::int64_t blocks = state.largest.numel();
  const at::Tensor padded = at::constant_pad_nd(flat, {0, blocks * lean_block - n}).view({blocks, lean_block});
  state.largest.copy_(padded.abs().amax(1));
  const at::Tensor by = at::where(state.largest.eq(0), at::ones_like(state.largest), state.largest);
  const at::Tensor normal = padded.div(by.to(flat.scalar_type()).unsqueeze(1)).to(at::kFloat);
  const at::Tensor codes = at::bucketize(normal, table_on(book.limits.data(), 255, flat.device()));
  state.values.copy_(codes.flatten().narrow(0, 0, n).view_as(values));
}

}  // namespace trainlab
