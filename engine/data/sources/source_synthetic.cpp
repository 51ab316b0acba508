// data.blobs, data.spirals, data.sine: synthetic sets. Sample i is drawn from a key of its own, so that the first n
// samples are the same whatever number is asked for.
#include <ATen/ops/empty.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "core/random/stream.h"
#include "set/sources.h"

namespace trainlab {

namespace {

Key key_of(const Options& spec, const DataContext& context) {
  return Key(static_cast<std::uint64_t>(seed_of(spec, context))).fold(spec.entry().name);
}

// make(i, stream, x, y) fills one sample.
template <class Target, class Make>
DataParts make_set(Key key, std::int64_t samples, std::int64_t features, std::int64_t classes, Make&& make) {
  at::Tensor x = at::empty({samples, features}, at::kFloat);
  at::Tensor y = classes > 0 ? at::empty({samples}, at::kLong) : at::empty({samples, 1}, at::kFloat);
  auto* input = x.mutable_data_ptr<float>();
  auto* target = y.mutable_data_ptr<Target>();
  for (std::int64_t i = 0; i < samples; ++i, input += features) {
    Stream stream(key.fold("sample").fold(static_cast<std::uint64_t>(i)));
    target[i] = make(i, stream, input);
  }
  Dataset set;
  set.columns = {{"x", x, {}, {}}, {"y", y, {}, {}}};
  set.size = samples;
  set.classes = classes;
  DataParts parts;
  parts.train = whole(std::move(set));
  return parts;
}

DataParts blobs(const Options& spec, const DataContext& context) {
  const Key key = key_of(spec, context);
  const std::int64_t features = spec.integer("features"), classes = spec.integer("classes");
  const double deviation = spec.number("deviation");
  std::vector<double> centres;
  Stream places(key.fold("centres"));
  for (std::int64_t i = 0; i < classes * features; ++i) centres.push_back(-10 + 20 * places.uniform());
  return make_set<std::int64_t>(key, spec.integer("samples"), features, classes,
                                [&](std::int64_t i, Stream& stream, float* x) {
                                  const std::int64_t label = i % classes;
                                  for (std::int64_t f = 0; f < features; ++f) {
                                    const double centre = centres[static_cast<std::size_t>(label * features + f)];
                                    x[f] = static_cast<float>(centre + deviation * stream.normal());
                                  }
                                  return label;
                                });
}

DataParts spirals(const Options& spec, const DataContext& context) {
  const std::int64_t classes = spec.integer("classes");
  const double noise = spec.number("noise"), turns = spec.number("turns");
  return make_set<std::int64_t>(key_of(spec, context), spec.integer("samples"), 2, classes,
                                [&](std::int64_t i, Stream& stream, float* x) {
                                  const std::int64_t label = i % classes;
                                  const double radius = stream.uniform();
                                  const double arm = static_cast<double>(label) / static_cast<double>(classes);
                                  const double angle = 2 * std::numbers::pi * (arm + turns * radius);
                                  x[0] = static_cast<float>(radius * std::cos(angle) + noise * stream.normal());
                                  x[1] = static_cast<float>(radius * std::sin(angle) + noise * stream.normal());
                                  return label;
                                });
}

DataParts sine(const Options& spec, const DataContext& context) {
  const double noise = spec.number("noise"), frequency = spec.number("frequency");
  return make_set<float>(key_of(spec, context), spec.integer("samples"), 1, 0,
                         [&](std::int64_t, Stream& stream, float* x) {
                           x[0] = static_cast<float>(-1 + 2 * stream.uniform());
                           const double angle = 2 * std::numbers::pi * frequency * x[0];
                           return static_cast<float>(std::sin(angle) + noise * stream.normal());
                         });
}

Option samples_option() {
  return Option("samples", "number of samples").integer().at_least(1).at_most(1e8).or_default(1000);
}
Option classes_option(int by_default) {
  return Option("classes", "number of classes, all with the same number of samples")
      .integer()
      .at_least(2)
      .at_most(1e6)
      .or_default(by_default);
}
Option noise_option(double by_default) {
  return Option("noise", "standard deviation of the noise").number().at_least(0).or_default(by_default);
}

}  // namespace

void register_source_synthetic(Registry& registry) {
  registry.add(Entry("data.blobs", "data",
                     "Normally distributed clouds of points, one for each class, around centres drawn from [-10, 10).")
                   .with(samples_option())
                   .with(classes_option(3))
                   .with(Option("features", "size of x").integer().at_least(1).at_most(1e6).or_default(2))
                   .with(Option("deviation", "standard deviation of a cloud").number().at_least(0).or_default(1.0))
                   .with(seed_option())
                   .returns("x float32 [features], y int64; one training part")
                   .example("lab.data.blobs { classes = 4 }:split { val = 0.2 }"),
               DataFactory{blobs});
  registry.add(
      Entry("data.spirals", "data", "Spiral arms round the origin in the plane, one for each class.")
          .with(samples_option())
          .with(classes_option(2))
          .with(noise_option(0.02))
          .with(Option("turns", "how often an arm winds round the origin").number().at_least(0).or_default(1.5))
          .with(seed_option())
          .returns("x float32 [2], y int64; one training part")
          .example("lab.data.spirals { samples = 2000, noise = 0.05 }:split { val = 0.2 }")
          .note("A point at radius r, uniform in [0, 1), lies at the angle 2π (class / classes + turns · r)."),
      DataFactory{spirals});
  registry.add(Entry("data.sine", "data", "A regression: y = sin(2π · frequency · x) + noise, x uniform in [-1, 1).")
                   .with(samples_option())
                   .with(noise_option(0.1))
                   .with(Option("frequency", "periods in one unit of x").number().more_than(0).or_default(1.0))
                   .with(seed_option())
                   .returns("x float32 [1], y float32 [1]; one training part")
                   .example("lab.data.sine { noise = 0 }:split { val = 0.2 }"),
               DataFactory{sine});
}

}  // namespace trainlab
