// ModelState: made, copied, named.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include "build.h"
#include "model/model.h"
#include "tensor/free_memory.h"
#include "tensor/memory.h"

namespace trainlab {

namespace {

std::vector<at::Tensor> copies(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> out;
  out.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) out.push_back(tensor.detach().clone());
  return out;
}

Shape with_members(const Shape& shape, std::int64_t members) {
  Shape all;
  if (members > 0) all.push_back(members);
  all.insert(all.end(), shape.begin(), shape.end());
  return all;
}

// The layer with the most parameters of its own, and their number.
std::pair<const Layer*, double> largest(const Layer& layer) {
  auto own = static_cast<double>(layer.own_parameters);
  std::pair<const Layer*, double> found{&layer, 0};
  for (const Layer* child : layer.children()) {
    own -= static_cast<double>(child->own_parameters);
    if (const auto below = largest(*child); below.second > found.second) found = below;
  }
  return own > found.second ? std::pair{&layer, own} : found;
}

// All weights together, before the first is made: one after the other they might fill the machine before one fails.
void check_room(const Layer& root, double members, double value_bytes) {
  const auto [layer, values] = largest(root);
  const double all = members * value_bytes * static_cast<double>(root.own_parameters);
  std::string asked = memory_text(all) + " for the weights of the model";
  if (members > 1) asked += "s of " + number_text(members) + " trials side by side";
  try {
    check_free_memory(all, asked + ", of which this layer has " + memory_text(members * value_bytes * values));
  } catch (Error& error) {
    if (error.kind() == ErrorKind::run) {
      error.hint(members > 1 ? "fewer trials side by side (`stack`), or a smaller model"
                 : value_bytes > 2
                     ? "a smaller model, or `precision = { compute = \"bfloat16\", weights = \"bfloat16\" }`, "
                       "whose weights take 2 bytes each"
                     : "a smaller model");
    }
    throw at_layer(error, layer->path, layer->where);
  }
}

}  // namespace

ModelState ModelState::snapshot() const { return {copies(parameters), copies(buffers), members}; }

ModelState Model::initial_state(std::span<const Key> keys, at::ScalarType type, at::Device device, bool group) const {
  if (keys.empty() || (keys.size() > 1 && !group)) {
    throw std::logic_error("initial_state: expected one key, or a group");
  }
  const MemoryCharge charge(MemoryUse::weights);
  return with_torch_errors([&] {
    ModelState state;
    state.members = group ? static_cast<std::int64_t>(keys.size()) : 0;
    if (device.is_cpu()) {
      const auto value_bytes = static_cast<double>(c10::elementSize(type));
      check_room(*root_, static_cast<double>(keys.size()), value_bytes);
    }
    const bool has_values = !device.is_meta();  // without in a dry run
    const bool drawn_as_asked = type == at::kFloat || type == at::kDouble;
    for (const ParameterInfo& info : tables_.parameters) {
      const at::ScalarType stored = info.stored_in(type);
      if (!has_values) {
        const at::Tensor weight = at::empty(with_members(info.shape, state.members), at::device(device).dtype(stored));
        state.parameters.push_back(weight.requires_grad_(info.trains));
        continue;
      }
      const at::Tensor drawn = at::empty(with_members(info.shape, state.members), drawn_as_asked ? type : at::kFloat);
      for (std::size_t m = 0; m < keys.size(); ++m) {
        info.initialize(group ? drawn.select(0, static_cast<std::int64_t>(m)) : drawn,
                        keys[m].fold("init").fold(info.name));
      }
      state.parameters.push_back(drawn.to(device, stored).requires_grad_(info.trains));
    }
    for (std::size_t i = 0; i < tables_.buffers.size(); ++i) {
      const BufferInfo& info = tables_.buffers[i];
      state.buffers.push_back(
          at::empty(with_members(info.shape, state.members), at::device(device).dtype(info.stored_in(type)))
              .fill_(info.value));
      if (!has_values) continue;
      if (const auto given = buffer_values_.find(i); given != buffer_values_.end()) {
        state.buffers.back().copy_(given->second);
      }
    }
    for (const BufferInfo& info : tables_.buffers) {
      if (info.begin && has_values) info.begin(state);
    }
    return state;
  });
}

namespace {

// Calls use(file name, tensor) for each parameter and buffer, of one member if member ≥ 0.
template <class Use>
void for_named(const Model& model, const ModelState& state, std::int64_t member, Use&& use) {
  if (member >= 0 && member >= state.members) {
    throw std::logic_error("model state: no member " + std::to_string(member) + " of " + std::to_string(state.members));
  }
  const auto each = [&](const auto& infos, const std::vector<at::Tensor>& tensors) {
    for (std::size_t i = 0; i < infos.size(); ++i) {
      use("model." + infos[i].name, member >= 0 ? tensors[i].select(0, member) : tensors[i]);
    }
  };
  each(model.parameters(), state.parameters);
  each(model.buffers(), state.buffers);
}

}  // namespace

std::vector<std::pair<std::string, at::Tensor>> named_state(const Model& model, const ModelState& state,
                                                            std::int64_t member) {
  std::vector<std::pair<std::string, at::Tensor>> named;
  const at::NoGradGuard no_grad;
  for_named(model, state, member,
            [&](std::string name, const at::Tensor& tensor) { named.emplace_back(std::move(name), tensor.detach()); });
  return named;
}

void load_named_state(const Model& model, const ModelState& state, const NamedTensors& from, std::int64_t member) {
  for_named(model, state, member, [&](const std::string& name, const at::Tensor& tensor) {
    const auto found = from.find(name);
    if (found == from.end()) {
      throw recipe_error("expected a tensor " + name + " of shape " + shape_text(tensor.sizes()) +
                         ", found none of that name");
    }
    if (found->second.sizes() != tensor.sizes()) {
      throw recipe_error("expected " + name + " of shape " + shape_text(tensor.sizes()) + ", found " +
                         shape_text(found->second.sizes()))
          .hint("the weights belong to another model");
    }
  });
  const at::NoGradGuard no_grad;
  for_named(model, state, member,
            [&](const std::string& name, const at::Tensor& tensor) { tensor.copy_(from.at(name)); });
}

}  // namespace trainlab
