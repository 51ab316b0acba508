// Whether a block is an activation, a gradient or something else is known only at the end of the pass or step that made
// the block. So the events of a step are kept, and its ledger is computed from them at the end.
#include <algorithm>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>

#include "core/clock.h"
#include "train/memory_recorder.h"

namespace trainlab {
namespace {

using Sums = std::array<std::int64_t, memory_kinds>;

constexpr std::size_t curve_points = 256;

std::int64_t& of(Sums& sums, MemoryKind kind) { return sums[static_cast<std::size_t>(kind)]; }

MemoryKind kind_of(MemoryUse use) {
  switch (use) {
    case MemoryUse::script: return MemoryKind::script;
    case MemoryUse::weights: return MemoryKind::weights;
    case MemoryUse::optimizer: return MemoryKind::optimizer;
    case MemoryUse::averages: return MemoryKind::averages;
    case MemoryUse::batches: return MemoryKind::batches;
    case MemoryUse::other: break;
  }
  return MemoryKind::other;
}

// The kind of a block that outlives the step, by the phase that made it.
MemoryKind kept_kind(Phase phase) {
  switch (phase) {
    case Phase::fetch:
    case Phase::move: return MemoryKind::batches;
    case Phase::forward:
    case Phase::loss: return MemoryKind::activations;
    case Phase::backward:
    case Phase::gradients: return MemoryKind::gradients;
    case Phase::optimizer: return MemoryKind::optimizer;
    case Phase::average: return MemoryKind::averages;
    default: return MemoryKind::other;
  }
}

// Whether the engine works in this phase. Within a function of the recipe, the engine's memory is charged to the
// script, although it belongs to the phase.
bool is_of_engine(Phase phase) {
  return phase == Phase::forward || phase == Phase::loss || phase == Phase::backward || phase == Phase::optimizer;
}

}  // namespace

struct MemoryRecorder::Impl {
  struct Block {
    std::int64_t bytes;
    MemoryKind kind;
    bool is_open;  // whether the kind may still change
    Phase phase;   // phase that made the block
    std::size_t layer;
  };
  struct Event {
    double seconds;
    std::size_t block;
    std::int64_t change;
    Phase phase;
    std::size_t layer;
  };

  explicit Impl(MemoryKind left) : left_kind(left) {}

  const MemoryKind left_kind;
  mutable std::mutex mutex;
  const std::thread::id thread = std::this_thread::get_id();
  std::vector<Phase> phases;        // open phases, without layers
  std::vector<std::size_t> layers;  // open layers
  std::vector<std::string> paths{""};
  std::unordered_map<std::string, std::size_t> numbers{{"", 0}};
  std::size_t given_back = 0;  // the layer whose activations were freed last

  std::vector<Block> blocks;  // blocks from before the present step, then blocks of the step
  std::unordered_map<const void*, std::size_t> live;
  std::vector<Event> events;
  Sums unknown = {};  // bytes of blocks whose allocation was not heard
  Sums at_begin = {};
  double begin = 0;
  bool in_step = false;
  MemoryLedger latest;

  Phase phase() const { return phases.empty() ? Phase::step : phases.back(); }

  std::size_t number(std::string_view path) {
    const auto [found, is_new] = numbers.try_emplace(std::string(path), paths.size());
    if (is_new) paths.emplace_back(path);
    return found->second;
  }

  std::size_t layer_now() const {
    if (phase() == Phase::backward) return given_back;
    return layers.empty() ? 0 : layers.back();
  }

  void note(std::size_t block, std::int64_t change) {
    if (in_step) events.push_back({steady_seconds() - begin, block, change, phase(), layer_now()});
  }

  // Gives the live blocks of one phase, or of all phases, their final kind: that for which their phase keeps blocks.
  void settle(std::optional<Phase> only) {
    for (const auto& [address, number] : live) {
      Block& block = blocks[number];
      if (!block.is_open || (only && block.phase != *only)) continue;
      block.kind = kept_kind(block.phase);
      block.is_open = false;
    }
  }

  void begin_step() {
    std::vector<Block> kept;
    at_begin = unknown;
    for (auto& [address, number] : live) {
      kept.push_back(blocks[number]);
      // No backward pass of this step needs what the forward pass of an earlier step has left.
      if (kept.back().kind == MemoryKind::activations) kept.back().kind = left_kind;
      number = kept.size() - 1;
      of(at_begin, kept.back().kind) += kept.back().bytes;
    }
    blocks = std::move(kept);
    events.clear();
    given_back = 0;
    begin = steady_seconds();
    in_step = true;
  }

  void end_step() {
    in_step = false;
    settle(std::nullopt);
    latest = make_ledger();
  }

  MemoryLedger make_ledger() const {
    MemoryLedger ledger;
    std::int64_t now = 0;
    for (const std::int64_t bytes : at_begin) now += bytes;
    ledger.peak = now;
    std::size_t end = 0;  // number of events up to the peak
    std::vector<MemoryLedger::Point> points{{0, now}};
    for (std::size_t i = 0; i < events.size(); ++i) {
      now += events[i].change;
      points.push_back({events[i].seconds, now});
      if (now <= ledger.peak) continue;
      ledger.peak = now;
      end = i + 1;
    }
    ledger.bytes = at_begin;
    std::vector<std::int64_t> by_layer(paths.size(), 0);
    for (std::size_t i = 0; i < end; ++i) {
      const Block& block = blocks[events[i].block];
      of(ledger.bytes, block.kind) += events[i].change;
      if (block.kind == MemoryKind::activations) by_layer[block.layer] += events[i].change;
    }
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (by_layer[i] > 0) ledger.layers.push_back({i == 0 ? "output" : paths[i], by_layer[i]});
    }
    if (end > 0) {
      ledger.phase = events[end - 1].phase;
      ledger.layer = paths[events[end - 1].layer];
    }
    ledger.temporaries = temporaries();
    ledger.curve = thinned(points);
    return ledger;
  }

