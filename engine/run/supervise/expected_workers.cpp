#include "expected_workers.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <string>

#include "core/files.h"
#include "run/run.h"

namespace trainlab {

namespace {

constexpr std::int64_t longest_recipe = std::int64_t{1} << 20;

bool is_of_name(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

int workers_in(std::string_view recipe) {
  constexpr std::string_view option = "workers";
  int most = 1;
  for (std::size_t at = recipe.find(option); at != std::string_view::npos; at = recipe.find(option, at + 1)) {
    if (at > 0 && is_of_name(recipe[at - 1])) continue;
    const auto behind_spaces = [&](std::size_t from) {
      return std::min(recipe.find_first_not_of(" \t", from), recipe.size());
    };
    const std::size_t sign = behind_spaces(at + option.size());
    if (sign == recipe.size() || recipe[sign] != '=') continue;
    const std::size_t number = behind_spaces(sign + 1);
    int workers = 0;
    if (std::from_chars(recipe.data() + number, recipe.data() + recipe.size(), workers).ec == std::errc())
      most = std::max(most, workers);
  }
  return most;
}

int expected_workers(const Request& request) noexcept {
  try {
    const int workers = request.has("workers") ? static_cast<int>(request.options["workers"].integer())
                                               : workers_in(read_file(request.recipe, longest_recipe));
    return std::clamp(workers, 1, usable_cores());
  } catch (const std::exception&) {
    return 1;
  }
}

}  // namespace trainlab
