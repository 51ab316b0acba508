#include "tensor/names.h"

#include <type_traits>
#include <utility>

#include "tensor/types.h"

namespace trainlab {

namespace {

template <class T>
using Named = std::pair<std::string_view, T>;

constexpr Named<at::ScalarType> dtypes[] = {{"float32", at::kFloat},
                                            {"float64", at::kDouble},
                                            {"float16", at::kHalf},
                                            {"bfloat16", at::kBFloat16},
                                            {"int64", at::kLong},
                                            {"int32", at::kInt},
                                            {"int16", at::kShort},
                                            {"int8", at::kChar},
                                            {"uint8", at::kByte},
                                            {"bool", at::kBool},
                                            {"complex64", at::kComplexFloat},
                                            {"complex128", at::kComplexDouble}};

constexpr Named<at::Layout> layouts[] = {{"strided", at::kStrided},      {"sparse_coo", at::kSparse},
                                         {"sparse_csr", at::kSparseCsr}, {"sparse_csc", at::kSparseCsc},
                                         {"sparse_bsr", at::kSparseBsr}, {"sparse_bsc", at::kSparseBsc}};

constexpr Named<at::MemoryFormat> memory_formats[] = {{"contiguous_format", at::MemoryFormat::Contiguous},
                                                      {"preserve_format", at::MemoryFormat::Preserve},
                                                      {"channels_last", at::MemoryFormat::ChannelsLast},
                                                      {"channels_last_3d", at::MemoryFormat::ChannelsLast3d}};

template <class Names>
auto find(const Names& names, std::string_view name) {
  using Found = decltype(names[0].second);
  for (const auto& [known, value] : names) {
    if (known == name) return std::optional<std::remove_const_t<Found>>(value);
  }
  return std::optional<std::remove_const_t<Found>>();
}

}  // namespace

std::optional<at::ScalarType> find_dtype(std::string_view name) { return find(dtypes, name); }
std::optional<at::Layout> find_layout(std::string_view name) { return find(layouts, name); }
std::optional<at::MemoryFormat> find_memory_format(std::string_view name) { return find(memory_formats, name); }

std::string dtype_name(at::ScalarType type) {
  for (const auto& [name, known] : dtypes) {
    if (known == type) return std::string(name);
  }
  return c10::toString(type);
}

std::string layout_name(at::Layout layout) {
  for (const auto& [name, known] : layouts) {
    if (known == layout) return std::string(name);
  }
  return "another layout";
}

}  // namespace trainlab
