#include "cli/arguments.h"
#include "cli/ending.h"
#include "report/texts.h"

namespace trainlab::cli {

Command list_command() {
  return {
      .name = "list",
      .line = "the runs in runs/, or in other folders",
      .text = "DIR is a folder that holds runs, at most three levels below it (default: runs). Writes nothing.\n",
      .words = {.operand = "DIR", .most = Words::any},
      .run =
          [](const Program&, const Arguments& given) {
            const std::vector<std::filesystem::path> folders(given.words.begin(), given.words.end());
            print(given.has("json") ? to_json(report::list_value(folders), 2) + "\n" : report::list_text(folders));
            return 0;
          },
  };
}

}  // namespace trainlab::cli
