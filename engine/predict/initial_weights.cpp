// init.weights: trained weights as initial values.
#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include "core/files.h"
#include "core/pattern.h"
#include "core/words.h"
#include "model/initial.h"
#include "predict/kept_weights.h"
#include "run_weights.h"
#include "tensor/named_tensors.h"
#include "tensor/safetensors.h"
#include "weights_options.h"

namespace trainlab {
namespace {

namespace fs = std::filesystem;

bool is_number(std::string_view part) {
  return !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == std::string_view::npos;
}

// The part of a name from `begin` to `end`, with 1 added to each number that stands between two dots of the whole name:
// "layer1.0.weight" becomes "layer1.1.weight".
std::string counted_from_1(std::string_view name, std::size_t begin, std::size_t end) {
  std::string counted;
  while (true) {
    const std::size_t dot = std::min(name.find('.', begin), end);
    const std::string_view piece = name.substr(begin, dot - begin);
    const bool is_whole = (begin == 0 || name[begin - 1] == '.') && (dot == name.size() || name[dot] == '.');
    counted += is_whole && is_number(piece) ? std::to_string(std::stoll(std::string(piece)) + 1) : std::string(piece);
    if (dot == end) return counted;
    counted += '.';
    begin = dot + 1;
  }
}

// How a file's names become those of the model: the options `names` and `rename`.
class Names {
 public:
  explicit Names(const Options& init) : init_(init), from_0_(init.string("names") == "pytorch") {
    if (!init.given("rename")) return;
    if (!init.is_keyed("rename")) {
      throw init.error("rename", "expected new names by pattern, found " + init.get("rename").brief())
          .hint("rename = { [\"backbone.*\"] = \"1.*\" }");
    }
    const Options table = init.keyed("rename");
    for (const std::string& pattern : table.names()) {
      const std::string& to = table.string(pattern);
      if (wildcards(pattern) != wildcards(to)) {
        throw init.error("rename", "expected \"" + to + "\" with the wildcards of \"" + pattern + "\"")
            .hint("each * and ? on the right is what the * or ? on the left stands for");
      }
      rules_.emplace_back(pattern, to);
    }
    std::ranges::stable_sort(rules_, std::greater(), [](const auto& rule) { return literal_characters(rule.first); });
  }

  StoredValues::Tensors apply(const NamedTensors& stored) const {
    NamedTensors named;
    std::map<std::string, std::string> origins;
    std::set<std::string> used;
    for (const auto& [name, tensor] : stored) {
      const std::string now = of(name, used);
      if (!named.emplace(now, tensor).second) {
        throw init_.error("rename", "both " + origins[now] + " and " + name + " become " + now);
      }
      origins[now] = name;
    }
    for (const auto& [pattern, to] : rules_) {
      if (used.contains(pattern)) continue;
      throw init_.error("rename", "nothing in the file matches \"" + pattern + "\"")
          .hint("the file has " + joined(stored, ", ", [](const auto& one) { return one.first; }));
    }
    std::erase_if(origins, [](const auto& one) { return one.first == one.second; });
    return {.by_name = std::move(named), .origins = std::move(origins)};
  }

 private:
  static std::string wildcards(const std::string& pattern) {
    std::string all;
    std::ranges::copy_if(pattern, std::back_inserter(all), [](char c) { return c == '*' || c == '?'; });
    return all;
  }
  std::string counted(std::string_view name, std::string_view part) const {
    const auto begin = static_cast<std::size_t>(part.data() - name.data());
    return from_0_ ? counted_from_1(name, begin, begin + part.size()) : std::string(part);
  }
  void check_longest(const std::string& name, const std::string& pattern) const {
    for (const auto& [other, to] : rules_) {
      const bool is_rival = other != pattern && literal_characters(other) == literal_characters(pattern);
      if (!is_rival || !matches_pattern(other, name)) continue;
      throw init_.error("rename", "\"" + pattern + "\" and \"" + other + "\" both match " + name)
          .hint("of several matching patterns the longest counts: make one of these longer");
    }
  }

  // Literal text on the right is the model's; only what a wildcard stands for comes from the file.
  std::string of(const std::string& name, std::set<std::string>& used) const {
    for (const auto& [pattern, to] : rules_) {
      const auto parts = pattern_parts(pattern, name);
      if (!parts) continue;
      check_longest(name, pattern);
      used.insert(pattern);
      std::string now;
      std::size_t part = 0;
      for (const char c : to) now += c == '*' || c == '?' ? counted(name, (*parts)[part++]) : std::string(1, c);
      return now;
    }
    return counted(name, name);
  }

  const Options& init_;
  bool from_0_;
  std::vector<std::pair<std::string, std::string>> rules_;
};

// Files of checkpoints have "model.2.weight" among other tensors, those of models written by hand "2.weight". In a file
// of PyTorch a model may have a part that is named model.
NamedTensors of_file(const Options& init, const fs::path& path) {
  NamedTensors all = load_safetensors(path).tensors;
  if (init.string("names") == "pytorch") return all;
  NamedTensors weights = tensors_below(all, "model.");
  return weights.empty() ? all : weights;
}

StoredValues::Tensors read(const Options& init) {
  const fs::path path = init.string("path");
  std::error_code ignored;
  const bool is_run = fs::is_directory(path, ignored);
  if (!is_run && init.given("model")) {
    throw init.error("model", "names a model of a run, and " + path.string() + " is not a run's folder");
  }
  try {
    const Names names(init);
    const auto model = init.given("model") ? std::optional(init.string("model")) : std::nullopt;
    return names.apply(is_run ? weights_of_run(path, model) : of_file(init, path));
  } catch (const Error& error) {
    if (!error.path().empty()) throw;  // of an option
    // The error is the recipe's, which asks for a missing run or file.
    Error wrong = init.error("path", error.message());
    throw wrong.hint(error.hint());
  }
}

}  // namespace

void register_initial_weights(Registry& registry) {
  registry.add(
      Entry("init.weights", "init",
            "Trained weights from a run or a file, matched by the names of parameters and buffers.")
          .with(Option("path",
                       "a run's folder, a folder in its stages/ or that of a trial, for the weights that were kept "
                       "there (of a sweep's best trial), or a .safetensors file")
                    .path()
                    .required()
                    .positional())
          .with(except_option())
          .with(model_option())
          .with(Option("names",
                       "\"pytorch\" for a file whose names count layers from 0, as PyTorch's nn.Sequential does: "
                       "\"0.weight\" becomes \"1.weight\", \"layer1.0.conv1.weight\" \"layer1.1.conv1.weight\"")
                    .choice({"trainlab", "pytorch"})
                    .or_default("trainlab"))
          .with(Option(
                    "rename",
                    "new names by patterns of the file's names; each * and ? on the right takes what the * or ? on the "
                    "left has matched: { [\"backbone.*\"] = \"1.*\" }. Of several patterns the longest counts")
                    .string()
                    .keyed())
          .with(partial_option())
          .example("init.weights { \"runs/pretrained/001\", except = { \"5.*\" } }")
          .note("A value for the option init of lab.fit. Alone it sets all parameters and buffers; in a table by "
                "pattern it sets those whose names match the pattern. Each of them must be in the file, under the same "
                "name and with the same shape; other tensors in the file are ignored."),
      StoredValues{.read = read});
}

}  // namespace trainlab
