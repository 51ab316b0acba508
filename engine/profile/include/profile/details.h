// The parts of a profile beside the times of the steps: layers, memory, input, and the roofs, which are the arithmetic
// and the memory bandwidth that the machine can reach at most.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "machine/machine.h"
#include "profile/layers.h"
#include "profile/pipeline.h"
#include "profile/profile.h"
#include "profile/record_memory.h"
#include "train/memory_prediction.h"

namespace trainlab {

struct ProfileDetails {
  std::string type = "float32";  // type of the numbers in the forward and backward passes
  int threads = 1;               // threads that operators use
  std::optional<LayerTable> layers = {};
  std::optional<RecordedMemory> memory = {};
  std::optional<MemoryPrediction> predicted = {};  // of a fit
  std::optional<PipelineTable> pipeline = {};      // where a step waits for its input
  std::optional<Roofline> machine = {};
  // "layers: they are measured on the CPU", for each part that was not measured and why
  std::vector<std::string> missing = {};

  // Whether the tensors of a step fit the L2 caches of `threads` cores, so that the machine's memory does not limit
  // them. The last cache does not count: programs share it, and nobody knows how much of it one program gets.
  bool fits_cache() const;
  // `layers` with the members that the machine and the memory tell. Only where there are layers.
  LayerTable layers_with_roofs() const;
};

// The FLOPs of a step's passes a second of the whole step, as a share of the FLOP/s that the machine reaches at most
// ("model FLOPs utilization": Chowdhery et al. 2022, "PaLM", appendix B); nullopt where one of the two is not known.
std::optional<double> flops_utilization(const Profile& profile, const Measures& measures);

// Measures the parts beside the steps of a profiled stage, in further steps of the fit without a folder. Each part
// takes about a tenth of `options.seconds`, or a few steps; the machine is calibrated if no calibration is kept. A part
// that cannot be measured is missing with the reason, and so are the parts that are left when the run is asked to stop.
// To be called on the recipe's thread.
ProfileDetails measure_details(const Profile& profile, const Options& stage, const RunSettings& settings,
                               const ProfileOptions& options);

// The measures of the profile together with those of the details: roofs, bytes, the slowest stage of the input. Pure.
Measures measures_of(const Profile& profile, const ProfileDetails& details);

// The content of the table of layers: the layers that take most time, all layers, or all operators.
enum class DetailView { heaviest, layers, operators };

// The text for a terminal, printed below that of profile_text.
std::string details_text(const Profile& profile, const ProfileDetails& details, DetailView view);
// The members `layers`, `layer_steps`, `memory`, `predicted`, `pipeline`, `machine`, `roofline` and `missing` of
// docs/profiling.md.
Value details_value(const Profile& profile, const ProfileDetails& details);

}  // namespace trainlab
