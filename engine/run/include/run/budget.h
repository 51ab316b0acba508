// Budget: the time, the money and the FLOPs that all stages of a run share (lab.budget, --within), their division
// between the stages, and how much of them is used. Time used is that of the run's processes: between a kill and the
// next process nothing is used. Money pays for time, at the price of the machine. FLOPs used are those of the steps
// that trainings consist of, as summaries tell them (`flops`): a step that a kill has lost, and that is taken again,
// counts once, so that a run with a budget of FLOPs ends in the same bytes whatever interrupts it.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/value.h"

namespace trainlab {

struct Moment;  // core/clock.h

// Why a stage has stopped: by the budget of its run, or by the stage's own option `time`.
inline constexpr const char* budget_is_used = "the time budget is used";
inline constexpr const char* flops_are_used = "the budget of FLOPs is used";
inline constexpr const char* own_time_is_used = "its own time is used";
// Whether a stage has stopped by the budget of its run.
inline bool is_of_run_budget(std::string_view reason) { return reason == budget_is_used || reason == flops_are_used; }
// Whether a stage has stopped for one of the three reasons, and not for what it had learnt.
inline bool is_of_budget(std::string_view reason) { return is_of_run_budget(reason) || reason == own_time_is_used; }

// The time that an amount of money pays for, at a price that this room does not know.
struct PaidTime {
  double amount = 0;
  std::string currency;                           // "EUR"
  std::string as_of;                              // date of the price
  Value price = {};                               // what a manifest keeps of it
  double seconds = 0;                             // that the amount pays for
  std::function<double(double)> cost_of_seconds;  // in the currency
};

struct BudgetTerms {
  double seconds = 0;                 // of the whole run; 0: its time has no bound
  double reserve = 0;                 // of these, kept free at the end of the run
  double flops = 0;                   // of all trainings of the run; 0: without a bound
  std::optional<PaidTime> paid = {};  // `seconds` are at most those that the money pays for

  bool bounds_time() const { return seconds > 0; }
  bool is_none() const { return seconds == 0 && flops == 0; }
  double usable() const { return seconds - reserve; }
};

// The budget of a run. `options`: those of lab.budget as checked, nil where the recipe has none; `within`: the seconds
// of --within, which takes the place of the recipe's time; `paid`: what its money pays for. Of time and money, the one
// that ends first bounds the time. A reserve that is not given is 3 % of the time, and at least 0.4 s and 0.4 of
// `start`, the seconds from the start of the program until the recipe is read.
// Error{recipe} for an option that does not fit, and for a time that its reserve uses up; Error{usage} for such a
// `within`.
BudgetTerms budget_terms(const Value& options, std::optional<double> within,
                         const std::optional<PaidTime>& paid = std::nullopt, double start = 0);

// The seconds of the budget by which a stage must have ended that began when `used` seconds had been used, and has this
// share of what is left.
double end_of_stage(const BudgetTerms& terms, double used, double share);

// One thread of one process: that which executes the run.
class Budget {
 public:
  // Goes on with what `file` says is used; without a file, or with an empty path, nothing was used before. `clock`:
  // monotonic, in seconds. `begun`: the reading of the clock when this process began. `holder`: the supervisor that
  // holds the run, by its holder_name() (run/folder.h). Error{run} where the file is damaged.
  Budget(BudgetTerms terms, std::filesystem::path file, double begun, std::function<double()> clock,
         std::string holder = {});

  const BudgetTerms& terms() const { return terms_; }
  double used() const { return before_ + clock_() - begun_; }

  // Error{usage} when nothing is left for `what`. `flops`: those that the stages so far have used.
  void check_left(const std::string& what, double flops = 0) const;
  // The same error for a stage that these FLOPs have ended.
  [[noreturn]] void refuse_by_flops(const std::string& what, double flops) const;
  // A stage begins, or goes on: one that goes on keeps the end that it had. Error{usage} when nothing is left for a
  // stage that begins, or for one that is to train longer (`extends`).
  void begin_stage(const std::string& name, double share, bool extends = false);
  // Seconds until the present stage must have ended; negative afterwards. For a budget that bounds the time.
  double seconds_left() const { return until_ - used(); }
  // The length of the present stage's share.
  double seconds_of_stage() const { return until_ - from_; }
  // Any thread, if the clock may be read by any.
  void save();

  // {seconds, used, reserve}, and {limit, used, …} of its flops and its money, for summaries. `flops`: those that the
  // stages have used.
  Value summary(double flops = 0) const;

 private:
  BudgetTerms terms_;
  std::filesystem::path file_;
  std::function<double()> clock_;
  std::string holder_;
  double begun_, before_ = 0;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();  // of what follows, and of the file
  std::string stage_;
  double from_ = 0, until_ = 0;  // of the present stage, in seconds used
};

// For an engine that helps with a stage of a run: the seconds that the stage has left, as the run's `file` says, less
// those from when the file was written until `now`, and the length of the stage's share; nullopt before the stage has
// begun under the supervisor that holds the run now. Error{run} where the file is damaged.
struct StageTime {
  double left = 0, in_all = 0;
};
std::optional<StageTime> time_of_stage(const std::string& stage, const std::filesystem::path& file, const Moment& now,
                                       const std::string& holder);

// A run whose last stage the budget has ended is not finished for good: in a larger budget the stage goes on. `seconds`
// is the budget in which the stage ended. A task is no such stage, because its function has returned.
struct BudgetPause {
  std::string stage;
  double seconds = 0;

  // Whether the stage goes on in this budget, in seconds; nil is none.
  bool goes_on_within(const Value& within) const { return within.is_number() && within.number() > seconds; }
  // Error{usage} unless `within` (seconds) is more than the run had.
  void check_more(double within) const;
  // Tells that the budget is used, and the command that gives the run more.
  std::string text(const std::filesystem::path& run) const;
};
// The pause of a run, by its summary; nullopt unless a budget of time has ended the last stage that the run began,
// and this stage is no task; also nullopt where the money is spent. Raises damaged_file (run/folder.h).
std::optional<BudgetPause> budget_pause(const std::filesystem::path& run);

// Where a run keeps what is used.
std::filesystem::path budget_path(const std::filesystem::path& run);

}  // namespace trainlab
