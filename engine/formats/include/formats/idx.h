// IDX files, the format of MNIST: two zero bytes, a type, the number of dimensions, the dimensions as big-endian 32-bit
// integers, then the values in big-endian order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "formats/input_file.h"

namespace trainlab {

enum class IdxType : std::uint8_t {
  uint8 = 0x08,
  int8 = 0x09,
  int16 = 0x0B,
  int32 = 0x0C,
  float32 = 0x0D,
  float64 = 0x0E
};

struct IdxArray {
  IdxType type = IdxType::uint8;
  std::vector<std::int64_t> sizes;     // one or more, each ≥ 1
  std::unique_ptr<std::byte[]> bytes;  // the values in this machine's byte order
};

std::size_t idx_item_size(IdxType type);
std::string idx_type_name(IdxType type);  // "uint8"

// Error{recipe} names the file, what its header says and what is there instead. Memory is asked for only up to what
// the file can hold.
IdxArray read_idx(InputFile& file, const BeforeTaking& before = {});

}  // namespace trainlab
