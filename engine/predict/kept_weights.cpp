#include "predict/kept_weights.h"

#include <utility>

#include "journal/checkpoint.h"
#include "tensor/named_tensors.h"

namespace trainlab {

KeptWeights read_kept(const std::filesystem::path& stage_folder, const ModelFile& model) {
  std::string warning;
  const std::optional<Checkpoint> checkpoint = CheckpointFolder::read_kept(stage_folder, [&](const Error& damage) {
    warning = "damage: " + damage.message() + "; the best weights, which are kept, are whole";
  });
  if (!checkpoint) {
    throw usage_error("there are no weights yet in " + stage_folder.string())
        .hint(
            "the first checkpoint is written at a validation when 10 s have passed, or as `checkpoint` says, and at "
            "the end");
  }
  KeptWeights kept{.weights = {}, .data = tensors_below(checkpoint->tensors, "data."), .warning = std::move(warning)};
  const bool best = model.keeps_best && checkpoint->best;
  const bool averaged = !best && checkpoint->info["averaged"] == Value(true);
  const std::string prefix = model.name.empty() ? "model." : "model." + model.name + ".";
  for (const auto& [name, tensor] : tensors_below(best ? checkpoint->best->tensors : checkpoint->tensors, prefix)) {
    const auto average = averaged ? checkpoint->tensors.find("ema." + name) : checkpoint->tensors.end();
    kept.weights.emplace("model." + name, average == checkpoint->tensors.end() ? tensor : average->second);
  }
  return kept;
}

}  // namespace trainlab
