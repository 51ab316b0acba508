// States of optimizers in fewer bytes than the weights: bfloat16, or 8 bits (Dettmers et al. 2022).
//
// 8 bits: a code for each value, which stands for a number of a fixed table, and for each block of 256 values of a row
// the largest magnitude, by which the table's number is multiplied. The tables are those of bitsandbytes' dynamic maps:
// seven decades, each divided twice as finely as the one below, of both signs for means and of one sign for squares. A
// square that is rounded to 0 is read as half of the smallest number of the table, not as 0: with 0 as the denominator
// a step would be many times too large wherever a gradient is far below the largest one of its block.
//
// bfloat16: rounded up or down at random, with the probabilities that make the mean right. A running mean of squares
// changes by less than bfloat16 resolves at each step, so that rounding to the nearest would keep it where it is. The
// random numbers are a hash of (key, place), so that nothing but the key has to be stored.
//
// Computations between reading and writing have the type of the weights. Thread-safe.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "core/registry.h"

namespace trainlab {

constexpr std::int64_t lean_block = 256;

enum class StateFormat { full, bfloat16, codes };

// The option `state`.
Option state_option();
// The format of a parameter of `values` values (of one row) under these options; `full` where there is no such option.
// Codes are for large tensors only: small ones are read and written with more care than they cost.
StateFormat state_format(const Options& options, std::int64_t values);
// Whether the spec or one of its groups asks for a lean state.
bool wants_lean_state(const Options& spec);

// A state of one row in its stored form.
struct LeanState {
  StateFormat format = StateFormat::bfloat16;
  bool is_square = false;                // codes: of values ≥ 0
  std::uint32_t key = 0;                 // bfloat16: of the random numbers of this step
  at::Tensor values = {}, largest = {};  // uint8, bfloat16 or the type of the reader; float32 [blocks], for codes
};

// The key of the random numbers with which a state of a parameter is rounded in a step.
std::uint32_t rounding_key(std::size_t parameter, std::size_t state, double step);

// Reads and writes block `block` of a state in host memory; `values` has room for lean_block numbers, of which the last
// block has fewer.
void read_block(const LeanState& state, std::int64_t block, float* values);
void read_block(const LeanState& state, std::int64_t block, double* values);
void write_block(const LeanState& state, std::int64_t block, const float* values);
void write_block(const LeanState& state, std::int64_t block, const double* values);

// The same for all values at once, on any device, in a tensor of the state's shape and of the given type; the format is
// not `full`.
at::Tensor read_state(const LeanState& state, at::ScalarType type);
void write_state(const LeanState& state, const at::Tensor& values);

}  // namespace trainlab
