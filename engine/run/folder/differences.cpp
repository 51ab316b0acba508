#include <set>

#include "core/registry.h"
#include "run/flag.h"
#include "run/manifest.h"

namespace trainlab {

namespace {

std::string shown(const Value& value) {
  if (value.is_nil()) return "not declared";
  if (!value.is_list()) return value.is_string() ? value.string() : to_json(value);
  std::string line;
  for (const Value& text : value.list()) line += (line.empty() ? "" : " ") + text.string();
  return line.empty() ? "none" : line;
}

std::string changed(const std::string& what, const std::string& recorded, const std::string& present) {
  return what + ": recorded " + recorded + ", now " + present;
}

// Adds a line for each setting that differs and whose difference means this; messages list what help lists first last.
void add_settings(std::vector<std::string>& lines, const Manifest& recorded, const Manifest& present,
                  const Registry& registry, Recorded::Difference meaning, const std::string& dashes) {
  const std::vector<Flag>& flags = common_flags();
  for (const Flag& flag : std::vector<Flag>(flags.rbegin(), flags.rend())) {
    if (!flag.recorded || flag.recorded->difference != meaning) continue;
    const auto of = [&](const Manifest& manifest) {
      const Value& value = manifest.setting(flag.name);
      return flag.recorded->compared ? flag.recorded->compared(value, {manifest.cores, registry}) : value;
    };
    const Value before = of(recorded), now = of(present);
    if (before == now) continue;
    lines.push_back(changed(dashes + flag.name, shown(before), shown(now)) +
                    (meaning == Recorded::Difference::told ? std::string(": ") + flag.recorded->effect : ""));
  }
}

}  // namespace

std::vector<std::string> differences(const Manifest& recorded, const Manifest& present, const Registry& registry) {
  std::vector<std::string> lines;
  if (recorded.recipe != present.recipe) lines.push_back(changed("recipe", recorded.recipe, present.recipe));
  for (const auto& [path, hash] : present.sources) {
    const auto before = recorded.sources.find(path);
    if (before == recorded.sources.end()) {
      lines.push_back("source " + path + " is new");
    } else if (before->second != hash) {
      lines.push_back("source " + path + " has changed");
    }
  }

  std::set<std::string> names;
  for (const auto& [name, value] : recorded.parameters) names.insert(name);
  for (const auto& [name, value] : present.parameters) names.insert(name);
  const Value before_map(recorded.parameters);
  const Value now_map(present.parameters);
  for (const std::string& name : names) {
    const Value& before = before_map[name];
    const Value& now = now_map[name];
    // TOML and the command line may differ in how they hold 1 and 1.0.
    const bool equal = before.is_number() && now.is_number() ? before.number() == now.number() : before == now;
    if (!equal) lines.push_back(changed("--" + name, shown(before), shown(now)));
  }

  const auto study_of = [](const Manifest& manifest) { return manifest.study.empty() ? "none" : manifest.study; };
  if (recorded.study != present.study) lines.push_back(changed("--study", study_of(recorded), study_of(present)));
  add_settings(lines, recorded, present, registry, Recorded::Difference::refused, "--");
  return lines;
}

std::vector<std::string> inexactness(const Manifest& recorded, const Manifest& present, const Registry& registry) {
  std::vector<std::string> lines;
  add_settings(lines, recorded, present, registry, Recorded::Difference::noted, "");
  if (recorded.trainlab != present.trainlab) {
    lines.push_back(changed("trainlab", recorded.trainlab, present.trainlab));
  }
  if (recorded.libtorch != present.libtorch) {
    lines.push_back(changed("LibTorch", recorded.libtorch, present.libtorch));
  }
  return lines;
}

std::vector<std::string> told_differences(const Manifest& recorded, const Manifest& present, const Registry& registry) {
  std::vector<std::string> lines;
  add_settings(lines, recorded, present, registry, Recorded::Difference::told, "");
  return lines;
}

}  // namespace trainlab