  std::vector<MemoryLedger::Temporaries> temporaries() const {
    std::array<std::int64_t, phase_count> now = {}, most = {};
    for (const Event& event : events) {
      const Block& block = blocks[event.block];
      if (block.kind != MemoryKind::temporaries) continue;
      const auto phase = static_cast<std::size_t>(block.phase);
      now[phase] += event.change;
      most[phase] = std::max(most[phase], now[phase]);
    }
    std::vector<MemoryLedger::Temporaries> all;
    for (std::size_t phase = 0; phase < phase_count; ++phase)
      if (most[phase] > 0) all.push_back({static_cast<Phase>(phase), most[phase]});
    return all;
  }

  // The curve with at most about `curve_points` points: the highest point of each of equal stretches, and the last.
  static std::vector<MemoryLedger::Point> thinned(const std::vector<MemoryLedger::Point>& points) {
    const std::size_t stretch = (points.size() + curve_points - 1) / curve_points;
    std::vector<MemoryLedger::Point> curve;
    for (std::size_t i = 0; i < points.size(); i += stretch) {
      const auto first = points.begin() + static_cast<std::ptrdiff_t>(i);
      const auto last = points.begin() + static_cast<std::ptrdiff_t>(std::min(i + stretch, points.size()));
      curve.push_back(*std::max_element(
          first, last, [](const MemoryLedger::Point& a, const MemoryLedger::Point& b) { return a.bytes < b.bytes; }));
    }
    if (curve.back().seconds != points.back().seconds) curve.push_back(points.back());
    return curve;
  }
};

MemoryRecorder::MemoryRecorder(const TensorMemory& before, MemoryKind left) : impl_(std::make_unique<Impl>(left)) {
  for (std::size_t use = 0; use < memory_uses; ++use)
    of(impl_->unknown, kind_of(static_cast<MemoryUse>(use))) += before.charged[use];
}

MemoryRecorder::~MemoryRecorder() = default;

void MemoryRecorder::began(Phase phase, std::string_view name) {
  const std::lock_guard lock(impl_->mutex);
  if (phase == Phase::layer) {
    impl_->layers.push_back(impl_->number(name));
    return;
  }
  if (phase == Phase::loss) impl_->layers.push_back(impl_->number("loss"));
  // What a function of the recipe makes within a pass, a loss for example, belongs to the pass.
  const bool is_in_pass = phase == Phase::callback && is_of_engine(impl_->phase());
  impl_->phases.push_back(is_in_pass ? impl_->phase() : phase);
  if (phase == Phase::step) impl_->begin_step();
}

void MemoryRecorder::ended(Phase phase, std::string_view) noexcept {
  const std::lock_guard lock(impl_->mutex);
  if (phase == Phase::layer || phase == Phase::loss) impl_->layers.pop_back();
  if (phase == Phase::layer) return;
  impl_->phases.pop_back();
  if (phase == Phase::forward || phase == Phase::loss || phase == Phase::backward) impl_->settle(phase);
  if (phase == Phase::step) impl_->end_step();
}

void MemoryRecorder::allocated(const void* block, std::int64_t bytes, MemoryUse use) noexcept {
  const std::lock_guard lock(impl_->mutex);
  const bool is_ours = std::this_thread::get_id() == impl_->thread;
  const Phase phase = impl_->phase();
  Impl::Block made{.bytes = bytes, .kind = kind_of(use), .is_open = false, .phase = phase, .layer = impl_->layer_now()};
  const bool is_of_script = use == MemoryUse::script && !is_of_engine(phase);
  if (!is_ours) {
    if (use == MemoryUse::other) made.kind = MemoryKind::batches;
  } else if (impl_->in_step && (use == MemoryUse::other || use == MemoryUse::script) && !is_of_script) {
    made.kind = MemoryKind::temporaries;
    made.is_open = true;
  }
  impl_->blocks.push_back(made);
  impl_->live.insert_or_assign(block, impl_->blocks.size() - 1);
  impl_->note(impl_->blocks.size() - 1, bytes);
}

void MemoryRecorder::freed(const void* block, std::int64_t bytes, MemoryUse use) noexcept {
  const std::lock_guard lock(impl_->mutex);
  const auto found = impl_->live.find(block);
  if (found == impl_->live.end()) {
    const MemoryKind kind = kind_of(use);
    of(impl_->unknown, kind) -= bytes;
    impl_->blocks.push_back({.bytes = bytes, .kind = kind, .is_open = false, .phase = impl_->phase(), .layer = 0});
    impl_->note(impl_->blocks.size() - 1, -bytes);
    return;
  }
  const Impl::Block& known = impl_->blocks[found->second];
  if (known.kind == MemoryKind::activations) impl_->given_back = known.layer;
  impl_->note(found->second, -bytes);
  impl_->live.erase(found);
}

MemoryLedger MemoryRecorder::ledger() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->latest;
}

}  // namespace trainlab
