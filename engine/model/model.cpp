#include "model/model.h"

#include <algorithm>

#include "build.h"
#include "core/trace.h"

namespace trainlab {

Model::Model(const Options& spec, Signals columns) {
  const std::string path = spec.path().empty() ? "model" : spec.path();
  if (spec.entry().kind != "layer") {
    throw layer_error(path, spec.where(), "expected a layer, found " + spec.entry().name);
  }
  Signal incoming;
  incoming.nothing = true;
  if (const auto x = columns.find("x"); x != columns.end()) {
    incoming = x->second;
    tables_.read.emplace_back("x");
  }
  tables_.columns = std::move(columns);
  root_ = build_layer(tables_, spec, incoming, path, "", "");
}

std::int64_t Model::parameter_count() const { return static_cast<std::int64_t>(root_->own_parameters); }

double Model::kept_bytes(at::ScalarType type) const {
  KeptMemory memory(static_cast<double>(c10::elementSize(type)));
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

at::Tensor Model::forward(std::span<const at::Tensor> columns, const Pass& pass) const {
  const Span span(Phase::forward);
  const std::size_t leading = pass.members() > 0 ? 2 : 1;
  if (columns.size() != tables_.read.size()) {
    throw std::logic_error(root_->path + ": expected " + std::to_string(tables_.read.size()) + " columns, found " +
                           std::to_string(columns.size()));
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string& name = tables_.read[i];
    const Shape& sample = tables_.columns.find(name)->second.shape;
    const at::IntArrayRef sizes = columns[i].sizes();
    if (sizes.size() == leading + sample.size() && std::equal(sample.begin(), sample.end(), sizes.begin() + leading) &&
        (leading == 1 || sizes[0] == pass.members())) {
      continue;
    }
    std::string expected = leading == 2 ? "[" + std::to_string(pass.members()) + ", batch" : "[batch";
    for (const std::int64_t n : sample) expected += ", " + std::to_string(n);
    throw layer_error(root_->path, root_->where,
                      "expected a batch of shape " + expected + "]" + (name == "x" ? "" : " in column " + name) +
                          ", found " + shape_text(sizes));
  }
  const bool has_x = !tables_.read.empty() && tables_.read[0] == "x";
  c10::SmallVector<at::Tensor, 4> branches(tables_.branches.size());
  Pass whole = pass;
  whole.columns = columns;
  whole.branches = {branches.data(), branches.size()};
  whole.buffers = tables_.buffers;
  return forward_checked(*root_, has_x ? columns[0] : at::Tensor(), whole)
      .contiguous();  // a convolution puts channels last; losses and recipes may rely on the order
}

}  // namespace trainlab
