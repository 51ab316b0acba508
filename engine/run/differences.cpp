#include <set>

#include "run/manifest.h"

namespace trainlab {

namespace {

std::string shown(const Value& value) {
  if (value.is_nil()) return "not declared";
  return value.is_string() ? value.string() : to_json(value);
}

std::string joined(const std::vector<std::string>& texts) {
  std::string line;
  for (const std::string& text : texts) line += (line.empty() ? "" : " ") + text;
  return line.empty() ? "none" : line;
}

// How batches are prepared never changes results, so it may differ.
std::vector<std::string> that_count(const std::vector<std::string>& set) {
  std::vector<std::string> counting;
  for (const std::string& text : set) {
    const std::string left = text.substr(0, text.find('='));
    const std::string path = left.substr(left.find(':') + 1);  // STAGE:path, or only the path
    if (path != "loader.threads" && path != "loader.prefetch") counting.push_back(text);
  }
  return counting;
}

std::string changed(const std::string& what, const std::string& recorded, const std::string& present) {
  return what + ": recorded " + recorded + ", now " + present;
}

}  // namespace

std::vector<std::string> differences(const Manifest& recorded, const Manifest& present) {
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

  const std::vector<std::string> set_before = that_count(recorded.set);
  const std::vector<std::string> set_now = that_count(present.set);
  if (set_before != set_now) lines.push_back(changed("--set", joined(set_before), joined(set_now)));
  if (recorded.seed != present.seed) {
    lines.push_back(changed("--seed", std::to_string(recorded.seed), std::to_string(present.seed)));
  }
  return lines;
}

std::vector<std::string> inexactness(const Manifest& recorded, const Manifest& present) {
  std::vector<std::string> lines;
  const int threads_before = recorded.training_threads(), threads_now = present.training_threads();
  if (threads_before != threads_now) {
    lines.push_back(changed("threads", std::to_string(threads_before), std::to_string(threads_now)));
  }
  if (recorded.device != present.device) lines.push_back(changed("device", recorded.device, present.device));
  if (recorded.trainlab != present.trainlab) {
    lines.push_back(changed("trainlab", recorded.trainlab, present.trainlab));
  }
  if (recorded.libtorch != present.libtorch) {
    lines.push_back(changed("LibTorch", recorded.libtorch, present.libtorch));
  }
  return lines;
}

}  // namespace trainlab
