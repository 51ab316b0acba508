// Remedies: changes of a fit that its verdict suggests, each tried beside the unchanged fit before it is advised.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compare/judgement.h"
#include "profile/pipeline.h"
#include "profile/profile.h"
#include "train/fit_plan.h"
#include "train/memory_prediction.h"
#include "train/model_changes.h"

namespace trainlab {

// The facts of a fit that decide which changes suit the fit.
struct FitFacts {
  std::int64_t batch = 1, accumulate = 1, samples = 0;  // micro-batch, micro-batches of a step, training samples
  std::int64_t loader_threads = 1, prefetch = 4;
  LoaderNeeds loader_needs = {};
  std::int64_t validate_every = 1;  // steps from one validation to the next
  // The decisions that hang on the validations, so that fewer may change the result: "which weights are kept"; empty:
  // there is none.
  std::string decided_by_validations = {};
  // Whether on.validate and functions in `stop` take a notable part of the time, and what they write (run:save).
  bool functions_at_validations = false;
  double checkpoint_every = 0;            // steps from one checkpoint to the next, by the rule of the fit
  bool calls_at_checkpoints = false;      // whether the fit has on.checkpoint
  bool functions_at_checkpoints = false;  // whether that function takes a notable part of the time
  bool has_metrics = false, has_transforms = false, is_double = false;
  bool drops_last = false;     // whether an epoch leaves out its last samples, which are others with another batch
  bool decodes_files = false;  // whether samples are read from files of images, again in each epoch
  bool has_convolutions = false;
  std::optional<ModelChanges> model = {};  // of a fit with one model
  // Whether activations are most of what a step takes, and the training takes much of the memory that it may take.
  bool keeps_much = false;
  std::int64_t chain = 1;      // layers that a pass goes through one after the other
  std::int64_t stack = 8;      // fits of which a group is tried
  std::string why_alone = {};  // why the fit cannot train in a group; empty: it can
  // Time of a matrix product relative to one in float32, on the CPU alone: in bfloat16, for a fit in float32; and in
  // the type of the fit, for one in 16 bits.
  std::optional<double> bfloat16_time = {}, own_time = {};
  bool own_threads_compete = false;  // StepVerdict::own_threads_compete
  int threads = 1;                   // threads that operators use
  int cores = 1;
  bool is_task = false;        // whether it is a task's loop, of which only the threads and the device are known
  bool is_synchronous = true;  // whether the device does what it is asked at once, as the CPU does
};

// The effect of a remedy on the quality, measured by trainings of the same time with and without the remedy, in pairs
// with equal seeds.
struct RemedyQuality {
  std::string metric = {};  // "val.loss": the metric that the fit monitors
  bool minimize = true;     // whether smaller is better
  double seconds = 0;       // of each training
  std::string reason = {};  // why there is no judgement; empty: there is one
  // B is the fit with the remedy: `difference` is that of the delivered metrics, with the remedy less without.
  compare::Judgement judgement = {};
  double without = 0, with = 0;  // mean of the delivered metric; NaN where no training delivered one
};

// Whether a ratio of speeds is a gain: its whole interval is above 1, and its median is 1.02 or more.
inline constexpr double least_gain = 1.02;
inline bool is_gain(const MedianInterval& ratio) { return ratio.low > 1 && ratio.median >= least_gain; }

struct Remedy {
  std::string name = {};  // "more loader threads"
  // The changes as the command line takes them: "loader.threads=2" for --set, or "--threads 2"; empty: no option.
  std::vector<std::string> set = {};
  std::string reason = {};  // why the remedy was not tried; empty: it was tried
  // The error that ended the pairs of a remedy that was tried, so that they are too few to apply it; empty: none.
  std::string ended_by = {};
  std::int64_t stack = 0;  // fits with seeds of their own that train in one group; 0: the fit trains by itself
  bool packs = false;      // the images of the data are decoded once, into a packed file
  // Whether the change makes another model, another number of samples in a step or numbers of another precision. Such a
  // change is one of the result even where the weights of a few steps do not show it.
  bool always_changes = false;
  // Speed with the remedy divided by speed without, validations and checkpoints included; 0 where the fit cannot train
  // without.
  MedianInterval ratio = {};
  std::int64_t pairs = least_for_interval;  // pairs of short runs behind the ratio; fewer: the bounds are no interval
  // Bytes of tensors fewer at the peak of the compared steps; negative: more; unknown on devices that do not count.
  std::optional<std::int64_t> bytes = {};
  // The result where the weights are the same, because the change concerns something beside them; empty: nothing else.
  std::string same_weights = {};
  // "same bytes", "same to rounding" (1e-5 of the largest weight), "may change the result: …" where weights are the
  // same and the change decides something later, "changes what the run reports" where weights are the same and the run
  // has fewer values, "changes the result", or "not compared: …" with the reason.
  std::string result = {};
  std::optional<RemedyQuality> quality = {};  // of a remedy that changes the result, once it was asked for

