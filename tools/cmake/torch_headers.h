// What almost every file that uses LibTorch includes, itself or through others. The build reads this header once and
// puts it before those files. A file still includes what it uses, so that it also compiles without this header. Nothing
// of trainlab stands here: a change of one of our headers would make every file be compiled anew.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>
