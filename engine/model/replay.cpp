// How a segment forgets and remembers: autograd asks a hook to keep each tensor that an operator needs for its backward
// pass. In the first pass through a segment the hook keeps nothing but the tensor's number. When the backward pass asks
// for one of the numbers, the segment runs again; a second kind of hook then takes the tensors of that pass under the
// same numbers, and the operators of the first pass receive them. (torch/utils/checkpoint.py, _checkpoint_hook.)
//
// Only Python can install such hooks as documented; in C++ the engine of autograd is asked for them, so an engine of
// our own, which differs in nothing else, takes the place of the default one.
#include "replay.h"

#include <ATen/ThreadLocalState.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "build.h"
#include "chain.h"
#include "core/trace.h"
#include "model/layer_listener.h"
#include "model/recompute.h"
#include "offload_hooks.h"
#include "saved_version.h"

namespace trainlab {
namespace {

using torch::autograd::SavedVariable;
using torch::autograd::SavedVariableHooks;

class Frame;

// The segment that this thread is in, whether for the second time, and for the first time: the segment that is computed
// again and has this one within it.
struct Within {
  Frame* frame = nullptr;
  bool is_again = false;
  Frame* outer = nullptr;
};
thread_local constinit Within within;
thread_local constinit int no_stop = 0;

class Enter {
 public:
  explicit Enter(Within inner) : outer_(std::exchange(within, inner)) {}
  ~Enter() { within = outer_; }
  Enter(const Enter&) = delete;

 private:
  Within outer_;
};

// Spans and outputs of a second pass would be taken for those of a forward pass.
class Unheard {
 public:
  Unheard() : outer_(std::exchange(trace::listener, nullptr)) {}
  ~Unheard() { trace::listener = outer_; }
  Unheard(const Unheard&) = delete;

 private:
  TraceListener* outer_;
  NoLayerListener layers_;
};

// Leaves a second pass that has made all that is needed. It is no std::exception, so that nobody on the way takes it
// for an error.
struct Stop {};

struct Work {
  std::string path, where;  // of the first layer, or of a function of the recipe, for messages
  std::function<at::Tensor(const at::Tensor& x, const Pass& pass)> compute;
  std::vector<std::size_t> buffers;  // that `compute` may change
};

// A segment between its forward and its backward pass.
class Frame final : public std::enable_shared_from_this<Frame> {
 public:
  Frame(Work work, const at::Tensor& x, const Pass& pass)
      : work_(std::move(work)),
        input_(x, /*is_output=*/false),
        state_(pass.state),
        keys_(pass.keys.begin(), pass.keys.end()),
        columns_(pass.columns.begin(), pass.columns.end()),
        branches_(pass.branches.begin(), pass.branches.end()),
        training_(pass.training),
        updates_statistics_(pass.updates_statistics),
        drop_rates_(pass.drop_rates),
        recompute_(pass.recompute),
        infos_(pass.buffers),
        compute_(pass.compute) {
    const at::NoGradGuard no_gradients;
    for (const std::size_t slot : work_.buffers) buffers_.emplace_back(slot, state_.buffers[slot].clone());
    for (const auto* tensors : {&columns_, &branches_})
      for (const at::Tensor& tensor : *tensors) read_versions_.emplace_back(tensor);
  }

  at::Tensor run(const at::Tensor& x, const Pass& pass, Frame* outer) {
    const Enter enter({.frame = this, .is_again = false, .outer = outer});
    return work_.compute(x, pass);
  }

  // To be called before each layer of the first pass.
  void enter(const Layer& layer) { layer_ = &layer; }
  // The first pass keeps the number of a tensor, and its version.
  std::size_t number(const at::Tensor& tensor) {
    slots_.push_back({.sizes = tensor.sizes().vec(),
                      .type = tensor.scalar_type(),
                      .version = SavedVersion(tensor),
                      .layer = layer_});
    return slots_.size() - 1;
  }
  // The second pass takes the next tensor: itself, or a number in a segment within this one.
  void take(const at::Tensor& tensor, std::shared_ptr<Frame> inner = nullptr, std::size_t number = 0) {
    if (next_ == slots_.size() || tensor.sizes() != at::IntArrayRef(slots_[next_].sizes) ||
        tensor.scalar_type() != slots_[next_].type) {
      throw differs();
    }
    Slot& slot = slots_[next_++];
    if (slot.is_wanted) {
      if (inner) {
        slot.inner = std::move(inner);
        slot.number = number;
      } else {
        slot.tensor = tensor.detach();
      }
    }
    if (next_ == slots_.size() && no_stop == 0) throw Stop{};
  }

