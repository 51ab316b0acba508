#include "model/model.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "build.h"
#include "core/trace.h"
#include "replay.h"

namespace trainlab {

namespace {

// Sizes for which a model keeps its layers, until all are forgotten.
constexpr std::size_t most_sizes = 256;

std::string path_of(const Options& spec) { return spec.path().empty() ? "model" : spec.path(); }

std::unique_ptr<Layer> build_root(LayerContext::Tables& tables, const Options& spec) {
  Signal incoming;
  incoming.nothing = true;
  if (const auto x = tables.columns.find("x"); x != tables.columns.end()) {
    incoming = x->second;
    tables.read.emplace_back("x");
  }
  return build_layer(tables, spec, incoming, path_of(spec), "", "");
}

Shape sample_of(const at::Tensor& column, std::size_t leading) {
  return {column.sizes().begin() + static_cast<std::ptrdiff_t>(leading), column.sizes().end()};
}

}  // namespace

struct Model::OtherSizes {
  std::mutex mutex;
  std::map<std::vector<Shape>, std::shared_ptr<const Sized>> known;  // by the samples' shapes in all columns
};

Model::~Model() = default;
Model::Model(Model&&) noexcept = default;

Model::Model(const Options& spec, Signals columns, LayerPrecision precision)
    : spec_(spec), other_sizes_(std::make_unique<OtherSizes>()) {
  if (spec.entry().kind != "layer") {
    throw layer_error(path_of(spec), spec.where(), "expected a layer, found " + spec.entry().name);
  }
  tables_.columns = std::move(columns);
  tables_.unmatched = precision.keep;
  tables_.precision = std::move(precision);
  root_ = build_root(tables_, spec_);
}

Error Model::wrong_batch(std::size_t column, at::IntArrayRef found, std::int64_t members) const {
  const std::string& name = tables_.read[column];
  std::string expected = members > 0 ? "[" + std::to_string(members) + ", batch" : "[batch";
  for (const std::int64_t n : tables_.columns.find(name)->second.shape) expected += ", " + std::to_string(n);
  return layer_error(root_->path, root_->where,
                     "expected a batch of shape " + expected + "]" + (name == "x" ? "" : " in column " + name) +
                         ", found " + shape_text(found));
}

std::shared_ptr<const Model::Sized> Model::sized_for(std::vector<Shape> shapes) const {
  auto& [mutex, known] = *other_sizes_;
  {
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(shapes); found != known.end()) return found->second;
  }
  // Without the lock: building asks functions of the recipe for shapes, and they may call this model.
  const auto sized = std::make_shared<Sized>();
  sized->tables.columns = tables_.columns;
  sized->tables.precision = tables_.precision;
  sized->tables.built = &tables_;
  for (std::size_t i = 0; i < shapes.size(); ++i) sized->tables.columns[tables_.read[i]].shape = shapes[i];
  sized->root = build_root(sized->tables, spec_);
  sized->tables.built = nullptr;  // the model may move
  const std::lock_guard lock(mutex);
  if (known.size() >= most_sizes) known.clear();
  return known.emplace(std::move(shapes), sized).first->second;
}

void Model::check_sizes(std::vector<Shape> samples) const { sized_for(std::move(samples)); }

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
  std::optional<std::size_t> other;  // the first column of other sizes than the model was built for
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Shape& sample = tables_.columns.find(tables_.read[i])->second.shape;
    const at::IntArrayRef sizes = columns[i].sizes();
    if (sizes.size() < leading || (leading == 2 && sizes[0] != pass.members()))
      throw wrong_batch(i, sizes, pass.members());
    if (!other && !std::equal(sample.begin(), sample.end(), sizes.begin() + leading, sizes.end())) other = i;
  }
  std::shared_ptr<const Sized> sized;
  if (other) {
    try {
      std::vector<Shape> shapes;
      for (const at::Tensor& column : columns) shapes.push_back(sample_of(column, leading));
      sized = sized_for(std::move(shapes));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::recipe) throw;
      throw wrong_batch(*other, columns[*other].sizes(), pass.members())
          .hint("other sizes are for models whose layers take them: " + error.path() + ": " + error.message());
    }
  }
  const bool has_x = !tables_.read.empty() && tables_.read[0] == "x";
  c10::SmallVector<at::Tensor, 4> branches(tables_.branches.size());
  Pass whole = pass;
  whole.columns = columns;
  whole.branches = {branches.data(), branches.size()};
  whole.buffers = tables_.buffers;
  whole.compute = tables_.precision.compute;
  const Layer& root = sized ? *sized->root : *root_;
  const at::Tensor x = has_x ? columns[0] : at::Tensor();
  const at::Tensor out = pass.recompute || pass.leaves_out_last ? forward_in_segments(root, x, whole, sized)
                                                                : forward_checked(root, x, whole);
  return whole.in_full(out).contiguous();  // a convolution puts channels last; losses and recipes may rely on the order
}

}  // namespace trainlab
