#include "tables.h"

#include <string_view>

#include "command.h"
#include "core/files.h"
#include "registry.h"
#include "tensor/operators.h"

namespace trainlab {

namespace {

// A line for each form of each operator, for `trainlab help ops.NAME`: "ops.add<tab>ops.add(self, other, …) → tensor".
std::string operator_table() {
  std::string text;
  for (const std::string& name : operator_names()) {
    for (const Overload& overload : find_operator(name)->overloads())
      text += "ops." + name + "\t" + overload.text() + "\n";
  }
  return text;
}

// The commands of which `trainlab` knows only what stands here.
Value command_table() {
  Value::List table;
  for (const Command& command : all_commands()) {
    if (command.line.empty()) continue;
    Value::List flags;
    for (const Flag& flag : command.flags) flags.push_back(to_value(flag));
    table.push_back(Value::Map{{"name", command.name},
                               {"line", command.line},
                               {"text", command.text},
                               {"flags", std::move(flags)},
                               {"takes_second", command.takes_second},
                               {"choices", Value::List(command.choices.begin(), command.choices.end())}});
  }
  return table;
}

// A line for each entry, so that `trainlab help NAME` has to read one line only.
std::string entry_table(const Registry& registry) {
  std::string text;
  const Value table = registry.to_value();
  for (const Value& entry : table.list()) text += (text.empty() ? "[\n" : ",\n") + to_json(entry);
  return text + "\n]\n";
}

}  // namespace

bool write_tables(int argc, const char* const* argv) {
  if (argc < 2 || !std::string_view(argv[1]).starts_with("--")) return false;
  const Registry registry = all_entries();
  for (int i = 1; i < argc; i += 2) {
    const std::string_view what = argv[i];
    if (i + 1 == argc) throw usage_error(std::string(what) + ": expected a file after it");
    if (what == "--table") {
      write_atomic(argv[i + 1], entry_table(registry));
    } else if (what == "--reference") {
      write_atomic(argv[i + 1], reference_markdown(registry));
    } else if (what == "--luacats") {
      write_atomic(argv[i + 1], luacats_meta(registry));
    } else if (what == "--operators") {
      write_atomic(argv[i + 1], operator_table());
    } else if (what == "--commands") {
      write_atomic(argv[i + 1], to_json(command_table(), 1) + "\n");
    } else {
      throw usage_error("expected --table, --operators, --commands, --reference or --luacats, found " +
                        std::string(what));
    }
  }
  return true;
}

}  // namespace trainlab
