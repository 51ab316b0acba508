#include <array>

#include "cli/arguments.h"

namespace trainlab::cli {

namespace {

struct CommandHelp {
  const char* name;
  const char* line;  // in the program's help
  const char* usage;
  const char* text;
};

constexpr std::array<CommandHelp, 9> helps = {{
    {"run", "train what the recipe returns; `run` may be left out",
     "trainlab [run] RECIPE.lua [--PARAMETER VALUE…] [flags]",
     "Runs the recipe in runs/NAME/NNN, or in the folder given by --out; an unfinished run of the same recipe there "
     "is\n"
     "continued. `trainlab RECIPE.lua --help` shows the recipe's own parameters.\n"},
    {"check", "validate a recipe and show what it would run",
     "trainlab check RECIPE.lua [--step] [--PARAMETER VALUE…] [flags]",
     "Prints the model's tree, parameters, FLOPs and a memory estimate, and runs nothing.\n"
     "  --step           also one training and one validation step\n"},
    {"resume", "go on with an unfinished run", "trainlab resume RUN [--threads N] [--device D] [--json] [--quiet]",
     "Executes the recipe as it is stored in the run. Of a finished run the summary is printed.\n"},
    {"extend", "train a run longer than it was begun for", "trainlab extend RUN --epochs N | --steps N | --trials N",
     "  --epochs N       the new total of the last stage, a fit, in epochs\n"
     "  --steps N        or in steps\n"
     "  --trials N       the new total of the last stage, a sweep\n"},
    {"worker", "help with the trials of a run that goes on", "trainlab worker RUN [--threads N] [--device D] [--quiet]",
     "Takes trials of the run's sweep or ensemble until none is left, on the machine on which the run works; any number of\n"
     "them. A run's own workers are asked for with --workers N or in the recipe.\n"},
    {"predict", "what a trained model says of new inputs", "trainlab predict RUN --input FILE | --prompt TEXT [flags]",
     "RUN is a run folder; its fit's kept weights are used, and nothing in it is changed.\n"
     "  --input FILE     .csv as in training (the target is not needed), an array x as .npy, .npz, .safetensors,\n"
     "                   or a .jpg, .png or a folder of them\n"
     "  --output FILE    where to write (default: standard output)\n"
     "  --format F       csv or json (default csv)\n"
     "  --batch N        samples at a time (default 256)\n"
     "  --stage NAME     another fit than the one that the recipe returned\n"
     "  --model NAME     of a fit with several models: which\n"
     "  --prompt TEXT    of a language model: the beginning of a text, which it continues\n"
     "  --length N       tokens to add (default 200)\n"
     "  --temperature T  0: always the most probable token (default 0.8)\n"
     "  --top-k K        only the K most probable tokens\n"
     "  --top-p P        only the most probable tokens that together have probability P\n"
     "  --seed N         of the draws (default 1)\n"
     "  --json           one object: \"predictions\", a list as of --format json; \"text\" of a prompt; or \"output\"\n"
     "  --device D, --threads N, --quiet\n"},
    {"list", "the runs in runs/, or in other folders", "trainlab list [DIR…] [--json]",
     "DIR is a folder that holds runs, at most three levels below it (default: runs). Writes nothing.\n"},
    {"report", "how a run went", "trainlab report RUN… [--csv | --json | --html FILE]",
     "RUN is a run folder, or RUN/stages/NAME for one of its stages. Reading never disturbs a run that is under way.\n"
     "  --csv            of a fit a row per validation, of a sweep or an ensemble a row per trial\n"
     "  --json           of a fit summary.json; of a sweep or an ensemble all that the page shows, too\n"
     "  --html FILE      a page with charts that needs nothing but a browser\n"},
    {"help", "what a recipe can name", "trainlab help [NAME]",
     "NAME is an entry (nn.Linear, optim.AdamW, data:split), a group of them (nn, loss, data, ops) or a command.\n"
     "Without one: all entries by kind.\n"},
}};

constexpr const char* common_flags =
    "Flags, anywhere on the line; the first four say what a new run is, and mean nothing to one that is there:\n"
    "  --out DIR        the run's folder (default: the next free runs/NAME/NNN)\n"
    "  --seed N         of all that is random (default 1)\n"
    "  --set PATH=VALUE an option of the returned stage (optim.lr=0.01), or STAGE:PATH=VALUE of another\n"
    "  --params FILE    a recipe's parameters from a TOML file; the command line wins\n"
    "  --device D       auto, cpu, cuda or cuda:N\n"
    "  --threads N      threads of one training (default: all usable cores)\n"
    "  --json           exactly one JSON object on standard output\n"
    "  --quiet          no progress on standard error\n"
    "  --stdlib DIR     the recipe language's Lua part from a folder instead of the built-in one\n";

}  // namespace

std::string program_help() {
  std::string text =
      "trainlab trains what a short Lua recipe describes.\n"
      "\n"
      "  trainlab RECIPE.lua [--PARAMETER VALUE…] [flags]\n"
      "  trainlab COMMAND …\n"
      "\n"
      "Commands:\n";
  for (const CommandHelp& help : helps) {
    std::string name = help.name;
    name.resize(17, ' ');
    text += "  " + name + help.line + "\n";
  }
  return text + "\n" + common_flags +
         "  --help           of the program, a command (`trainlab resume --help`) or a recipe\n"
         "  --version\n"
         "\n"
         "Exit codes: 0 done or stopped, 1 the recipe or its data is wrong, 2 usage, 3 the run failed,\n"
         "130 interrupted, 143 terminated (both after a checkpoint).\n";
}

std::optional<std::string> command_help(const std::string& command) {
  for (const CommandHelp& help : helps) {
    if (command != help.name) continue;
    std::string text = std::string("  ") + help.usage + "\n\n" + help.text;
    if (command == "run" || command == "check") text += std::string("\n") + common_flags;
    return text;
  }
  return std::nullopt;
}

}  // namespace trainlab::cli
