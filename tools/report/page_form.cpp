#include "page_form.h"

#include <algorithm>
#include <stdexcept>

#include "core/error.h"
#include "core/files.h"
#include "embedded/chart_library.h"
#include "embedded/page.h"
#include "report/page.h"

namespace trainlab::report {

namespace {

// JSON inside of a script element: nothing in it may look like the element's end.
std::string harmless(const std::string& json) {
  std::string text;
  for (const char c : json) text += c == '<' ? "\\u003c" : std::string(1, c);
  return text;
}

std::string_view file(std::string_view name) {
  const auto files = embedded::page::files();
  const auto found = std::ranges::find(files, name, &embedded::page::File::path);
  if (found == files.end()) throw std::logic_error("a page has no file " + std::string(name));
  return found->bytes;
}

std::string script(std::string_view text) { return "<script>" + std::string(text) + "</script>\n"; }

}  // namespace

std::string page_text(const Value& data, std::initializer_list<std::string_view> scripts) {
  const std::string json = harmless(to_json(data));
  const std::string_view form = embedded::page::page_html();
  std::string text;
  // Each @name@ of the form is a piece.
  for (std::size_t at = 0; at < form.size();) {
    const std::size_t begin = form.find('@', at), end = form.find('@', begin + 1);
    if (begin == std::string_view::npos) return text.append(form.substr(at));
    text += form.substr(at, begin - at);
    const std::string_view name = form.substr(begin + 1, end - begin - 1);
    if (name == "data") {
      text += json;
    } else if (name == "scripts") {
      text += script(embedded::chart_library::chart_min_js());
      for (const std::string_view one : scripts) text += script(file(one));
    } else {
      text += file(name);
    }
    at = end + 1;
  }
  return text;
}

// The first bytes of a page of any version hold its title.
void check_page(const std::filesystem::path& file) {
  check_output("--html", file);
  constexpr std::size_t head = 1000;
  const std::string begin = first_bytes(file, head);
  if (begin.empty() ||
      (begin.starts_with("<!DOCTYPE html>") && begin.find("<title>trainlab</title>") != std::string::npos))
    return;
  throw usage_error("--html: " + file.string() + " is there already, and is no page of trainlab")
      .hint("a new file, or the name of a page that may be replaced: --html report.html");
}

std::optional<std::string> page_failure(const std::filesystem::path& file, const std::function<std::string()>& page) {
  return output_failure("--html", [&] { write_atomic(file, page()); });
}

}  // namespace trainlab::report
