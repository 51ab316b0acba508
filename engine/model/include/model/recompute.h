// Recompute: which activations of a model are not kept for the backward pass but computed again when it needs them.
//
// A segment is a run of layers of the model's chain (Model::chain). In the forward pass a segment keeps its input
// alone; what its operators would keep is made in the backward pass by going through the segment a second time, until
// all that was asked for is there. The operators, their order and their random keys are those of the first time, so
// gradients have the same bits. Running statistics are those of the first time too, because the second time works on
// copies of them. See docs/memory.md; the way to do this without changing the graph is that of torch.utils.checkpoint
// (use_reentrant = False).
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/registry.h"
#include "model/model.h"

namespace trainlab {

struct ChainSegment {
  std::size_t first = 0, count = 0;  // layers of the chain
  // Segments within this one, in order: when this segment is computed again, they keep their input alone, and are
  // computed again in turn.
  std::vector<ChainSegment> inner = {};
};

struct Recompute {
  std::vector<ChainSegment> segments;           // of the chain, in order and disjoint
  std::set<std::string, std::less<>> layers{};  // places of layers inside of others that are computed again alone

  bool empty() const { return segments.empty() && layers.empty(); }
};

// Segments of `size` layers. The last one is kept as it is: the backward pass begins with it, so that computing it
// again would take time and save nothing.
Recompute recompute_every(const Model& model, std::size_t size);
// Such sizes that no smaller one divides the chain into the same number of segments, the largest first.
std::vector<std::size_t> segment_sizes(const Model& model);

// Segments of layers without products (norms, activations, dropout), each with the nn.Linear or convolution that
// follows and keeps what they give. A second pass ends where this layer has got its input, so that no product is
// computed again: selective recomputation (Korthikanti et al. 2022, arXiv 2205.05198, section 5).
Recompute recompute_cheap(const Model& model);

// The segments that the patterns of an option name. "3-6" is one segment of the layers 3 to 6 of the chain, "2.3-2.6"
// of layers with these places. Any other pattern ("2.*", in which "*" stands for any characters) makes a segment of
// each layer whose place matches; of layers within each other the outermost counts. Error{recipe} for a pattern that
// matches nothing, and for segments that overlap.
Recompute recompute_by_pattern(const Model& model, const Options& options, std::string_view option);

// The tensor that a function gives for x, whose operators keep nothing for the backward pass: the pass calls the
// function a second time, on the thread that goes back, which must then draw the same random numbers. `path`, `where`:
// of the function, for messages. What the function holds lives until the backward pass has ended.
at::Tensor computed_again(const std::string& path, const std::string& where,
                          std::function<at::Tensor(const at::Tensor&)> function, const at::Tensor& x);

// Whether the layer is one product, which keeps its input before it computes: a second pass through a segment that ends
// with such a layer ends before the product.
bool is_product(const Layer& layer);

// The cost of the second passes through segments of the chain, given the cost of a pass through each of its layers.
// Segments within a segment are computed a third time, and so on.
double cost_again(const std::vector<const Layer*>& chain, const std::vector<ChainSegment>& segments,
                  std::span<const double> costs);

// The FLOPs per sample of the second passes; NaN with layers of the recipe's own.
double flops_again(const Model& model, const Recompute& recompute);

// Error{recipe} for a layer of these segments whose function changes values that it uses: a second call would change
// them again. `device_thread`: whether backward passes run on another thread than forward passes, where functions of
// the recipe cannot be called.
void check_recomputable(const Model& model, const Recompute& recompute, const Options& options, std::string_view option,
                        bool device_thread);

}  // namespace trainlab
