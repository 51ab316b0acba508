// TensorBoard event files, a scalar per metric at each validation.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <optional>

#include "core/clock.h"
#include "core/files.h"
#include "event_record.h"
#include "journal/reporters.h"

namespace trainlab {

namespace {

// A name that is not taken: events.out.tfevents.SECONDS.HOST.PID.COUNT, which sorts by time as TensorBoard reads it.
std::filesystem::path new_event_file(const std::filesystem::path& folder) {
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%010lld", static_cast<long long>(wall_seconds()));
  const std::string start =
      std::string("events.out.tfevents.") + seconds + "." + host + "." + std::to_string(::getpid()) + ".";
  for (int count = 0;; ++count) {
    std::filesystem::path path = folder / (start + std::to_string(count));
    if (!std::filesystem::exists(path)) return path;
  }
}

class TensorBoardReporter final : public Observer {
 public:
  explicit TensorBoardReporter(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void started(const FitView& fit) override {
    file_.emplace(new_event_file(folder_));
    std::string records = framed(version_event(wall_seconds()));
    // Readers drop earlier events from this step on.
    if (fit.first_step > 0) records += framed(session_start_event(wall_seconds(), fit.first_step + 1));
    file_->append(records);
  }

  void validated(const ValidationView& view) override {
    std::vector<std::pair<std::string, double>> scalars(view.metrics.begin(), view.metrics.end());
    if (!std::isnan(view.rate)) scalars.emplace_back("lr", view.rate);
    file_->append(framed(scalars_event(wall_seconds(), view.step, scalars)));
  }

  void finished(const Value&) override { file_->sync(); }

 private:
  std::filesystem::path folder_;
  std::optional<AppendFile> file_;  // from started() on
};

}  // namespace

std::unique_ptr<Observer> tensorboard_reporter(const std::filesystem::path& folder) {
  return std::make_unique<TensorBoardReporter>(folder);
}

}  // namespace trainlab
