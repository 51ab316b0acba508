#include "journal/reporters.h"

#include <unistd.h>

namespace trainlab {

std::vector<std::shared_ptr<Observer>> stage_observers(const StageContext& stage, ProgressStyle style,
                                                       std::function<double()> mean_loss) {
  std::vector<std::shared_ptr<Observer>> observers;
  const bool draws = style == ProgressStyle::bar && isatty(STDERR_FILENO) != 0 && !stage.settings->quiet;
  if (style != ProgressStyle::none) observers.push_back(progress_reporter(draws, std::move(mean_loss), stage.say));
  observers.push_back(tensorboard_reporter(stage.folder));
  return observers;
}

}  // namespace trainlab
