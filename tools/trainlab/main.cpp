// trainlab: the thin program. Help, lists and reports it does itself; for everything else it supervises an engine.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/ending.h"
#include "cli/requests.h"
#include "core/error.h"
#include "core/files.h"
#include "core/registry.h"
#include "embedded/table.h"
#include "report/texts.h"
#include "run/folder.h"
#include "run/manifest.h"
#include "run/supervisor.h"
#include "run/version.h"

namespace {

using namespace trainlab;
using namespace trainlab::cli;
using namespace trainlab::report;

// Descriptors 0 to 2 must be taken, or files opened later would be written to by whoever means the terminal.
void take_standard_descriptors() {
  while (true) {
    const int fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    if (fd > STDERR_FILENO) {
      ::close(fd);
      return;
    }
    ::fcntl(fd, F_SETFD, 0);
  }
}

int output_width() {
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) return size.ws_col;
  return 100;
}

std::string help(const Arguments& arguments) {
  if (!arguments.words.empty()) {
    const std::string& name = arguments.words.front();
    if (const auto text = command_help(name)) return *text;
    for (const char* operators : {"ops", "lab.ops"}) {
      if (name == operators || name.starts_with(operators + std::string("."))) {
        return operator_help(embedded::table::operators_txt(), name, output_width());
      }
    }
  }
  const Registry registry = Registry::from_value(parse_json(embedded::table::table_json(), "the table of entries"));
  return arguments.words.empty() ? entry_list(registry, output_width())
                                 : entry_help(registry, arguments.words.front(), output_width());
}

int supervise(const Request& request, bool json, std::optional<RunFolder> held = std::nullopt) {
  const Outcome outcome = Supervisor(Supervisor::find_engine()).run(request, std::move(held));
  return tell(outcome, json, request.command == Command::parameters ? "help" : "check");
}

int predict(const Arguments& arguments) {
  const Request request = request_for_prediction(arguments);
  const Outcome outcome = Supervisor(Supervisor::find_engine()).run(request, std::nullopt);
  if (!arguments.json || outcome.code != 0) return tell(outcome, arguments.json);
  Value object = Value::Map{{"kind", "predict"}, {"status", "done"}};
  if (request.prediction->output) {
    object.set("output", request.prediction->output->string());
  } else if (arguments.prompt) {
    const std::string& text = outcome.result["text"].string();
    object.set("text", text.substr(0, text.size() - 1));  // without the line break that ends it on a terminal
  } else {
    object.set("predictions", parse_json(outcome.result["text"].string(), "the predictions"));
  }
  print(to_json(object) + "\n");
  return 0;
}

// The last stage must be one that has such a length.
void check_extension(const Arguments& arguments, const std::filesystem::path& run) {
  const std::vector<StageRecord> stages = read_stages(run);
  if (stages.empty()) return;  // the engine says so
  const std::string& kind = stages.back().kind;
  if (kind == "fit" && arguments.trials) {
    throw usage_error("--trials: the last stage is a fit, which has no trials").hint("--epochs N or --steps N");
  }
  if (kind == "sweep" && !arguments.trials) {
    throw usage_error("the last stage is a sweep, whose length is a number of trials").hint("--trials N");
  }
  if (kind != "fit" && kind != "sweep") {
    throw usage_error("the last stage, \"" + stages.back().name + "\", is of kind " + kind + ": only its recipe knows its length");
  }
}

int go_on(const Arguments& arguments) {
  const std::filesystem::path run = find_run(arguments.words.front());
  RunFolder held = RunFolder::open(run);
  if (arguments.command == "resume" && is_finished(read_summary(run))) return tell_summary(run, arguments.json);
  if (arguments.command == "extend") check_extension(arguments, run);
  const Request request = request_for_run(arguments, run, read_manifest(run));
  return supervise(request, arguments.json, std::move(held));
}

int print_report(const Arguments& arguments) {
  const std::string& first = arguments.words.front();
  if (arguments.html) {
    write_atomic(*arguments.html, report_page(first));
    print(shown_path(*arguments.html) + "\n");
    return 0;
  }
  if (arguments.csv || arguments.json) {
    print(arguments.csv ? report_csv(first) : to_json(report_value(first), 2) + "\n");
    return 0;
  }
  std::string text;
  for (const std::string& word : arguments.words) text += (text.empty() ? "" : "\n\n") + report_text(word);
  print(text);
  return 0;
}

int perform(const Arguments& arguments) {
  const std::string& command = arguments.command;
  if (arguments.version) {
    print_text("trainlab " + std::string(version()) + "\n", arguments.json, "version");
    return 0;
  }
  const bool recipe = command == "run" || command == "check";
  if (arguments.help && !(recipe && !arguments.words.empty())) {
    print_text(command.empty() ? program_help() : *command_help(command), arguments.json, "help");
    return 0;
  }
  if (command.empty()) throw usage_error("expected a recipe or a command").hint("trainlab --help");
  if (recipe) return supervise(request_for_recipe(arguments), arguments.json);
  if (command == "resume" || command == "extend") return go_on(arguments);
  if (command == "worker") return supervise(request_for_worker(arguments), arguments.json);
  if (command == "predict") return predict(arguments);
  if (command == "report") return print_report(arguments);
  if (command == "help") {
    print_text(help(arguments), arguments.json, "help");
    return 0;
  }
  const std::vector<std::filesystem::path> folders(arguments.words.begin(), arguments.words.end());
  print(arguments.json ? to_json(list_value(folders), 2) + "\n" : list_text(folders));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  take_standard_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files (ulimit -f) is told like a full disk
  const std::vector<std::string> words(argv + 1, argv + argc);
  const bool json = asks_for_json(words);
  try {
    try {
      return perform(parse_arguments(words));
    } catch (const Error& error) {
      return tell(error, json);
    } catch (const std::exception& error) {
      return tell(run_error(std::string("internal error: ") + error.what()), json);
    }
  } catch (const Error&) {
    return static_cast<int>(ErrorKind::run);  // standard output cannot be written: nowhere to say so
  }
}
