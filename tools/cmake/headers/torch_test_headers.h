// Stands before every test that uses LibTorch.
#pragma once

#include <c10/util/Logging.h>

// After LibTorch's header that also defines CHECK.
#include <catch2/catch.hpp>

#include "torch_headers.h"
