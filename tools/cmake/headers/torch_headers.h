// Stands before every file that uses LibTorch, as std_headers.h does before the others.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <filesystem>

#include "std_headers.h"