  bool is_tried() const { return reason.empty(); }
  bool has_ratio() const { return is_tried() && ratio.median > 0; }
  bool has_interval() const { return has_ratio() && pairs >= static_cast<std::int64_t>(least_for_interval); }
  bool wins() const { return has_interval() && is_gain(ratio); }
  bool has_same_weights() const { return result.starts_with("same "); }
  bool keeps_result() const { return is_tried() && has_same_weights(); }
  bool changes_result() const {
    return is_tried() && (result == "changes the result" || result.starts_with("may change the result: "));
  }
};

// The number of threads in a text of Remedy::set; nullopt where the text is an option.
std::optional<int> threads_of(const std::string& set);
// The texts of Remedy::set as words of a command line, separated by `between`.
std::string words_of(const std::vector<std::string>& set, const std::string& between = " ");

// The remedies that win, keep the result and are worth having together, which `--apply` writes: gains do not multiply.
// Where the memory is too small for the fit: the first remedy with which the fit has room and keeps its batch.
struct JoinedRemedies {
  std::vector<std::string> set = {};  // of all of them; empty: there is none
  MedianInterval ratio = {};  // speed with all of them divided by speed without; 0 where the fit cannot train without
};

struct TriedRemedies {
  std::vector<Remedy> all = {};
  bool had_no_time = false;  // whether some could have been tried, and for none of them time was left
  // ProfileOptions::seconds with which all would be tried, where time was left for some of them only.
  std::optional<double> enough_seconds = {};
  JoinedRemedies joined = {};
};

// The changes that suit a verdict and the facts, none of them tried yet. A remedy that cannot be tried has its
// `reason`; of a task, whose loop is code, the changes of a fit's options are left out. Pure.
std::vector<Remedy> remedies_for(Bottleneck verdict, const FitFacts& facts);
// The remedies of both in turn, beginning with `first`, each name once. Pure.
std::vector<Remedy> in_turn(std::vector<Remedy> first, std::vector<Remedy> second);

// The seconds of a profile whose time was over before all changes were tried.
struct TrialTimes {
  double seconds = 0;  // ProfileOptions::seconds
  double before = 0;   // until the first trial
  double tried = 0;    // of the trials
  double missing = 0;  // that further trials would have taken
};

// The seconds with which a profile has time to try all changes: a multiple of 5, 10 or 60 where they are many, and
// rather too much than too little. The time before the trials may grow with the seconds. Pure.
double enough_seconds(const TrialTimes& times);

// The stage of a recipe whose training was profiled: that training itself, or a sweep or an ensemble.
struct StageOfTraining {
  std::string path = {};      // what texts of --set have in front of an option of the training: "build.", or nothing
  std::int64_t together = 1;  // trainings that train as one group, of which one by itself was profiled
  int workers = 1;            // processes that train side by side, and share the cores
  bool validations_decide = false;  // whether trials end or go on for what their validations give
  bool is_first = true;             // whether the recipe runs no stage before this one
  // The prediction of the memory that the profiled training takes; null: not known.
  const MemoryPrediction* predicted = nullptr;
  // Seconds of a core in which a sample is read from its file and made; nullopt where this was not measured.
  std::optional<double> sample_seconds = {};
  LoaderNeeds loader_needs = {};
};

// The speed with these changes divided by the speed without any, or with others; nullopt where they cannot be together.
using RatioOfChanges = std::function<std::optional<MedianInterval>(const std::vector<std::string>& without,
                                                                   const std::vector<std::string>& with)>;

// Joins the remedies that win and keep the result: from the greatest gain on, each is tried beside those joined before,
// and joins if it is a gain still. All of them are measured once more together, and where that is no gain, the greatest
// of them alone; what is no gain then is left out. Pure but for `ratio`.
JoinedRemedies join_remedies(const std::vector<Remedy>& remedies, const RatioOfChanges& ratio);

// Tries the remedies for a profiled fit or task, until the seconds of the options are over: short runs with and without
// each in turn (A B B A), and five steps of both, whose weights are compared; of a change that decides something later
// these weights say too little. Each remedy has a first round before further rounds follow, for an interval: those that
// may be applied come first, then those that are chosen together, then the others. A remedy that the stage refuses is
// not tried, and the refusal is its reason; so are those for which no time is left. Of a task, whose loop is code,
// other numbers of threads alone can be tried. Of a fit that memory does not hold (Profile::no_room), five steps are
// taken with each remedy. Fills `tried`, which is empty before: what it has stays where Error{interrupted} is raised.
void try_remedies(TriedRemedies& tried, const Profile& profile, const StepVerdict& verdict, const Options& training,
                  const RunSettings& settings, const WithSet& with_set, const ProfileOptions& options,
                  const StageOfTraining& stage = {});

// The metric by which the remedies of a fit are judged: the one that the fit monitors, if the validation part is
// measured by it, else val.loss. Error{usage} for a fit whose validation part is not measured.
std::string quality_metric(const FitPlan& plan);

// Trains with and without each remedy that changes or may change the result, and gives the remedy its `quality`. The
// trainings of a remedy take about `seconds` in all: five pairs with the seeds 1 to 5, in which both fits train for the
// same time, without `epochs` or `steps`, so that schedules reach their end with the time. No training takes longer
// than the profiled fit itself, unless that takes less than a second. A remedy whose trainings raise an error gets its
// reason. Error{run} where no remedy that changes the result was tried.
void judge_remedies(TriedRemedies& tried, const Profile& profile, const Options& stage, const RunSettings& settings,
                    const WithSet& with_set, double seconds, const std::function<void(const std::string&)>& say);

std::string remedies_text(const TriedRemedies& remedies);
// The members `remedies` and `applied` that docs/profiling.md lists.
Value remedies_value(const TriedRemedies& remedies);

}  // namespace trainlab
