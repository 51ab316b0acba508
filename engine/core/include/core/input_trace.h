// Input spans: what a thread does while data are opened and while batches are made, told to whoever listens.
//
// Code that does a stage of this work holds an InputSpan while the stage lasts. A span costs one predictable branch
// where nobody listens, which is the default. Spans nest; the time of a stage is without the stages inside.
#pragma once

#include <cstdint>
#include <string_view>

namespace trainlab {

enum class InputStage : std::uint8_t {
  read,        // bytes of a file
  decompress,  // inflating gzip data; JPEG and PNG are decoded instead
  decode,      // bytes to values: pixels, resized and cropped
  augment,     // random changes of samples, and mixing of a batch
  gather,      // rows copied or converted to their place in a batch, and the order of an epoch
  transform,   // the recipe's functions over a batch
  wait,        // the consumer waits for a batch
};
constexpr int input_stages = 7;

// "read", "decompress", …
std::string_view stage_name(InputStage stage);

// Called by several threads at once.
class InputListener {
 public:
  virtual ~InputListener() = default;
  virtual void began(InputStage stage) noexcept = 0;
  // `samples`: how many samples have passed the stage with this span; 0 for a piece of work on samples that another
  // span of the stage counts.
  virtual void ended(InputStage stage, std::int64_t samples) noexcept = 0;
  // One sample is made by itself, and the stages until sample_ended() are those of row `row` of the dataset.
  virtual void sample_began(std::int64_t row) noexcept = 0;
  virtual void sample_ended(std::int64_t row) noexcept = 0;
  // The consumer asks for a batch when `ready` batches are there, and at most `capacity` would fit.
  virtual void taking(std::int64_t ready, std::int64_t capacity) noexcept = 0;
};

namespace input_trace {
extern thread_local constinit InputListener* listener;  // of this thread; null where nobody listens
}

// Lets a listener, or none, hear the input spans that this thread opens while the object lives.
class ListeningToInput {
 public:
  explicit ListeningToInput(InputListener* listener) : outer_(input_trace::listener) {
    input_trace::listener = listener;
  }
  ~ListeningToInput() { input_trace::listener = outer_; }
  ListeningToInput(const ListeningToInput&) = delete;
  ListeningToInput& operator=(const ListeningToInput&) = delete;

 private:
  InputListener* outer_;
};

class InputSpan {
 public:
  InputSpan(InputStage stage, std::int64_t samples)
      : listener_(input_trace::listener), samples_(samples), stage_(stage) {
    if (listener_) [[unlikely]]
      listener_->began(stage_);
  }
  ~InputSpan() {
    if (listener_) [[unlikely]]
      listener_->ended(stage_, samples_);
  }
  InputSpan(const InputSpan&) = delete;
  InputSpan& operator=(const InputSpan&) = delete;

 private:
  InputListener* listener_;
  std::int64_t samples_;
  InputStage stage_;
};

class SampleSpan {
 public:
  explicit SampleSpan(std::int64_t row) : listener_(input_trace::listener), row_(row) {
    if (listener_) [[unlikely]]
      listener_->sample_began(row_);
  }
  ~SampleSpan() {
    if (listener_) [[unlikely]]
      listener_->sample_ended(row_);
  }
  SampleSpan(const SampleSpan&) = delete;
  SampleSpan& operator=(const SampleSpan&) = delete;

 private:
  InputListener* listener_;
  std::int64_t row_;
};

}  // namespace trainlab
