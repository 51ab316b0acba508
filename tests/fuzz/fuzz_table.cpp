#include "fuzz.h"
#include "sources/table.h"
#include "tensor/named_tensors.h"

namespace trainlab::test {

// A CSV file as a table; the first byte says what its columns are taken for.
void fuzz(std::string_view bytes) {
  if (bytes.empty()) return;
  const CsvText csv = read_csv(bytes.substr(1), ',', "fuzz.csv");
  TableOptions options;
  options.targets = {csv.header.front()};
  if (bytes[0] & 1) options.categorical = {csv.header.back()};
  if (bytes[0] & 2) options.text = csv.header.back();
  if (bytes[0] & 4) options.more = {csv.header.back()};
  if (bytes[0] & 8) options.task = Task::classification;
  if (bytes[0] & 16) options.length = 3;
  Table table = read_table(csv, "fuzz.csv", options);
  read_inputs(table, csv, options);
  for (const std::string& column : csv.header) read_column(csv, "fuzz.csv", column);
  Dataset all;
  all.size = table.rows;
  NamedTensors state;
  std::vector<std::string> warnings;
  encode(table, {std::make_shared<const Dataset>(std::move(all)), nullptr}, state, warnings);
}

}  // namespace trainlab::test