  at::Tensor give(std::size_t number) {
    if (within.frame == this) throw takes_gradients();
    Slot& slot = slots_[number];
    // The second pass changes tensors where the first one did.
    if (!slot.version.is_current()) {
      throw layer_error(slot.layer ? slot.layer->path : work_.path, slot.layer ? slot.layer->where : work_.where,
                        slot.version.complaint(slot.type, slot.sizes));
    }
    if (!slot.has_content()) run_again();
    const at::Tensor tensor = std::exchange(slot.tensor, {});
    const std::shared_ptr<Frame> inner = std::exchange(slot.inner, nullptr);
    return inner ? inner->give(slot.number) : tensor;
  }
  void forget(std::size_t number) {
    slots_[number].is_wanted = false;
    slots_[number].clear();
  }

  Error takes_gradients() const {
    return layer_error(work_.path, work_.where,
                       "takes gradients in its forward pass, and cannot be computed again for the backward pass")
        .hint("leave this layer out of memory.recompute");
  }

 private:
  struct Slot {
    Shape sizes;
    at::ScalarType type;
    SavedVersion version;  // of the first pass's tensor
    const Layer* layer;    // that kept it; null where none did
    bool is_wanted = true;
    at::Tensor tensor = {};
    std::shared_ptr<Frame> inner = nullptr;
    std::size_t number = 0;  // in `inner`

    bool has_content() const { return tensor.defined() || inner; }
    void clear() {
      tensor.reset();
      inner.reset();
    }
  };

  Error differs() const {
    return layer_error(work_.path, work_.where,
                       "computes something else when it is computed again for the backward pass")
        .hint("leave layers whose functions depend on what changes between two calls out of memory.recompute");
  }

  // A second pass reads the columns and branches that the first one has read.
  void check_read() const {
    auto version = read_versions_.begin();
    for (const auto* tensors : {&columns_, &branches_}) {
      for (const at::Tensor& tensor : *tensors) {
        if (!version++->is_current()) {
          throw layer_error(work_.path, work_.where,
                            std::prev(version)->complaint(tensor.scalar_type(), tensor.sizes()));
        }
      }
    }
  }

  void run_again() {
    check_read();
    next_ = 0;
    for (Slot& slot : slots_) slot.clear();
    ModelState state = state_;
    for (const auto& [slot, before] : buffers_) state.buffers[slot] = before.clone();
    std::vector<at::Tensor> branches = branches_;
    const Pass pass{.state = state,
                    .training = training_,
                    .keys = keys_,
                    .drop_rates = drop_rates_,
                    .updates_statistics = updates_statistics_,
                    .recompute = recompute_,
                    .columns = columns_,
                    .branches = branches,
                    .buffers = infos_,
                    .compute = compute_};
    const at::ThreadLocalStateGuard as_first(thread_);
    const Unheard unheard;
    const at::Tensor x = input_.unpack();
    const Enter enter({.frame = this, .is_again = true});
    try {
      work_.compute(x, pass);
    } catch (const Stop&) {
    }
    if (next_ != slots_.size()) throw differs();
  }

  Work work_;
  // A SavedVariable raises autograd's error if the input was changed in place after the first pass.
  SavedVariable input_;
  ModelState state_;
  std::vector<Key> keys_;
  std::vector<at::Tensor> columns_, branches_;
  std::vector<SavedVersion> read_versions_;                  // of columns and branches
  std::vector<std::pair<std::size_t, at::Tensor>> buffers_;  // copies from before the first pass
  bool training_, updates_statistics_;
  const DropRates* drop_rates_;
  const Recompute* recompute_;
  std::span<const BufferInfo> infos_;
  at::ScalarType compute_;
  at::ThreadLocalState thread_;  // gradient mode, mixed precision and the like in the first pass
  std::vector<Slot> slots_;
  const Layer* layer_ = nullptr;  // of the first pass
  std::size_t next_ = 0;          // slot that the second pass fills
};

// The hook of the first pass. `outer`: as in Within.
class Forget final : public SavedVariableHooks {
 public:
  Forget(std::shared_ptr<Frame> frame, Frame* outer) : frame_(std::move(frame)), outer_(outer) {}
  ~Forget() override {
    if (is_packed_) frame_->forget(number_);
  }
  void call_pack_hook(const at::Tensor& tensor) override {
    number_ = frame_->number(tensor);
    if (outer_) {
      outer_->take(tensor, frame_, number_);  // and there is nobody else to ask for the number
    } else {
      is_packed_ = true;
    }
  }
  at::Tensor call_unpack_hook() override {
    if (outer_) throw frame_->takes_gradients();
    return frame_->give(number_);
  }

 private:
  std::shared_ptr<Frame> frame_;
  Frame* outer_;
  std::size_t number_ = 0;
  bool is_packed_ = false;
};

// The hook of the second pass, whose graph nobody goes back through.
class Remember final : public SavedVariableHooks {
 public:
  explicit Remember(Frame* frame) : frame_(frame) {}
  void call_pack_hook(const at::Tensor& tensor) override { frame_->take(tensor); }
  at::Tensor call_unpack_hook() override { throw frame_->takes_gradients(); }

