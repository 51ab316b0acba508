#include <algorithm>
#include <vector>

#include "fuzz.h"
#include "loader/row_gather.h"
#include "support/pack_bytes.h"

namespace trainlab::test {

namespace {

void read_rows(const Part& part) {
  const std::int64_t last = part.data->size - 1;
  for (const Column& column : part.data->columns) {
    const RowGather gather(column, at::kFloat);
    std::vector<std::byte> row(gather.row_bytes());
    for (const std::int64_t i : {std::int64_t{0}, last / 2, last}) {
      if (i >= 0) gather.copy(std::vector{i}, row.data());
    }
  }
}

}  // namespace

// The header up to the first line's end, then the tensors; the hash is made for them. Rows of what is accepted can be
// read.
void fuzz(std::string_view bytes) {
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  const FuzzFile file(pack_bytes(bytes.substr(0, end), bytes.substr(std::min(end + 1, bytes.size()))));
  const std::optional<DataParts> parts = open_packed(file.path(), "k");
  if (!parts) return;
  read_rows(parts->train);
  if (parts->val) read_rows(*parts->val);
  if (parts->test) read_rows(*parts->test);
}

}  // namespace trainlab::test
