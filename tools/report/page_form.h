// The form of all pages: one file with data, the chart library and scripts, which needs nothing but a browser.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "core/value.h"

namespace trainlab::report {

// A page whose scripts, files of page/, run one after the other and find the data in the element "data". No text in the
// data can leave that element: the scripts hand text to the browser as text alone.
std::string page_text(const Value& data, std::initializer_list<std::string_view> scripts);

}  // namespace trainlab::report
