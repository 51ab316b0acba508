#include "cli/arguments.h"
#include "cli/ending.h"
#include "core/error.h"

namespace trainlab::cli {

Command completion_command() {
  return {
      .name = "completion",
      .line = "a script with which a shell completes these lines",
      .text =
          "For bash, in ~/.bashrc:   source <(trainlab completion bash)\n"
          "For zsh, in ~/.zshrc after compinit:   source <(trainlab completion zsh)\n",
      .words = {.what = "one shell, bash or zsh",
                .least = 1,
                .most = 1,
                .names = FlagType::Names::nothing,
                .offers = {"bash", "zsh"}},
      .check =
          [](const Arguments& given) {
            const std::string& shell = given.words.front();
            if (shell == "bash" || shell == "zsh") return;
            throw usage_error("`trainlab completion` knows bash and zsh, found \"" + shell + "\"");
          },
      .run =
          [](const Program& program, const Arguments& given) {
            print_text(completion_script(program.commands, given.words.front()), given.has("json"), "completion");
            return 0;
          },
  };
}

}  // namespace trainlab::cli
