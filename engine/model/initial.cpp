#include "model/initial.h"

#include <algorithm>
#include <any>
#include <numeric>
#include <optional>
#include <set>

#include "core/pattern.h"
#include "core/words.h"

namespace trainlab {

namespace {

std::string parameter_names(const Model& model) { return joined(model.parameters(), ", ", &ParameterInfo::name); }

Error no_match(const Model& model, const std::string& pattern, const Options& options, std::string_view option) {
  Error error = options.error(option, "no parameter matches \"" + pattern + "\"");
  return error.hint("this model has " + parameter_names(model));
}

// Positions of the parameters that match; at least one.
std::vector<std::size_t> matching(const Model& model, const std::string& pattern, const Options& options,
                                  std::string_view option) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < model.parameters().size(); ++i) {
    if (matches_pattern(pattern, model.parameters()[i].name)) found.push_back(i);
  }
  if (found.empty()) throw no_match(model, pattern, options, option);
  return found;
}

// Parameters, then buffers, of the model: what stored values can be for.
struct Target {
  std::string name;
  Shape shape;
};

std::vector<Target> targets_of(const Model& model) {
  std::vector<Target> all;
  for (const ParameterInfo& info : model.parameters()) all.push_back({info.name, info.shape});
  for (const BufferInfo& info : model.buffers()) all.push_back({info.name, info.shape});
  return all;
}

Initializer initializer_from(const at::Tensor& values, const Mixture& mixture, const Initializer& own) {
  if (mixture.own == 0) {
    return [values, mixture](const at::Tensor& out, Key) {
      out.copy_(values);
      if (mixture.stored != 1) out.mul_(mixture.stored);
    };
  }
  return [values, mixture, own](const at::Tensor& out, Key key) {
    own(out, key);
    out.mul_(mixture.own).add_(values.to(out.device()), mixture.stored);
  };
}

// Collects the tensors for which stored values are missing or have another shape, for one message.
class Misfits {
 public:
  // `option` says where the values come from.
  explicit Misfits(std::string option) : option_(std::move(option)) {}
  void add(const Target& target, const at::Tensor* found) {
    if (++count_ > shown) return;
    text_ += (text_.empty() ? "" : "; ") + target.name + " " + shape_text(target.shape) + ": found " +
             (found ? shape_text(found->sizes()) : "none of that name");
  }
  void take(const std::string& name) { taken_.insert(name); }

  // Raises the error about all misfits.
  void check(const Options& init, const StoredValues::Tensors& stored) const {
    if (count_ == 0) return;
    const std::string names =
        joined(stored.by_name, ", ", [&](const auto& one) { return described(stored, one.first); });
    throw init.error(option_, misfits())
        .hint(
            "`names = \"pytorch\"` is for files that count layers from 0, `rename` for other names; `except` and "
            "`partial` keep some of the model's own initial values. The file has " +
            names);
  }

  // The line about what was taken, if something was left on either side.
  std::optional<std::string> told(const Options& init, const StoredValues::Tensors& tensors) const {
    if (taken_.empty()) {
      Error error =
          init.error(option_, "none of the model's tensors are there under the same name and shape: " + text_);
      throw error.hint("the file has " + unused(tensors));
    }
    const std::string left = unused(tensors);
    if (count_ == 0 && left.empty()) return std::nullopt;
    return init
        .error(option_, std::to_string(taken_.size()) + " tensors are taken" + (count_ == 0 ? "" : "; " + misfits()) +
                            (left.empty() ? "" : "; not used of the file: " + left))
        .headline();
  }

 private:
  std::string misfits() const {
    return std::to_string(count_) + " of the model's tensors are missing or have another shape: " + text_ +
           (count_ > shown ? "; …" : "");
  }
  std::string unused(const StoredValues::Tensors& stored) const {
    std::string names;
    std::size_t count = 0;
    for (const auto& [name, tensor] : stored.by_name) {
      if (taken_.contains(name) || ++count > shown) continue;
      names += (names.empty() ? "" : ", ") + described(stored, name);
    }
    return names + (count > shown ? ", …" : "");
  }