 private:
  Frame* frame_;
};

class HookingEngine final : public torch::autograd::Engine {
 public:
  static Engine& instance() {
    static HookingEngine engine;
    return engine;
  }
  std::unique_ptr<SavedVariableHooks> get_default_saved_variable_hooks() override {
    if (!within.frame) return offload_hooks();
    if (within.is_again) return std::make_unique<Remember>(within.frame);
    return std::make_unique<Forget>(within.frame->shared_from_this(), within.outer);
  }
};

at::Tensor run_segment(Work work, const at::Tensor& x, const Pass& pass) {
  // Within a segment that forgets everything there is nothing left to forget.
  if (!at::GradMode::is_enabled() || (within.frame && !within.is_again)) return work.compute(x, pass);
  std::shared_ptr<Frame> frame;
  {
    const Enter none({});  // the segment's input is kept
    frame = std::make_shared<Frame>(std::move(work), x, pass);
  }
  return frame->run(x, pass, within.frame);
}

// Before main(), because threads for devices are started once in a process, by the engine of the first backward pass.
[[maybe_unused]] const bool installed = [] {
  torch::autograd::set_default_engine_stub(&HookingEngine::instance);
  return true;
}();

std::vector<std::size_t> buffers_of(std::span<const Layer* const> layers) {
  std::vector<std::size_t> slots;
  for (const Layer* layer : layers) slots.insert(slots.end(), layer->buffer_slots.begin(), layer->buffer_slots.end());
  return slots;
}

// The chain that segments belong to, with what keeps its layers alive.
struct Layers {
  std::vector<const Layer*> chain;
  std::shared_ptr<const void> owner;
};

// Layers of the chain from `begin` up to `end`. The segments among them must outlive the backward pass.
at::Tensor run_layers(const std::shared_ptr<const Layers>& layers, std::size_t begin, std::size_t end,
                      std::span<const ChainSegment> segments, at::Tensor x, const Pass& pass) {
  for (std::size_t i = begin; i < end;) {
    if (segments.empty() || i < segments.front().first) {
      const Layer& layer = *layers->chain[i++];
      if (within.frame) within.frame->enter(layer);
      x = forward_checked(layer, x, pass);
      continue;
    }
    const ChainSegment& next = segments.front();
    const std::span own = std::span(layers->chain).subspan(next.first, next.count);
    const auto compute = [layers, &next](const at::Tensor& input, const Pass& now) {
      return run_layers(layers, next.first, next.first + next.count, next.inner, input, now);
    };
    const Layer& first = *own.front();
    x = run_segment({.path = first.path, .where = first.where, .compute = compute, .buffers = buffers_of(own)}, x,
                    pass);
    i += next.count;
    segments = segments.subspan(1);
  }
  return x;
}

void add_chain(const Layer& layer, std::vector<const Layer*>& chain) {
  if (!dynamic_cast<const ChainLayer*>(&layer)) {
    chain.push_back(&layer);
    return;
  }
  for (const Layer* child : layer.children()) add_chain(*child, chain);
}

}  // namespace

NoStop::NoStop() { ++no_stop; }
NoStop::~NoStop() { --no_stop; }

std::vector<const Layer*> chain_of(const Layer& root) {
  std::vector<const Layer*> chain;
  add_chain(root, chain);
  return chain;
}

at::Tensor forward_in_segments(const Layer& root, const at::Tensor& x, const Pass& pass,
                               std::shared_ptr<const void> owner) {
  const auto layers = std::make_shared<const Layers>(Layers{.chain = chain_of(root), .owner = std::move(owner)});
  const bool is_container = layers->chain.front() != &root;
  std::optional<Span> span;
  if (is_container) span.emplace(Phase::layer, root.path);
  const std::size_t end = layers->chain.size() - (pass.leaves_out_last ? 1 : 0);
  const std::span<const ChainSegment> none;
  const at::Tensor out = run_layers(layers, 0, end, pass.recompute ? pass.recompute->segments : none, x, pass);
  if (is_container || pass.leaves_out_last) tell_of_layer(root, x, pass.leaves_out_last ? at::Tensor() : out, pass);
  return out;
}

at::Tensor forward_again(const Layer& layer, const at::Tensor& x, const Pass& pass) {
  const auto compute = [&layer](const at::Tensor& input, const Pass& now) {
    return forward_in_own_type(layer, input, now);
  };
  return run_segment({.path = layer.path, .where = layer.where, .compute = compute, .buffers = layer.buffer_slots}, x,
                     pass);
}

at::Tensor computed_again(const std::string& path, const std::string& where,
                          std::function<at::Tensor(const at::Tensor&)> function, const at::Tensor& x) {
  static const ModelState without_model;
  const auto compute = [function = std::move(function)](const at::Tensor& input, const Pass&) {
    const NoStop whole;  // LuaJIT would take a stop for an error
    return function(input);
  };
  return run_segment({.path = path, .where = where, .compute = compute, .buffers = {}}, x,
                     {.state = without_model, .training = true, .keys = {}});
}

}  // namespace trainlab
