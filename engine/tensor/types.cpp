#include "tensor/types.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#ifdef TRAINLAB_MIMALLOC
#include <mimalloc.h>
#endif

#include <array>

namespace trainlab {

namespace {

struct NamedType {
  std::string_view name;
  at::ScalarType type;
};
constexpr std::array named_types = {NamedType{"float32", at::kFloat},
                                    NamedType{"float64", at::kDouble},
                                    NamedType{"float16", at::kHalf},
                                    NamedType{"bfloat16", at::kBFloat16},
                                    NamedType{"int64", at::kLong},
                                    NamedType{"int32", at::kInt},
                                    NamedType{"int16", at::kShort},
                                    NamedType{"int8", at::kChar},
                                    NamedType{"uint8", at::kByte},
                                    NamedType{"bool", at::kBool},
                                    NamedType{"complex64", at::kComplexFloat},
                                    NamedType{"complex128", at::kComplexDouble}};

}  // namespace

std::string shape_text(at::IntArrayRef shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t n : shape) count *= n;
  return count;
}

std::string dtype_name(at::ScalarType type) {
  for (const NamedType& known : named_types) {
    if (known.type == type) return std::string(known.name);
  }
  return c10::toString(type);
}

Error torch_error(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  // Below the first line CUDA explains how its own developers find such errors.
  if (dynamic_cast<const c10::AcceleratorError*>(&error) != nullptr) {
    return run_error("the device has failed: " + text.substr(0, text.find('\n')))
        .hint("a run goes on from its last checkpoint when it is resumed, on this device or with another --device");
  }
  // "[enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate
  // 400 bytes. Error code 12 (Cannot allocate memory)"; "CUDA out of memory. Tried to allocate 2.00 GiB. …"
  const bool memory = dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
                      text.find("can't allocate memory") != std::string::npos;
  if (!memory) return recipe_error(text);
  constexpr std::string_view before = "ried to allocate ";
  const std::size_t found = text.find(before);
  std::string message = "out of memory";
  if (found != std::string::npos) {
    const std::size_t begin = found + before.size();
    message += ": a tensor of " + text.substr(begin, text.find(". ", begin) - begin) + " could not be had";
  }
  return run_error(message).hint("a smaller batch or a smaller model needs less memory");
}

void prepare_arithmetic(int threads) {
#ifdef TRAINLAB_MIMALLOC
  mi_option_enable(mi_option_large_os_pages);
#endif
  at::globalContext().setFlushDenormal(true);
  at::set_num_threads(threads);
}

}  // namespace trainlab
