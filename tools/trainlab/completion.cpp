// Makes, from the records of the commands, the scripts with which shells complete command lines of `trainlab`.
#include <set>
#include <stdexcept>

#include "cli/command.h"
#include "core/words.h"

namespace trainlab::cli {

namespace {

// A case of the function below, which sets the offered words.
std::string offer(const std::string& pattern, const std::vector<std::string>& words, FlagType::Names names) {
  const char* kind = names == FlagType::Names::files ? "files" : names == FlagType::Names::folders ? "folders" : "";
  return "    " + pattern + ") offers='" + joined(words, " ") + "' names='" + kind + "' ;;\n";
}

std::string flag_words(const Command* command) {
  std::vector<std::string> words;
  for (const Flag& flag : flags_of(command)) words.push_back("--" + flag.name);
  return joined(words, " ");
}

// The cases for the values of flags: one case for each flag that takes a value.
std::string value_cases(std::span<const Command> commands) {
  std::string text;
  std::set<std::string> done;
  const auto add = [&](const std::vector<Flag>& flags) {
    for (const Flag& flag : flags) {
      if (flag.type.operand.empty() || !done.insert(flag.name).second) continue;
      text += offer("--" + flag.name, flag.type.words, flag.type.names);
    }
  };
  add(common_flags());
  for (const Command& command : commands) add(command.flags);
  return text;
}

std::vector<std::string> names_of_all(std::span<const Command> commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  return names;
}

// The text of a shell function that both shells understand. Its arguments are the words before the word that is
// completed. The function sets `offers`, the words that may stand there, and `names`, which tells whether names of
// files or folders may stand there too.
std::string offering(std::span<const Command> commands) {
  const std::vector<std::string> names = names_of_all(commands);
  std::string flags, words, pattern, by_default;
  for (const Command& command : commands) {
    if (command.is_default) by_default = command.name;
    pattern += (pattern.empty() ? "" : "|") + command.name;
    flags += "    " + command.name + ") flags='" + flag_words(&command) + "' ;;\n";
    const Words& own = command.words;
    const bool names_commands = own.names == FlagType::Names::nothing && own.offers.empty();
    // The choices are offered beside files after the first word too, where they do no harm.
    words += offer(command.name, !own.choices.empty() ? own.choices : names_commands ? names : own.offers, own.names);
  }
  return "_trainlab_offers() {\n"
         "  local word before= command=\n"
         "  for word in \"$@\"; do\n"
         "    before=$word\n"
         "    [ -n \"$command\" ] && continue\n"
         "    case $word in\n"
         "      " +
         pattern +
         ") command=$word ;;\n"
         "      *.lua) command=" +
         by_default +
         " ;;\n"
         "    esac\n"
         "  done\n"
         "  flags='" +
         flag_words(nullptr) +
         "'\n"
         "  case $command in\n" +
         flags +
         "  esac\n"
         "  case $before in\n" +
         value_cases(commands) +
         "    *) case $command in\n"
         "    '') offers='" +
         joined(names, " ") + "' names='files' ;;\n" + words +
         "    esac ;;\n"
         "  esac\n"
         "}\n";
}

// bash splits "--flag=value" in three words.
constexpr const char* bash_function = R"(_trainlab() {
  local IFS=$' \t\n' word=${COMP_WORDS[COMP_CWORD]} last=$COMP_CWORD offers= names= flags=
  [ "$word" = '=' ] && word=
  [ "${COMP_WORDS[COMP_CWORD-1]}" = '=' ] && last=$((COMP_CWORD - 1))
  _trainlab_offers "${COMP_WORDS[@]:1:last-1}"
  COMPREPLY=()
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$word"))
    return
  fi
  COMPREPLY=($(compgen -W "$offers" -- "$word"))
  IFS=$'\n'
  [ "$names" = files ] && COMPREPLY+=($(compgen -f -- "$word"))
  [ "$names" = folders ] && COMPREPLY+=($(compgen -d -- "$word"))
}
complete -o filenames -F _trainlab trainlab
)";

// In a file in zsh's fpath, the whole script is the body of the function with the file's name, which the first
// completion calls.
constexpr const char* zsh_function = R"(_trainlab() {
  local offers= names= flags=
  _trainlab_offers "${(@)words[2,CURRENT-1]}"
  if [[ ${words[CURRENT]} == -* ]]; then
    compadd -- ${=flags}
    return
  fi
  compadd -- ${=offers}
  [[ $names == files ]] && _files
  [[ $names == folders ]] && _files -/
  return 0
}
compdef _trainlab trainlab
[ "${funcstack[1]}" != _trainlab ] || _trainlab "$@"
)";

}  // namespace

std::string completion_script(std::span<const Command> commands, const std::string& shell) {
  if (shell != "bash" && shell != "zsh") throw std::logic_error("no completion for " + shell);
  const std::string head = shell == "zsh" ? "#compdef trainlab\n" : "";
  return head + "# Completion of `trainlab` for " + shell + ": source <(trainlab completion " + shell + ")\n" +
         offering(commands) + (shell == "bash" ? bash_function : zsh_function);
}

}  // namespace trainlab::cli
