#include "tensor/types.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <new>
#include <optional>
#include <utility>

#include "core/host.h"
#include "core/words.h"
#include "device/kept_pages.h"
#include "device/linear_algebra.h"
#include "tensor/memory.h"
#include "tensor/operator_errors.h"

namespace trainlab {

namespace {

constexpr std::string_view refused = "LibTorch cannot compute this with these arguments: ";

// LibTorch names some types as C++ has them.
std::string with_dtype_names(std::string text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> names{{{"c10::complex<float>", "complex64"},
                                                                                {"c10::complex<double>", "complex128"},
                                                                                {"c10::BFloat16", "bfloat16"},
                                                                                {"c10::Half", "float16"},
                                                                                {"c10::", ""},
                                                                                {"std::", ""}}};
  for (const auto& [inner, name] : names) {
    for (std::size_t i = text.find(inner); i != std::string::npos; i = text.find(inner, i + name.size()))
      text.replace(i, inner.size(), name);
  }
  return text;
}

// LibTorch's own words about a call. Where a check of LibTorch's inner parts has failed, the words ask for a report to
// PyTorch and name its source; what is left says what the check was about.
std::string own_words(std::string text) {
  const auto cut = [&](std::string_view from) { text.resize(std::min(text.find(from), text.size())); };
  cut("  (Could this error message be improved?");
  cut("\nException raised from ");  // the backtrace of an error within the error
  constexpr std::string_view inner = " INTERNAL ASSERT FAILED at ", report = "please report a bug to PyTorch.",
                             enforce = "[enforce fail at ";
  std::size_t asserted = text.find(inner);
  if (asserted == std::string::npos && text.starts_with(inner.substr(1))) asserted = 0;
  if (asserted != std::string::npos) {
    const std::size_t end = text.find(report);
    std::string about = end == std::string::npos ? "" : text.substr(end + report.size());
    about.erase(0, about.find_first_not_of(" \n"));
    // Linear algebra: "torch.linalg.lstsq: Argument 4 has illegal value. Most certainly there is a bug in …"
    if (about.find(" has illegal value. ") != std::string::npos) {
      return std::string(refused) + about.substr(0, about.find(": ")) + " takes no value that is NaN or infinite";
    }
    return std::string(refused) +
           (about.empty() ? "a check of its own has failed: " + text.substr(0, asserted) : about);
  }
  if (text.starts_with(enforce)) {
    const std::size_t end = text.find("] ");
    if (end != std::string::npos) text.erase(0, end + 2);
  }
  return text;
}

// A tensor whose size overflows LibTorch's own count: "Storage size calculation overflowed with sizes=[3, 4] and
// strides=[4, 1]", or without a shape "numel: integer multiplication overflow", "Stride calculation overflowed".
std::optional<Error> size_error(const std::string& text) {
  constexpr std::string_view sizes = "Storage size calculation overflowed with sizes=";
  const std::size_t found = text.find(sizes);
  if (found == std::string::npos && text.find("numel: integer multiplication overflow") == std::string::npos &&
      text.find("Stride calculation overflowed") == std::string::npos)
    return std::nullopt;
  std::string shape;
  if (found != std::string::npos) {
    const std::size_t begin = found + sizes.size();
    shape = ", found the shape " + text.substr(begin, text.find(']', begin) + 1 - begin);
  }
  return recipe_error("expected a tensor of less than 2^63 bytes" + shape)
      .hint("no memory holds it: are the sizes right?");
}

// Memory of the host is used up.
Error memory_error(const std::string& wanted) {
  constexpr double gibi = 1 << 30;
  std::array<char, 96> there{};
  std::snprintf(there.data(), there.size(), "; the process may use %.1f GiB, of which tensors hold %.1f GiB",
                static_cast<double>(usable_memory()) / gibi, static_cast<double>(live_tensor_bytes()) / gibi);
  return run_error("out of memory" + wanted + there.data())
      .hint("a smaller batch or a smaller model needs less memory")
      .lacking_memory();
}

}  // namespace

std::string shape_text(at::IntArrayRef shape) {
  return "[" + joined(shape, ", ", [](std::int64_t size) { return std::to_string(size); }) + "]";
}

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t n : shape) count *= n;
  return count;
}

Error torch_error(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  // Below the first line CUDA explains how its own developers find such errors.
  if (dynamic_cast<const c10::AcceleratorError*>(&error) != nullptr) {
    std::string hint =
        "a run goes on from its last checkpoint when it is resumed, on this device or with another --device";
    if (text.find("device-side assert") != std::string::npos)
      hint = "a kernel has met an index or a label beyond its range; with --device cpu the message says which; " + hint;
    return run_error("the device has failed: " + text.substr(0, text.find('\n'))).hint(hint);
  }
  // "[enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate
  // 400 bytes. Error code 12 (Cannot allocate memory)"; "CUDA out of memory. Tried to allocate 2.00 GiB. …"
  const bool memory = dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
                      text.find("can't allocate memory") != std::string::npos;
  if (!memory) {
    if (std::optional<Error> too_large = size_error(text)) return *too_large;
    if (text.find("backward through the graph a second time") != std::string::npos) {
      return recipe_error(
                 "the gradients of an operator are asked for again, and a backward pass before has freed what they "
                 "need")
          .hint(
              "one pass for all losses: (a + b):backward(); t:detach() keeps a tensor of an earlier step out of the "
              "pass; the first of two passes keeps what they share: a:backward({ retain_graph = true })");
    }
    Error plain = recipe_error(with_dtype_names(own_words(text)));
    if (text.find("leaf Variable that requires grad is being used in an in-place operation") != std::string::npos)
      plain.hint("lab.no_grad(function() … end) changes weights without recording it; t:clone() is a tensor to change");
    return plain;
  }
  constexpr std::string_view before = "ried to allocate ";
  const std::size_t found = text.find(before);
  std::string wanted;
  if (found != std::string::npos) {
    const std::size_t begin = found + before.size();
    wanted = ": a tensor of " + text.substr(begin, text.find(". ", begin) - begin) + " could not be had";
  }
  if (text.find("DefaultCPUAllocator") != std::string::npos) return memory_error(wanted);
  return run_error("out of memory" + wanted)
      .hint("a smaller batch or a smaller model needs less memory")
      .lacking_memory();
}

Error operator_error(const std::exception& exception) {
  if (const auto* error = dynamic_cast<const Error*>(&exception)) return *error;
  if (const auto* error = dynamic_cast<const c10::Error*>(&exception)) return torch_error(*error);
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) return memory_error("");
  return recipe_error(std::string(refused) + with_dtype_names(exception.what()));
}

void prepare_arithmetic(int threads) {
  keep_freed_pages();
  silence_linear_algebra();
  at::globalContext().setFlushDenormal(true);
  at::set_num_threads(threads);
}

}  // namespace trainlab
