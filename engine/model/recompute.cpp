#include "model/recompute.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "core/pattern.h"
#include "replay.h"

namespace trainlab {
namespace {

bool is_at_or_in(std::string_view place, std::string_view layer) {
  return place == layer || (place.starts_with(layer) && place.substr(layer.size()).starts_with('.'));
}

class Collector {
 public:
  Collector(const Model& model, const Options& options, std::string_view option)
      : model_(model), chain_(model.chain()), options_(options), option_(option) {}

  void add(const std::string& pattern) {
    if (const std::optional<ChainSegment> range = range_of(pattern)) {
      add_segment(*range, pattern);
    } else if (!add_matching(model_.root(), pattern)) {
      throw no_match(pattern);
    }
  }

  Recompute take() {
    std::ranges::sort(all_.segments, {}, &ChainSegment::first);
    return std::move(all_);
  }

 private:
  Error no_match(const std::string& pattern) const {
    Error error = options_.error(option_, "no layer matches \"" + pattern + "\"");
    return error.hint("layers are named by their places: this model goes through the layers " + chain_.front()->place +
                      " to " + chain_.back()->place + ", and \"2.*\" are the layers inside of layer 2");
  }

  // The layers of the chain that are at a place, or inside of the layer there; none if there are none.
  ChainSegment run_at(std::string_view place) const {
    const auto inside = [place](const Layer* layer) { return is_at_or_in(layer->place, place); };
    const auto first = std::ranges::find_if(chain_, inside);
    const auto end = std::find_if_not(first, chain_.end(), inside);
    return {.first = static_cast<std::size_t>(first - chain_.begin()), .count = static_cast<std::size_t>(end - first)};
  }

  // "3-6". A place may contain a "-" itself, where layers are shared under such a name.
  std::optional<ChainSegment> range_of(const std::string& pattern) const {
    for (std::size_t dash = pattern.find('-'); dash != std::string::npos; dash = pattern.find('-', dash + 1)) {
      const ChainSegment from = run_at(std::string_view(pattern).substr(0, dash));
      const ChainSegment to = run_at(std::string_view(pattern).substr(dash + 1));
      if (from.count == 0 || to.count == 0) continue;
      if (from.first > to.first) throw options_.error(option_, "\"" + pattern + "\" ends before it begins");
      return ChainSegment{.first = from.first, .count = to.first + to.count - from.first};
    }
    return std::nullopt;
  }

  void add_segment(const ChainSegment& segment, const std::string& pattern) {
    const auto end = [](const ChainSegment& one) { return one.first + one.count; };
    for (const ChainSegment& other : all_.segments) {
      if (segment.first < end(other) && other.first < end(segment)) throw twice(segment.first, pattern);
    }
    for (std::size_t i = segment.first; i < end(segment); ++i) {
      for (const std::string& layer : all_.layers) {
        if (is_at_or_in(layer, chain_[i]->place)) throw twice(i, pattern);
      }
    }
    all_.segments.push_back(segment);
  }

  Error twice(std::size_t layer, const std::string& pattern) const {
    return options_.error(
        option_, "\"" + pattern + "\" names layers in " + chain_[layer]->path + " that are in another segment already");
  }

  // Whether the pattern matches a layer inside of this one.
  bool add_matching(const Layer& layer, const std::string& pattern) {
    bool found = false;
    for (const Layer* child : layer.children()) {
      if (!matches_pattern(pattern, child->place)) {
        found |= add_matching(*child, pattern);
        continue;
      }
      found = true;
      if (const ChainSegment run = run_at(child->place); run.count > 0) {
        add_segment(run, pattern);
      } else {
        add_inner(*child, pattern);
      }
    }
    return found;
  }

  void add_inner(const Layer& layer, const std::string& pattern) {
    const auto around =
        std::ranges::find_if(chain_, [&](const Layer* one) { return is_at_or_in(layer.place, one->place); });
    const auto number = static_cast<std::size_t>(around - chain_.begin());
    const bool is_covered = std::ranges::any_of(all_.segments, [number](const ChainSegment& one) {
      return one.first <= number && number < one.first + one.count;
    });
    const bool is_twice = std::ranges::any_of(all_.layers, [&](const std::string& other) {
      return is_at_or_in(layer.place, other) || is_at_or_in(other, layer.place);
    });
    if (is_covered || is_twice) throw twice(number, pattern);
    all_.layers.insert(layer.place);
  }

