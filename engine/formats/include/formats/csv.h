// CSV text (RFC 4180, any one-byte delimiter) split into fields. Knows nothing of what the fields mean.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace trainlab {

// Fields are views into the text given to read_csv (or into `unescaped`, where a quoted field holds quotes), without
// surrounding quotes; fields without quotes also without surrounding blanks.
struct CsvText {
  std::vector<std::string> header;       // distinct, none empty
  std::vector<std::string_view> fields;  // row after row
  std::vector<std::int64_t> lines;       // where each row begins, counted from 1
  std::deque<std::string> unescaped;

  std::int64_t rows() const { return static_cast<std::int64_t>(lines.size()); }
  std::string_view field(std::int64_t row, std::size_t column) const {
    return fields[static_cast<std::size_t>(row) * header.size() + column];
  }
};

// Facts that the first bytes of a file tell before the rest is read, which may be long. `is_whole`: there are no
// more bytes. Error{recipe} for UTF-16, for a zero byte and for a first line that does not end.
void check_csv_start(std::string_view start, bool is_whole, const std::string& name);

// The first line names the columns; empty lines are skipped; lines end in LF or CRLF, or all in CR alone.
// Error{recipe} names the file and the line: no header, no rows, an unnamed or repeated column, a row with another
// number of fields, a quote that is not closed or is followed by text, a zero byte.
CsvText read_csv(std::string_view text, char delimiter, const std::string& name);

}  // namespace trainlab
