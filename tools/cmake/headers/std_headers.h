// Headers of the C++ library that most files include, themselves or through others. The build reads this header once
// and puts it before every file that does not use LibTorch. A file still includes what it uses, so that it also
// compiles without this header. Nothing of trainlab stands here: a change of one of our headers would make every file
// be compiled anew.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>
