// MemoryLedger: what the memory of a training step was for when the step held most, and where in the step this was.
// MemoryRecorder (train/memory_recorder.h) makes it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/value.h"

namespace trainlab {

enum class Phase : std::uint8_t;  // core/phase.h

enum class MemoryKind : std::uint8_t {
  weights,      // parameters and running statistics
  gradients,    // made by a backward pass and there when it has ended
  optimizer,    // the optimizer's state
  activations,  // made by a forward pass or a loss and there when it has ended: what the backward pass needs
  temporaries,  // all else that a step makes and gives back
  batches,      // the loader's buffers, those of prefetched batches included
  averages,     // averaged weights, and copies of the best weights
  script,       // tensors that the recipe's functions make themselves, and what they keep of earlier steps
  other,        // what was there before, such as the data, and the samples by which a training is watched
};
constexpr std::size_t memory_kinds = 9;
std::string memory_kind_name(MemoryKind kind);  // "weights", …

// Bytes are those that the allocator counts (tensor_memory()).
struct MemoryLedger {
  std::int64_t peak = 0;                              // the most at a time in the step; 0: no step was recorded
  std::array<std::int64_t, memory_kinds> bytes = {};  // at the peak, by kind; their sum is the peak

  // Where the peak is: a phase, and within a forward or backward pass a layer; empty where none is known. In a backward
  // pass, which opens no spans of layers, this is the layer whose activations were given back last.
  Phase phase{};
  std::string layer;

  // The most temporaries at a time that were made in a phase; phases without any are missing. Not all are there at the
  // peak, and each phase reaches its own most at another time.
  struct Temporaries {
    Phase phase;
    std::int64_t bytes;
  };
  std::vector<Temporaries> temporaries;

  struct Layer {
    std::string path;  // "fit.model[2].Linear", "loss", or "output" for what the model makes outside of its layers
    std::int64_t activations = 0;
  };
  std::vector<Layer> layers;  // that have activations at the peak, in the order of the forward pass

  struct Point {
    double seconds = 0;  // since the step began
    std::int64_t bytes = 0;
  };
  std::vector<Point> curve;  // over the step, at most some hundred points; the highest is the peak

  std::int64_t of(MemoryKind kind) const { return bytes[static_cast<std::size_t>(kind)]; }
  // { peak, categories = { weights, … }, at = { phase, layer }, temporaries = { { phase, bytes }, … },
  //   layers = { { path, activations }, … }, curve = { { seconds, bytes }, … } }
  Value to_value() const;
};

}  // namespace trainlab
