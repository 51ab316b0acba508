// RowWatch: watches the rows that a task logs, and reports each fault once.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "health/verdict.h"
#include "journal/observer.h"
#include "journal/record.h"

namespace trainlab {

// A loop written by hand declares neither its loss nor its rate, and nobody sees its steps. So the watch reads the
// numbers that are logged as train.loss and val.loss, which show overfitting, and whether one of them is not finite.
class RowWatch final : public Observer {
 public:
  // `say` gets a line for each verdict; null: the summary alone has them.
  explicit RowWatch(std::function<void(const std::string&)> say) : say_(std::move(say)) {}

  // The part of the watch that a checkpoint keeps.
  Resumable part();

  void logged(const RowView& row) override;
  void add_to(Value& summary) override;

 private:
  void look();
  void tell(const std::string& line) const;

  std::function<void(const std::string&)> say_;
  HealthFigures figures_;
  LossBlock since_;  // training losses since the latest row with a validation loss
  std::vector<HealthVerdict> told_;
};

}  // namespace trainlab
