#include "plan/transformer.h"

namespace trainlab {

double parameters_of(const Transformer& t) {
  const double attention = 3 * t.width * t.width + 3 * t.width;
  const double positions = t.width * t.width + 2 * t.width;
  const double output = t.width * t.width + t.width;
  const double dense = 2 * t.width * t.ffw + t.ffw + t.width;
  const double normalisations = 2 * 2 * t.width;
  return t.layers * (attention + positions + output + dense + normalisations) + 2 * t.width + t.width * t.vocabulary;
}

double flops_per_sequence(const Transformer& t) {
  const double s = t.context;
  const double projections = 2 * 3 * s * t.width * t.width;
  const double logits = 2 * s * s * t.width;
  const double softmax = 3 * t.heads * s * s;
  const double reduction = 2 * s * s * t.width;
  const double output = 2 * s * t.width * t.width;
  const double dense = 2 * s * 2 * t.width * t.ffw;
  return 3 * t.layers * (projections + logits + softmax + reduction + output + dense);
}

}  // namespace trainlab