  // "1.weight (0.weight in the file) [8, 4]"
  static std::string described(const StoredValues::Tensors& stored, const std::string& name) {
    const auto origin = stored.origins.find(name);
    return name + (origin == stored.origins.end() ? "" : " (" + origin->second + " in the file)") + " " +
           shape_text(stored.by_name.at(name).sizes());
  }

  static constexpr std::size_t shown = 6;
  std::string option_;
  std::size_t count_ = 0;
  std::string text_;
  std::set<std::string> taken_;
};

// Sets the initial values of the chosen targets. Returns the line about what was taken in part.
std::optional<std::string> take_stored(Model& model, const Options& init, const std::vector<Target>& targets,
                                       const std::vector<std::size_t>& chosen) {
  std::vector<std::string> except;
  if (init.given("except")) {
    for (const Value& pattern : init.get("except").list()) except.push_back(pattern.string());
  }
  for (const std::string& pattern : except) {
    if (std::none_of(targets.begin(), targets.end(),
                     [&](const Target& target) { return matches_pattern(pattern, target.name); })) {
      throw no_match(model, pattern, init, "except");
    }
  }
  const StoredValues& source = *stored_values(init);
  const StoredValues::Tensors stored = source.read(init);
  const NamedTensors& tensors = stored.by_name;
  const Mixture mixture = source.mixture ? source.mixture(init) : Mixture();
  const std::size_t parameters = model.parameters().size();
  Misfits misfits(source.option);
  for (const std::size_t i : chosen) {
    const Target& target = targets[i];
    if (std::any_of(except.begin(), except.end(),
                    [&](const std::string& pattern) { return matches_pattern(pattern, target.name); })) {
      continue;
    }
    const auto found = tensors.find(target.name);
    if (found == tensors.end() || found->second.sizes() != target.shape) {
      misfits.add(target, found == tensors.end() ? nullptr : &found->second);
      continue;
    }
    misfits.take(target.name);
    if (i < parameters) {
      model.set_initial(i, initializer_from(found->second, mixture, model.parameters()[i].initialize));
    } else {
      model.set_initial_buffer(i - parameters, found->second);
    }
  }
  if (init.boolean("partial")) return misfits.told(init, stored);
  misfits.check(init, stored);
  return std::nullopt;
}

std::vector<std::string> initialize_all(Model& model, const Options& options, std::string_view option) {
  const std::vector<Target> targets = targets_of(model);
  if (const Options init = options.child(option); stored_values(init)) {
    std::vector<std::size_t> all(targets.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const std::optional<std::string> line = take_stored(model, init, targets, all);
    return line ? std::vector{*line} : std::vector<std::string>();
  }
  for (std::size_t i = 0; i < model.parameters().size(); ++i) {
    if (targets[i].shape.size() >= 2) model.set_initial(i, initializer_of(options, option, targets[i].shape));
  }
  return {};
}

}  // namespace

Initializer initializer_of(const Options& options, std::string_view option, const Shape& shape) {
  const Options init = options.child(option);
  if (stored_values(init)) {
    throw options.error(option, init.entry().name + " goes by the names of a whole model's parameters")
        .hint("init.weights belongs into the option init of lab.fit");
  }
  return init.registry().implementation<InitFactory>(init.entry())(init, shape);
}

const StoredValues* stored_values(const Options& init) {
  return std::any_cast<StoredValues>(&init.entry().implementation);
}

const StoredValues* stored_for_whole(const Options& options, std::string_view option) {
  return options.given(option) && !options.is_keyed(option) ? stored_values(options.child(option)) : nullptr;
}

bool begins_with_stored(const Options& options, std::string_view option) {
  if (!options.is_keyed(option)) return stored_for_whole(options, option) != nullptr;
  const Options table = options.keyed(option);
  return std::ranges::any_of(
      table.names(), [&](const std::string& pattern) { return stored_values(table.child(pattern)) != nullptr; });
}

