// The observers that every stage has: the progress line on standard error, and TensorBoard event files.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "journal/observer.h"
#include "run/stage.h"

namespace trainlab {

// On a terminal a bar that is redrawn at most ten times a second (epoch, step, loss, learning rate, samples/s, ETA),
// elsewhere a line per validation, and a line where nothing was said for 30 s. `mean_loss` reads the running training
// loss (synchronises; called when drawing or saying); a task has none.
// Lines go through `say` (log.txt and standard error), the bar to standard error only.
std::unique_ptr<Observer> progress_reporter(bool terminal, std::function<double()> mean_loss,
                                            std::function<void(const std::string&)> say);

// The functions of a terminal that the bar needs; none of them raises.
struct Terminal {
  std::function<void(std::string_view)> write;
  std::function<int()> columns;
  std::function<double()> seconds;  // monotonic
};
// The bar on another terminal than standard error.
std::unique_ptr<Observer> progress_bar(Terminal terminal, std::function<double()> mean_loss,
                                       std::function<void(const std::string&)> say);

// The lines, by another monotonic clock.
std::unique_ptr<Observer> progress_lines(std::function<double()> seconds, std::function<double()> mean_loss,
                                         std::function<void(const std::string&)> say);

// How a stage shows its progress: not at all, by a line for each validation, or by a bar where there is a terminal.
enum class ProgressStyle { none, lines, bar };

// All observers that a stage has by itself. A quiet run has no bar. `mean_loss` is that of progress_reporter.
std::vector<std::shared_ptr<Observer>> stage_observers(const StageContext& stage, ProgressStyle style,
                                                       std::function<double()> mean_loss);

// events.out.tfevents.* in `folder`: one scalar per metric and the learning rate at each validation. A resumed fit
// starts a new file with a session-start event, so that TensorBoard drops values that were written beyond first_step.
std::unique_ptr<Observer> tensorboard_reporter(const std::filesystem::path& folder);

}  // namespace trainlab
