// The commands on a recipe that an engine does alone. Their records come from the table that the engine has written.
#include "attach.h"
#include "cli/arguments.h"
#include "cli/ending.h"
#include "cli/requests.h"

namespace trainlab::cli {

std::vector<Command> with_engine_commands(const Value& table) {
  std::vector<Command> commands = all_commands();
  auto place = commands.begin() + 1;
  for (const Value& row : table.list()) {
    Command command{.name = row["name"].string(), .line = row["line"].string(), .text = row["text"].string()};
    command.words = row["takes_second"] == Value(true) ? one_or_two_recipes() : one_recipe();
    std::vector<std::string> choices;
    for (const Value& choice : row["choices"].list()) choices.push_back(choice.string());
    if (!choices.empty()) command.words = choice_and_recipe(std::move(choices));
    for (const Value& flag : row["flags"].list()) command.flags.push_back(flag_from(flag));
    command.works = Command::Works::on_recipe;
    command.run = [](const Program&, const Arguments& given) { return supervise(request_for_recipe(given), given); };
    if (command.name == "profile") let_attach(command);
    place = commands.insert(place, std::move(command)) + 1;
  }
  return commands;
}

}  // namespace trainlab::cli
