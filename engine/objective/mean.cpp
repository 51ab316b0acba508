#include "mean.h"

namespace trainlab {

at::Tensor SampleMean::by_sample(const at::Tensor& x, const BatchView& batch) {
  return batch.members == 0 ? x.reshape({batch.size, -1}) : x.reshape({batch.members, batch.size, -1});
}

at::Tensor SampleMean::weights(const at::Tensor& like, const BatchView& batch) const {
  if (!weight_column_) return {};
  at::Tensor weights = batch.columns[*weight_column_].to(like.scalar_type());
  // Shared by the members: [B]; a sample's shape may be [1].
  return weights.numel() == batch.size ? weights.reshape({batch.size}) : weights.reshape({batch.members, batch.size});
}

namespace {
LossValue quotient(const at::Tensor& sum, const at::Tensor& total) {
  LossValue value;
  value.value = sum.div(total.masked_fill(total.eq(0), 1));
  value.weight = total;
  return value;
}
}  // namespace

LossValue SampleMean::operator()(const at::Tensor& each, const BatchView& batch) const {
  const at::Tensor weight = weights(each, batch);
  if (!weight.defined()) {
    LossValue value;
    value.value = batch.members == 0 ? each.mean() : each.reshape({batch.members, -1}).mean(1);
    return value;
  }
  const at::Tensor samples = by_sample(each, batch).mean(-1);
  return quotient(samples.mul(weight).sum(-1), weight.expand_as(samples).sum(-1));
}

LossValue SampleMean::operator()(const at::Tensor& each, const at::Tensor& counts, const BatchView& batch) const {
  at::Tensor sums = by_sample(each, batch).sum(-1), totals = by_sample(counts, batch).sum(-1);
  if (const at::Tensor weight = weights(each, batch); weight.defined()) {
    sums = sums.mul(weight);
    totals = totals.mul(weight);
  }
  return quotient(sums.sum(-1), totals.sum(-1));
}

}  // namespace trainlab