std::vector<std::string> initialize_by_pattern(Model& model, const Options& options, std::string_view option) {
  if (!options.given(option)) return {};
  if (!options.is_keyed(option)) return initialize_all(model, options, option);
  const Options table = options.keyed(option);
  const std::vector<Target> targets = targets_of(model);
  const std::size_t parameters = model.parameters().size();
  std::vector<std::string> chosen(targets.size());  // a pattern for each
  for (const std::string& pattern : table.names()) {
    const bool stored = stored_values(table.child(pattern)) != nullptr;
    bool matches = false;
    for (std::size_t i = 0; i < (stored ? targets.size() : parameters); ++i) {
      if (!matches_pattern(pattern, targets[i].name)) continue;
      matches = true;
      const std::size_t before = chosen[i].empty() ? 0 : literal_characters(chosen[i]);
      const std::size_t now = literal_characters(pattern);
      if (!chosen[i].empty() && before == now) {
        throw options.error(option, "\"" + chosen[i] + "\" and \"" + pattern + "\" both match " + targets[i].name)
            .hint("of several matching patterns the longest counts: make one of these longer");
      }
      if (chosen[i].empty() || now > before) chosen[i] = pattern;
    }
    if (!matches) throw no_match(model, pattern, options, option);
  }
  std::vector<std::string> lines;
  for (const std::string& pattern : table.names()) {
    std::vector<std::size_t> own;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (chosen[i] == pattern) own.push_back(i);
    }
    if (const Options init = table.child(pattern); stored_values(init)) {
      if (const auto line = take_stored(model, init, targets, own)) lines.push_back(*line);
      continue;
    }
    for (const std::size_t i : own) model.set_initial(i, initializer_of(table, pattern, targets[i].shape));
  }
  return lines;
}

NamedTensors initial_optimizer(const Options& options, std::string_view option) {
  if (!options.is_keyed(option)) {
    const StoredValues* source = stored_for_whole(options, option);
    return source && source->optimizer ? source->optimizer(options.child(option)) : NamedTensors();
  }
  const Options table = options.keyed(option);
  for (const std::string& pattern : table.names()) {
    const Options init = table.child(pattern);
    const StoredValues* source = stored_values(init);
    if (source && source->optimizer && !source->optimizer(init).empty()) {
      throw init.error("optimizer", "the state is that of all parameters, and this is a part of the model")
          .hint("init = " + init.entry().name + " { … } takes the weights of the whole model");
    }
  }
  return {};
}

namespace {

// Whether a layer has parameters and all of them are frozen; `layer` is the beginning of their names, "2.".
bool is_frozen(const Model& model, std::string_view layer) {
  bool any = false;
  for (const ParameterInfo& info : model.parameters()) {
    if (!info.name.starts_with(layer)) continue;
    if (info.trains) return false;
    any = true;
  }
  return any;
}

}  // namespace

void freeze_by_pattern(Model& model, const Options& options, std::string_view option) {
  if (!options.given(option)) return;
  for (const Value& pattern : options.get(option).list()) {
    for (const std::size_t i : matching(model, pattern.string(), options, option)) model.freeze(i);
  }
  const auto& parameters = model.parameters();
  if (std::none_of(parameters.begin(), parameters.end(), [](const ParameterInfo& info) { return info.trains; })) {
    throw options.error(option, "freezes all parameters, and nothing is left to train");
  }
  for (std::size_t i = 0; i < model.buffers().size(); ++i) {
    const std::string& name = model.buffers()[i].name;
    const auto matches = [&](const Value& pattern) { return matches_pattern(pattern.string(), name); };
    if (std::ranges::any_of(options.get(option).list(), matches) ||
        is_frozen(model, std::string_view(name).substr(0, name.rfind('.') + 1))) {
      model.freeze_buffer(i);
    }
  }
}

}  // namespace trainlab
