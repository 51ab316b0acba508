#include "model/model.h"

#include <algorithm>

#include "build.h"

namespace trainlab {

Model::Model(const Options& spec, const Shape& input) : input_(input) {
  const std::string path = spec.path().empty() ? "model" : spec.path();
  if (spec.entry().kind != "layer") {
    throw layer_error(path, spec.where(), "expected a layer, found " + spec.entry().name);
  }
  root_ = build_layer(tables_, spec, input, path, "", false);
}

std::int64_t Model::parameter_count() const { return static_cast<std::int64_t>(root_->own_parameters); }

double Model::kept_bytes(at::ScalarType type) const {
  KeptMemory memory(static_cast<double>(c10::elementSize(type)), input_);
  root_->count_kept(memory);
  memory.keep_current();
  return memory.bytes();
}

std::string Model::not_stackable() const {
  struct Search {
    static const Layer* first(const Layer& layer) {
      if (layer.stackable()) return nullptr;
      for (const Layer* child : layer.children()) {
        if (const Layer* found = first(*child)) return found;
      }
      return &layer;
    }
  };
  const Layer* found = Search::first(*root_);
  return found ? found->path : "";
}

at::Tensor Model::forward(const at::Tensor& x, const Pass& pass) const {
  const std::size_t leading = pass.members() > 0 ? 2 : 1;
  const at::IntArrayRef sizes = x.sizes();
  if (sizes.size() != leading + input_.size() || !std::equal(input_.begin(), input_.end(), sizes.begin() + leading) ||
      (leading == 2 && sizes[0] != pass.members())) {
    std::string expected = leading == 2 ? "[" + std::to_string(pass.members()) + ", batch" : "[batch";
    for (const std::int64_t n : input_) expected += ", " + std::to_string(n);
    throw layer_error(root_->path, root_->where,
                      "expected a batch of shape " + expected + "], found " + shape_text(sizes));
  }
  return forward_checked(*root_, x, pass);
}

}  // namespace trainlab
