#include "formats/csv.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/error.h"
#include "core/words.h"

namespace trainlab {

namespace {

class Splitter {
 public:
  Splitter(std::string_view text, char delimiter, const std::string& name, CsvText& out)
      : text_(text), delimiter_(delimiter), name_(name), out_(out) {
    if (text_.substr(0, 3) == "\xef\xbb\xbf") at_ = 3;  // a byte order mark
    lone_returns_ = text_.find('\r') != std::string_view::npos && text_.find('\n') == std::string_view::npos;
  }

  // Appends the next row's fields to `row`; false at the end of the text.
  bool next(std::vector<std::string_view>& row) {
    while (at_ < text_.size() && skip_line_end()) {
    }
    if (at_ == text_.size()) return false;
    row_line_ = line_;
    for (;;) {
      row.push_back(text_.substr(at_, 1) == "\"" ? quoted() : plain());
      if (at_ == text_.size() || skip_line_end()) return true;
      ++at_;  // the delimiter
    }
  }

  // The line on which the row that next() returned begins.
  std::int64_t row_line() const { return row_line_; }

  Error wrong(std::int64_t line, const std::string& text) const {
    return recipe_error(name_ + ":" + std::to_string(line) + ": " + text);
  }

 private:
  bool skip_line_end() {
    const std::size_t length = is_line_end(text_[at_]) ? 1 : text_.substr(at_, 2) == "\r\n" ? 2 : 0;
    if (length == 0) return false;
    at_ += length;
    ++line_;
    return true;
  }

  bool at_field_end() const {
    return at_ == text_.size() || text_[at_] == delimiter_ || is_line_end(text_[at_]) || text_.substr(at_, 2) == "\r\n";
  }

  bool is_line_end(char c) const { return c == '\n' || (lone_returns_ && c == '\r'); }

  std::string_view plain() {
    const std::size_t begin = at_;
    for (; !at_field_end(); ++at_)
      if (text_[at_] == '\0') throw wrong(line_, "a zero byte: this is not a text file");
    std::string_view field = text_.substr(begin, at_ - begin);
    while (!field.empty() && is_blank(field.front())) field.remove_prefix(1);
    while (!field.empty() && is_blank(field.back())) field.remove_suffix(1);
    return field;
  }

  std::string_view quoted() {
    const std::int64_t opened = line_;
    const std::size_t begin = ++at_;
    std::optional<std::string> copy;  // of a field with doubled quotes
    std::size_t copied = begin;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (is_line_end(c)) ++line_;
      if (c != '"') continue;
      if (text_.substr(at_, 2) == "\"\"") {
        if (!copy) copy.emplace();
        copy->append(text_.substr(copied, at_ + 1 - copied));
        copied = at_ + 2;
        ++at_;
        continue;
      }
      const std::string_view last = text_.substr(copied, at_ - copied);
      ++at_;
      if (!at_field_end()) throw wrong(line_, "text follows the closing quote of a field");
      if (!copy) return last;
      copy->append(last);
      return out_.unescaped.emplace_back(std::move(*copy));
    }
    throw wrong(opened, "a quoted field begins here and is never closed");
  }

  bool is_blank(char c) const { return (c == ' ' || c == '\t') && c != delimiter_; }

  std::string_view text_;
  char delimiter_;
  const std::string& name_;
  CsvText& out_;
  bool lone_returns_ = false;  // lines end in CR alone
  std::size_t at_ = 0;
  std::int64_t line_ = 1, row_line_ = 1;
};

}  // namespace

void check_csv_start(std::string_view start, bool is_whole, const std::string& name) {
  const auto wrong = [&](std::int64_t line, const std::string& text) {
    return recipe_error(name + ":" + std::to_string(line) + ": " + text);
  };
  const bool has_mark = start.starts_with("\xff\xfe") || start.starts_with("\xfe\xff");
  if (has_mark || (start.size() > 1 && (start[0] == '\0') != (start[1] == '\0')))
    throw wrong(1, "expected text in UTF-8, found UTF-16").hint("save the file as UTF-8");
  const std::size_t zero = start.find('\0');
  if (zero != std::string_view::npos) {
    const std::string_view before = start.substr(0, zero);
    throw wrong(1 + std::count(before.begin(), before.end(), '\n'), "a zero byte: this is not a text file");
  }
  if (!is_whole && start.find_first_of("\r\n") == std::string_view::npos)
    throw wrong(1, "expected a line with the columns' names, found " + std::to_string(start.size()) +
                       " bytes without an end of line");
}

CsvText read_csv(std::string_view text, char delimiter, const std::string& name) {
  CsvText csv;
  Splitter splitter(text, delimiter, name, csv);

  std::vector<std::string_view> header;
  if (!splitter.next(header))
    throw recipe_error(name + ": the file is empty; a line with the columns' names was expected");
  std::map<std::string_view, std::size_t> seen;
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (header[i].empty()) {
      throw splitter.wrong(splitter.row_line(), "column " + std::to_string(i + 1) + " has no name")
          .hint("pandas writes such a column for its index, unless told index=False");
    }
    const auto [before, is_new] = seen.emplace(header[i], i + 1);
    if (!is_new) {
      throw splitter.wrong(splitter.row_line(), "columns " + std::to_string(before->second) + " and " +
                                                    std::to_string(i + 1) + " are both named \"" +
                                                    std::string(header[i]) + "\"");
    }
    csv.header.emplace_back(header[i]);
  }

  const std::size_t width = csv.header.size();
  while (splitter.next(csv.fields)) {
    csv.lines.push_back(splitter.row_line());
    const std::size_t found = csv.fields.size() - (csv.lines.size() - 1) * width;
    if (found != width) {
      Error error = splitter.wrong(splitter.row_line(), "expected " + counted(width, "field") +
                                                            " as in the header, found " + std::to_string(found));
      const std::size_t other = width == 1 ? csv.header[0].find_first_of(";\t|,") : std::string::npos;
      if (other != std::string::npos) {
        const char c = csv.header[0][other];
        error.hint("is the delimiter another one? delimiter = " +
                   (c == '\t' ? "\"\\t\"" : "\"" + std::string(1, c) + "\""));
      } else if (found > width) {
        error.hint(std::string("a field that holds a \"") + delimiter +
                   "\" stands between double quotes, and a number has a decimal point");
      }
      throw error;
    }
  }
  if (csv.lines.empty()) throw recipe_error(name + ": the file has a header but no rows");
  return csv;
}

}  // namespace trainlab