  const Model& model_;
  const std::vector<const Layer*> chain_;
  const Options& options_;
  std::string_view option_;
  Recompute all_;
};

template <class Use>
void for_each_named(const Layer& layer, const std::set<std::string, std::less<>>& places, const Use& use) {
  if (places.contains(layer.place)) return use(layer);
  for (const Layer* child : layer.children()) for_each_named(*child, places, use);
}

}  // namespace

namespace {

bool is_cheap(const Layer& layer) {
  return layer.children().empty() && layer.needs_gradient && layer.flops().forward == 0 && !layer.calls_function();
}

}  // namespace

std::vector<const Layer*> Model::chain() const { return chain_of(*root_); }

bool is_product(const Layer& layer) {
  return layer.children().empty() && (layer.linear().has_value() || layer.traits.is_convolution);
}

Recompute recompute_every(const Model& model, std::size_t size) {
  Recompute all;
  const std::size_t layers = model.chain().size();
  for (std::size_t first = 0; first + size < layers; first += size)
    all.segments.push_back({.first = first, .count = size});
  return all;
}

std::vector<std::size_t> segment_sizes(const Model& model) {
  std::vector<std::size_t> sizes;
  const std::size_t layers = model.chain().size();
  for (std::size_t count = 2; count <= layers; ++count) {
    const std::size_t size = (layers + count - 1) / count;
    if (sizes.empty() || size < sizes.back()) sizes.push_back(size);
  }
  return sizes;
}

Recompute recompute_cheap(const Model& model) {
  Recompute all;
  const std::vector<const Layer*> chain = model.chain();
  std::size_t cheap = 0;  // layers before this one
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (cheap > 0 && is_product(*chain[i])) all.segments.push_back({.first = i - cheap, .count = cheap + 1});
    cheap = is_cheap(*chain[i]) ? cheap + 1 : 0;
  }
  return all;
}

Recompute recompute_by_pattern(const Model& model, const Options& options, std::string_view option) {
  Collector collector(model, options, option);
  for (const Value& pattern : options.get(option).list()) collector.add(pattern.string());
  return collector.take();
}

double cost_again(const std::vector<const Layer*>& chain, const std::vector<ChainSegment>& segments,
                  std::span<const double> costs) {
  double sum = 0;
  for (const ChainSegment& segment : segments) {
    const std::size_t last = segment.first + segment.count - 1;
    for (std::size_t i = segment.first; i <= last; ++i)
      if (i < last || !is_product(*chain[i])) sum += costs[i];
    sum += cost_again(chain, segment.inner, costs);
  }
  return sum;
}

double flops_again(const Model& model, const Recompute& recompute) {
  const std::vector<const Layer*> chain = model.chain();
  std::vector<double> costs;
  for (const Layer* layer : chain) costs.push_back(layer->flops().forward);
  double sum = cost_again(chain, recompute.segments, costs);
  const auto add = [&sum](const Layer& layer) { sum += layer.flops().forward; };
  for_each_named(model.root(), recompute.layers, add);
  return sum;
}

void check_recomputable(const Model& model, const Recompute& recompute, const Options& options, std::string_view option,
                        bool device_thread) {
  const std::function<void(const Layer&)> check = [&](const Layer& layer) {
    for (const Layer* child : layer.children()) check(*child);
    if (!layer.calls_function()) return;
    if (device_thread) {
      throw options
          .error(option, layer.path + " is a function of the recipe, which a backward pass on this device cannot call")
          .hint("leave the layer out of memory.recompute, or train on the CPU");
    }
    if (layer.changes_values()) {
      throw options
          .error(option, layer.path + " changes values that its function uses, and would change them twice in a step")
          .hint("leave the layer out of memory.recompute, or let its function change nothing outside of itself");
    }
  };
  const std::vector<const Layer*> chain = model.chain();
  for (const ChainSegment& segment : recompute.segments) {
    for (std::size_t i = segment.first; i < segment.first + segment.count; ++i) check(*chain[i]);
  }
  for_each_named(model.root(), recompute.layers, check);
}

}  // namespace trainlab
