// Stands before every test that does not use LibTorch.
#pragma once

#include <catch2/catch.hpp>

#include "std_headers.h"
