// The second forward pass through layers, which gives the backward pass what the first one did not keep.
#pragma once

#include <memory>
#include <vector>

#include "model/layer.h"

namespace trainlab {

// The layers of Model::chain().
std::vector<const Layer*> chain_of(const Layer& root);

// A pass through the root layer by layer, in the segments of pass.recompute. `owner` keeps the layers alive until the
// backward pass has ended; null where somebody else does.
at::Tensor forward_in_segments(const Layer& root, const at::Tensor& x, const Pass& pass,
                               std::shared_ptr<const void> owner);

// A pass through one layer, which is computed again for the backward pass.
at::Tensor forward_again(const Layer& layer, const at::Tensor& x, const Pass& pass);

// While the object lives, a second pass of this thread is not stopped when it has made all that is needed: it is inside
// of code that an exception must not leave.
class NoStop {
 public:
  NoStop();
  ~NoStop();
  NoStop(const NoStop&) = delete;
};

}  // namespace trainlab
