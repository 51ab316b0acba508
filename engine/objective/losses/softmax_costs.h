// The cross-entropy of labels under the softmax of scores in one pass over the scores, on the CPU: LibTorch's
// log_softmax and nll_loss go over them several times, and take four times as long where the classes are few.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace trainlab {

// Whether softmax_costs() takes these tensors.
bool takes_softmax_costs(const at::Tensor& scores, const at::Tensor& labels);

// log Σ exp(scores[i]) − scores[i][labels[i]] for each row i, and 0 where the label is `ignored`. scores: float32
// [N, C] on the CPU; labels: int64 [N]. Gradients go to the scores. The bits do not depend on the number of threads.
// c10::IndexError for a label that is neither a class nor ignored. Any thread.
at::Tensor softmax_costs(const at::Tensor& scores, const at::Tensor& labels, std::int64_t ignored);

// The mean of softmax_costs() over all rows, with the same bits, sooner.
at::Tensor mean_softmax_cost(const at::Tensor& scores, const at::Tensor& labels, std::int64_t ignored);

}  // namespace trainlab
