#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <sstream>

#include "cli/arguments.h"
#include "cli/ending.h"
#include "core/words.h"
#include "report/search.h"
#include "report/texts.h"

namespace trainlab::cli {

namespace {

using report::Topic;

int output_width() {
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) return size.ws_col;
  return 100;
}

Topic topic_of(const Command& command) {
  Topic topic{"trainlab " + command.name, command.line, {}};
  for (const Flag& flag : flags_of(&command)) {
    // A flag that all commands have is found only once, with the command that trains.
    if (command.is_default || own_flag(command, flag.name))
      topic.parts.push_back({"flag", "--" + flag.name, help_of(flag)});
  }
  topic.parts.push_back({"", "", command.text});
  return topic;
}

void add_options(const std::vector<Option>& options, const std::string& before, Topic& topic) {
  for (const Option& option : options) {
    topic.parts.push_back({"option", before + option.name, option.doc});
    add_options(option.nested, before + option.name + ".", topic);
  }
}

Topic topic_of(const Entry& entry) {
  Topic topic{entry.name, entry.doc, {}};
  add_options(entry.options, "", topic);
  for (const std::string& text : {entry.notes, entry.result, entry.sample}) topic.parts.push_back({"", "", text});
  return topic;
}

// The place at which the next heading after a page's first line begins; the page's end if there is none. A line of C++
// may begin with "#" too, but "#include" is no heading.
std::size_t next_heading(std::string_view page) {
  constexpr std::size_t none = std::string_view::npos;
  for (std::size_t line = page.find("\n#"); line != none; line = page.find("\n#", line + 1)) {
    const std::size_t end = page.find_first_not_of('#', line + 1);
    if (end != none && page[end] == ' ') return line + 1;
  }
  return page.size();
}

// "docs/memory.md" for "memory"; null where no page has this name.
const Page* page_named(const Program& program, const std::string& name) {
  const auto found = std::ranges::find(program.pages, "docs/" + name + ".md", &Page::path);
  return found == program.pages.end() ? nullptr : &*found;
}

// The sections of a page, each with its heading: "docs/guide.md: Devices".
void add_sections(const Page& page, std::vector<Topic>& topics) {
  std::string_view rest = page.text;
  while (!rest.empty()) {
    const std::size_t next = next_heading(rest);
    std::string_view section = rest.substr(0, next);
    rest.remove_prefix(next);
    if (!section.starts_with('#')) continue;
    const std::size_t end = std::min(section.find('\n'), section.size());
    const std::string_view heading = section.substr(section.find_first_not_of("# "), end);
    section.remove_prefix(end);
    const std::string_view title = heading.substr(0, heading.find('\n'));
    topics.push_back({std::string(page.path) + ": " + std::string(title), "", {{"", "", std::string(section)}}});
  }
}

// Adds the operators whose names match. Other words are not searched, because all operators have the same ones.
void add_operators(std::string_view table, const std::string& word, std::vector<Topic>& topics) {
  const std::size_t begin = table.find("ops." + word + "\t");
  if (begin == std::string_view::npos) return;
  const std::string_view line = table.substr(begin, table.find('\n', begin) - begin);
  topics.push_back({"ops." + word, std::string(line.substr(line.find('\t') + 1)), {}});
}

std::vector<Topic> topics_of(const Program& program, const Registry& registry, const std::string& word) {
  std::vector<Topic> topics;
  for (const Entry* entry : registry.entries()) topics.push_back(topic_of(*entry));
  for (const Command& command : program.commands) topics.push_back(topic_of(command));
  for (const Page& page : program.pages) add_sections(page, topics);
  add_operators(program.operators, word, topics);
  return topics;
}

// The beginning of a page of the documentation, and other topics that its name finds.
std::string page_help(const Program& program, const Registry& registry, const Page& page, const std::string& name) {
  constexpr std::size_t most_others = 8;
  return std::string(page.text.substr(0, next_heading(page.text))) + "The whole page is " + std::string(page.path) +
         ".\n\n" + report::found_text(topics_of(program, registry, name), name, output_width(), most_others);
}

bool is_group(const Registry& registry, const std::string& name) {
  return std::ranges::any_of(registry.entries(), [&](const Entry* entry) {
    return entry->name.starts_with(name + ".") || entry->name.starts_with(name + ":");
  });
}

// A registry with only the entry of this name, if there is one. An entry stands in a line of its own in the table,
// between
// "[", "," and "]".
Registry entry_named(std::string_view table, const std::string& name) {
  const std::string wanted = "\"name\":\"" + name + "\"";
  std::size_t end = 0;
  for (std::size_t at = table.find(wanted); at != std::string_view::npos; at = table.find(wanted, end)) {
    const std::size_t begin = table.rfind('\n', at) + 1;
    end = table.find('\n', at);
    std::string_view line = table.substr(begin, end - begin);
    if (line.ends_with(',')) line.remove_suffix(1);
    Value entry = parse_json(line, "the table of entries");
    // A line may also match because an option of another entry has this name.
    if (entry["name"] == Value(name)) return Registry::from_value(Value::List{std::move(entry)});
  }
  return {};
}

// The help on `name`, which is the name of a command, an operator, an entry or a group, or a word to search for. Empty:
// help on all entries.
std::string help_on(const Program& program, const std::string& name) {
  if (const Command* command = command_named(program.commands, name)) return command_help(*command);
  for (const char* operators : {"ops", "lab.ops"}) {
    if (name == operators || name.starts_with(operators + std::string("."))) {
      return report::operator_help(program.operators, name, output_width());
    }
  }
  if (const Registry one = entry_named(program.entries, name); !one.entries().empty())
    return report::entry_help(one, name, output_width());
  const Registry registry = Registry::from_value(parse_json(program.entries, "the table of entries"));
  if (name.empty()) return report::entry_list(registry, output_width());
  if (const Page* page = page_named(program, name); page && !is_group(registry, name))
    return page_help(program, registry, *page, name);
  if (std::optional<std::string> text = report::find_entry_help(registry, name, output_width())) return *text;
  const std::string found = report::found_text(topics_of(program, registry, name), name, output_width());
  return found.empty() ? report::entry_help(registry, name, output_width()) : found;
}

std::string one_space_between_words(const std::string& text) {
  std::istringstream words(text);
  return joined(std::vector<std::string>(std::istream_iterator<std::string>(words), {}), " ");
}

}  // namespace

Command help_command() {
  return {
      .name = "help",
      .line = "what a recipe can name, and where a word is explained",
      .text =
          "NAME is an entry (nn.Linear, optim.AdamW, data:split), a group of them (nn, loss, data, ops), a command "
          "or a\n"
          "page of the documentation (memory, where a model does not fit; sweeps, health, precision).\n"
          "Any other words are searched for in entries, options, commands and the documentation. Without a NAME: all\n"
          "entries by kind.\n",
      .words = {.operand = "NAME", .what = "a name or words", .most = Words::any, .names = FlagType::Names::nothing},
      .flags = {{.name = "man", .type = switch_type(), .help = "the manual page of this program, for `man -l -`"}},
      .check =
          [](const Arguments& given) {
            if (given.has("man") && !given.words.empty())
              throw usage_error("`trainlab help --man` takes no name, found \"" + given.words.front() + "\"");
          },
      .run =
          [](const Program& program, const Arguments& given) {
            const std::string name = one_space_between_words(joined(given.words, " "));
            const std::string text = given.has("man") ? man_page(program.commands) : help_on(program, name);
            print_text(text, given.has("json"), "help");
            return 0;
          },
  };
}

}  // namespace trainlab::cli
