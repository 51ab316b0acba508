// data:augment.
#include <algorithm>
#include <cmath>

#include "augmentation.h"
#include "set/sources.h"

namespace trainlab {

namespace {

// The byte value that maps to 1.0: the inverse of the source's scale (before normalize()).
int white_of(const Column& x, const NamedTensors& state) {
  const auto normalised = state.find("x.std");
  const at::Tensor scale = x.scale.to(at::kDouble);
  const at::Tensor own = normalised == state.end() ? scale : scale.mul(normalised->second);
  return static_cast<int>(std::lround(1 / own.reshape({-1}).contiguous().const_data_ptr<double>()[0]));
}

DataParts augment(const Options& spec, const DataContext& context) {
  DataParts parts = open_source(spec.child("source"), context);
  if (parts.train.augmentation)
    throw spec.error("source", "the data is augmented already")
        .hint("put all entries into one list: they are applied in order");
  settle(parts);
  const Column* x = parts.train.data->find("x");
  const bool has_bytes = x && x->stored_type() == at::kByte && x->scale.defined();
  const bool has_images = has_bytes && x->sample_shape().size() == 3;
  const auto takes_noise = [&](const Options& entry) {
    return std::any_cast<NoiseFactory>(&entry.entry().implementation) && x && x->batch_type() == at::kFloat;
  };
  const std::vector<Options> entries = spec.children("entries");
  if (!has_images && (entries.empty() || !std::ranges::all_of(entries, takes_noise))) {
    throw spec
        .error("source", "the data has no images to augment; expected an x of bytes [channels, height, width]" +
                             (x ? ", found " + dtype_name(x->stored_type()) + " " + shape_text(x->sample_shape())
                                : std::string()))
        .hint("augment.noise alone takes numbers of any shape, in float32");
  }
  auto augmentation = std::make_shared<Augmentation>(x->sample_shape(), has_bytes ? white_of(*x, parts.state) : 1,
                                                     parts.train.data->classes);
  for (const Options& entry : entries) {
    if (const auto* make_noise = std::any_cast<NoiseFactory>(&entry.entry().implementation)) {
      augmentation->add((*make_noise)(entry));
    } else if (const auto* change = std::any_cast<ImageChangeFactory>(&entry.entry().implementation)) {
      augmentation->add((*change)(entry, *augmentation));
    } else {
      augmentation->add(entry.registry().implementation<MixingFactory>(entry.entry())(entry));
    }
  }
  const Column* y = parts.train.data->find("y");
  if (augmentation->mixes() && augmentation->classes() > 0 && y && !y->sample_shape().empty()) {
    throw spec.error(
        "entries", "mixup and cutmix mix one label per sample, found labels of shape " + shape_text(y->sample_shape()));
  }
  const std::int64_t low = parts.train.data->lowest_label, high = parts.train.data->highest_mark;
  if (augmentation->mixes() && augmentation->classes() > 0 && (low < 0 || high > 0)) {
    throw spec.error("entries",
                     "mixup and cutmix mix classes from 0, found a label " + std::to_string(low < 0 ? low : high));
  }
  parts.train.augmentation = std::move(augmentation);
  return parts;
}

}  // namespace

void register_augment_method(Registry& registry) {
  registry.add(
      Entry("data:augment", "data", "Changes the training part's images at random, anew in each epoch.")
          .with(Option("entries", "the changes, applied in this order").entry("augment").array())
          .returns("data")
          .example("data:augment { lab.augment.crop { padding = 4 }, lab.augment.flip() }")
          .note(
              "Comes after :split; validation and test parts stay as they are. The loader's threads change the stored "
              "bytes, before normalisation: black is 0; augment.noise takes other numbers too. Draws are keyed by "
              "(seed, epoch, sample), so a resumed run and any number of threads give the same images."),
      DataFactory{augment});
}

}  // namespace trainlab
