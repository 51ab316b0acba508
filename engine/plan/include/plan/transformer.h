// The parameters and FLOPs of a transformer, as Hoffmann et al. 2022 (arXiv 2203.15556) count them.
#pragma once

namespace trainlab {

// A decoder whose keys, queries and values have width / heads numbers for each head; all whole numbers from 1.
struct Transformer {
  double layers = 0, width = 0, heads = 0, ffw = 0, vocabulary = 0, context = 0;
};

// The parameters of such a model of the paper: relative positions with a matrix of their own in each layer, biases, two
// normalisations in each layer, and one matrix of vocabulary × width, the embedding or the output's. This count
// gives table A4.
double parameters_of(const Transformer& transformer);

// A training step on one sequence of `context` tokens: forward, and backward for twice as much (appendix F). Embedding
// and logits are left out: only this gives table A4's ratios to 6 N D.
double flops_per_sequence(const Transformer& transformer);

}  // namespace trainlab
