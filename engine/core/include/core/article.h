// The article before a word in a message.
#pragma once

#include <string>
#include <string_view>

namespace trainlab {

// "a number", "an integer": with the article, unless the text begins with one, with a quote or with "any".
std::string with_article(std::string_view text);

}  // namespace trainlab
