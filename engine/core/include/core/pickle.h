// Pickles of Python, which can run any code and are never read. Files under other names are told to be pickles.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace trainlab {

// Whether a file with these first bytes is a pickle: the first byte is 0x80, the second its protocol.
inline bool is_pickle(std::string_view bytes) {
  constexpr char newest_protocol = 5;
  return bytes.size() > 1 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= newest_protocol;
}

// Whether files with such a name are usually pickles of PyTorch.
inline bool is_named_as_pickle(std::string_view path) {
  constexpr auto endings = std::to_array<std::string_view>({".ckpt", ".pkl", ".pt", ".pth"});
  return std::ranges::any_of(endings, [&](std::string_view ending) { return path.ends_with(ending); });
}

// A hint: how weights in a pickle come into a file that trainlab reads.
constexpr std::string_view from_pickle =
    "trainlab reads safetensors, no pickles, which can run any code; in Python "
    "safetensors.torch.save_file(torch.load(\"FILE.pt\", weights_only=True), \"FILE.safetensors\") writes such a file";

}  // namespace trainlab
