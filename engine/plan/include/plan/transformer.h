// The parameters and FLOPs of a transformer, as Hoffmann et al. 2022 (arXiv 2203.15556) count them.
#pragma once

namespace trainlab {

// The shape of a decoder whose keys, queries and values have width / heads numbers for each head. All members are whole
// numbers from 1.
struct Transformer {
  double layers = 0, width = 0, heads = 0, ffw = 0, vocabulary = 0, context = 0;
};

// The parameters of the paper's model of this shape. Each layer has biases, two normalisations, and a matrix of its own
// for relative positions. Only one matrix of vocabulary × width counts, that of the embedding or of the output. This
// count gives the numbers of table A4.
double parameters_of(const Transformer& transformer);

// The FLOPs of a training step on one sequence of `context` tokens: those of the forward pass, and twice as many for
// the backward pass (appendix F). Embedding and logits are left out, because only then the ratios to 6 N D are those of
// table A4.
double flops_per_sequence(const Transformer& transformer);

}  // namespace trainlab
