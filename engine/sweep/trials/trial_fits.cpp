#include "trials/trial_fits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/files.h"
#include "core/words.h"
#include "journal/checkpoint.h"
#include "journal/disk_threads.h"
#include "run/folder.h"
#include "train/step_count.h"
#include "trials/trial_flops.h"
#include "trials/trial_folder.h"
#include "trials/trial_rows.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

bool ended(const TrialFit& fit) { return is_finished(fit.summary) || fit.summary["status"] == Value("failed"); }

}  // namespace

TrialFits::TrialFits(const StudyPlan& plan, const StageContext& context, SharedStudy& study, TrialPlans& plans,
                     TrialWarnings& warnings, SpeedTotal& speed, std::function<void()> reported)
    : plan_(plan),
      context_(context),
      study_(study),
      plans_(plans),
      warnings_(warnings),
      speed_(speed),
      pruner_(plan.pruner()),
      reports_(plan, study, pruner_.get(), std::move(reported)) {}

// What an earlier attempt has left of a repeat: its summary where it has ended, and what it has measured also where a
// stop request has interrupted it. A repeat whose summary is damaged goes on from its last checkpoint, as after a kill
// before the summary was written, and ends in the same bytes.
void TrialFits::take_over(const LeasedTrial& trial, TrialFit& fit) const {
  std::string damage;
  try {
    Value summary = read_summary(fit.folder);
    if (summary.is_nil()) return;
    const bool is_whole = summary["metrics"].is_map() && summary["seconds"].is_number();
    if (is_whole || !is_finished(summary)) {
      fit.measured.add(summary["speed"]["sums"]);
      if (is_finished(summary)) fit.summary = std::move(summary);
      return;
    }
    damage = (fit.folder / "summary.json").string() + " has no metrics or no seconds";
  } catch (const Error& error) {
    damage = error.message();
  }
  context_.say(fmt::format("trial {}: damage: {}; going on from the last checkpoint", trial.lease.trial, damage));
}

BuiltTrial TrialFits::build(LeasedTrial& trial) {
  BuiltTrial built{.trial = &trial, .fits = {}, .failure = {}};
  const TrialFolder folder(context_.folder, trial.lease.trial);
  try {
    for (std::int64_t repeat = 1; repeat <= plan_.terms().repeats; ++repeat) {
      TrialFit fit = plans_.fit(trial.point, trial.lease.trial, repeat);
      fit.folder = folder.under_way(trial.lease.attempt, repeat);
      take_over(trial, fit);
      if (trial.segment.parent && fit.summary.is_nil()) go_on_from(*trial.segment.parent, trial.lease.trial, fit);
      if (fit.summary["pruned"].is_string()) trial.pruned = fit.summary["pruned"].string();
      built.fits.push_back(std::move(fit));
    }
  } catch (const Error& error) {
    if (!is_of_trial(error)) throw;
    built.failure = error.headline();
  }
  return built;
}

// The trial begins with the state in which its parent ended, unless it has a complete checkpoint of its own.
// Error{recipe} when the parent failed before its first checkpoint, Error{run} when the parent's checkpoints are gone
// or damaged.
void TrialFits::go_on_from(std::int64_t parent, std::int64_t trial, const TrialFit& fit) const {
  const fs::path own = fit.folder / "checkpoints";
  if (CheckpointFolder::has_complete(own)) return;
  const TrialFolder folder(context_.folder, parent);
  folder.settle(study_.stored(parent).attempt);  // the process that ended it may have been killed before
  const fs::path from = folder.ended(fit.repeat);
  const std::string text = fmt::format("trial {} continues trial {}, ", trial, parent);
  const bool has_commit = CheckpointFolder::newest_step(from / "checkpoints") > 0;
  if (!has_commit && study_.study().trials().state(parent) == TrialState::failed)
    throw recipe_error(text + "which failed before its first checkpoint");
  make_directories(fit.folder);
  if (fs::exists(from / "metrics.jsonl")) write_atomic(fit.folder / "metrics.jsonl", read_file(from / "metrics.jsonl"));
  const auto say = [&](const std::string& line) { context_.say_damage(fmt::format("trial {}: {}", trial, line)); };
  if (CheckpointFolder::take_over(from / "checkpoints", own, say)) return;
  throw run_error(text + "but there is no complete checkpoint in " + (from / "checkpoints").string())
      .hint("put the folder back and resume the run");
}

// See StageContext. A trial that has written a checkpoint has fitted its parent's, and so has one of the same
// parameters: what cannot be restored then is the engine's fault.
std::string TrialFits::clone_of(const LeasedTrial& trial, const TrialFit& fit) const {
  const std::optional<std::int64_t> parent = trial.segment.parent;
  if (!parent || same_point(study_.study().trials().point(*parent), trial.point)) return {};
  const fs::path from = TrialFolder(context_.folder, *parent).ended(fit.repeat);
  const auto step = [](const fs::path& folder) { return CheckpointFolder::newest_step(folder / "checkpoints"); };
  return step(fit.folder) > step(from) ? "" : fmt::format("trial {}", *parent);
}

std::vector<TrialEnd> TrialFits::run(std::span<LeasedTrial> trials, double most_flops) {
  reports_.drop();
  std::list<BuiltTrial> all;
  for (LeasedTrial& trial : trials) all.push_back(build(trial));
  open_ = 0;
  fit_flops_ = most_flops / static_cast<double>(plan_.terms().repeats);
  for (const BuiltTrial& trial : all) {
    for (const TrialFit& fit : trial.fits) open_ += ended(fit) ? 0 : 1;
  }
  train_stacks(all);
  for (BuiltTrial& trial : all) {
    if (trial.failure.empty()) train_alone(trial);
  }
  reports_.flush();
  study_.follow();
  for (const BuiltTrial& trial : all) {
    const auto planned = [&](std::int64_t number) { return planned_flops(plan_, study_, plans_, number); };
    const std::string cut = text_of_cut(trial, most_flops, planned);
    if (!cut.empty() && warnings_.keep(cut, cut)) context_.warn(cut);
  }
  std::vector<TrialEnd> ends;
  for (const BuiltTrial& trial : all) ends.push_back(end_of(plan_, study_, plans_, trial));
  for (TrialEnd& end : ends) {
    if (!end.interrupted && warnings_.has_new()) end.info.set("warnings", warnings_.take());
  }
  return ends;
}

// All that can be stacked: what is of equal structure, and at the same step, trains together. The repeats of a trial
// always do, so that its pruner sees them in the same order whatever was interrupted.
void TrialFits::train_stacks(std::list<BuiltTrial>& trials) {
  std::map<std::string, std::vector<Member>> stacks;
  for (BuiltTrial& trial : trials) {
    try {
      for (TrialFit& fit : trial.fits) {
        if (!trial.failure.empty() || ended(fit) || plans_.stack_of(fit) == 1) continue;
        stacks[fit.structure + "@" + std::to_string(CheckpointFolder::newest_step(fit.folder / "checkpoints"))]
            .emplace_back(&trial, &fit);
      }
    } catch (const Error& error) {
      if (!is_of_trial(error)) throw;
      trial.failure = error.headline();
    }
  }
  for (auto& [structure, members] : stacks) {
    std::erase_if(members, [](const Member& member) { return !member.first->failure.empty(); });
    for (std::size_t first = 0; first < members.size() && !stop_requested();) {
      const auto size = static_cast<std::size_t>(plans_.stack_of(*members[first].second));
      std::size_t end = first;
      while (end < members.size()) {
        std::size_t next = end;  // behind the trial's repeats
        while (next < members.size() && members[next].first == members[end].first) ++next;
        if (end > first && next - first > size) break;
        end = next;
      }
      train(std::span(members).subspan(first, end - first), true);
      first = end;
    }
  }
}

void TrialFits::train_alone(BuiltTrial& trial) {
  for (TrialFit& fit : trial.fits) {
    if (ended(fit)) continue;
    if (!trial.trial->pruned) trial.trial->pruned = hopeless(plan_, study_, trial);
    if (trial.trial->pruned || !trial.failure.empty() || stop_requested()) return;
    // Stacked fits have ended already, unless a stop request interrupted them.
    const Member member{&trial, &fit};
    if (fit.is_task()) {
      run_alone(member);
    } else {
      train({&member, 1}, plans_.stack_of(fit) > 1);
    }
    if (fit.summary["status"] == Value("failed")) return;
  }
}

// Trainings come one after the other, and each leaves time for those that follow: a trial of three seeds that train
// alone has no value before the third has ended.
std::function<double()> TrialFits::share_of_time(std::size_t members) const {
  const std::function<double()>& left = context_.seconds_left;
  if (!left) return {};
  const double share = static_cast<double>(members) / static_cast<double>(std::max(open_, members));
  const double of_others = (1 - share) * std::max(left(), 0.0);
  return [&left, of_others] { return left() - of_others; };
}

StageContext TrialFits::context_of(const Member& member, bool resumed, const std::function<double()>& seconds_left) {
  const auto& [trial, fit] = member;
  make_directories(fit->folder);
  if (CheckpointFolder::newest_step(fit->folder / "checkpoints") == 0) reports_.begin(*trial->trial, fit->repeat, 0);
  StageContext context;
  context.name = fit->options.string("name");
  context.folder = fit->folder;
  context.settings = &plan_.settings();
  context.resumed = resumed;
  context.seconds_left = seconds_left;
  context.most_flops = fit_flops_ + inherited_flops(context_.folder, trial->trial->segment, fit->repeat);
  context.clone_of = clone_of(*trial->trial, *fit);
  const auto of_trial = [number = trial->trial->lease.trial](const std::function<void(const std::string&)>& say) {
    return [&say, number](const std::string& text) { say(fmt::format("trial {}: {}", number, text)); };
  };
  context.say = of_trial(context_.say);
  context.say_damage = of_trial(context_.say_damage);
  // The first of many trials that deserve a warning is named.
  context.on_warning = [this, number = trial->trial->lease.trial](const std::string& warning) {
    const std::string named = fmt::format("trial {}: {}", number, warning);
    if (warnings_.keep(warning, named)) context_.warn(named);
  };
  return context;
}

// Completes the summary of a fit or task, one of `members` in a stack, and writes the summary.
void TrialFits::keep(const Member& member, Value summary, std::size_t members) {
  TrialFit& fit = *member.second;
  const LeasedTrial& trial = *member.first->trial;
  summary.set("seconds", summary["seconds"].number() / static_cast<double>(members));
  summary.set("stack", static_cast<std::int64_t>(members));
  summary.set("name", fit.options.string("name"));
  summary.set("kind", fit.options.entry().name);
  if (trial.pruned) summary.set("pruned", *trial.pruned);
  // For those who go on with the trial.
  if (fit.measured.wall > 0) {
    Value speed = summary["speed"];
    speed.set("sums", fit.measured.sums());
    summary.set("speed", std::move(speed));
  }
  summary.set("out", TrialFolder(context_.folder, trial.lease.trial).ended(fit.repeat).string());
  write_atomic(fit.folder / "summary.json", to_json(summary, 2) + "\n");
  fit.summary = std::move(summary);
}

namespace {

// "3", "3 and 4", "0 to 7, 9 and 11".
std::string ranges_text(const std::set<std::int64_t>& numbers) {
  std::vector<std::string> texts;
  for (auto from = numbers.begin(); from != numbers.end();) {
    auto last = from, next = std::next(from);
    while (next != numbers.end() && *next == *last + 1) last = next++;
    if (*last - *from < 2) {
      for (; from != next; ++from) texts.push_back(std::to_string(*from));
    } else {
      texts.push_back(fmt::format("{} to {}", *from, *last));
    }
    from = next;
  }
  return listed(texts, "and");
}

}  // namespace

TrialsAtWork TrialFits::at_work(std::span<const Member> members) const {
  std::set<std::int64_t> trials;
  for (const auto& [trial, fit] : members) trials.insert(trial->trial->lease.trial);
  const bool is_confirmation = plan_.terms().is_confirmation;
  const Options& stage = plan_.options();
  const std::string name =
      is_confirmation ? "the " + context_.name : fmt::format("{} {}", stage.entry().name, stage.string("name"));
  return {.stage = is_confirmation ? context_.folder.parent_path() : context_.folder,
          .names = fmt::format("trial{} {} of {}", trials.size() > 1 ? "s" : "", ranges_text(trials), name),
          .count = std::ssize(members)};
}

void TrialFits::run_alone(const Member& task) {
  const auto& [trial, fit] = task;
  const StageContext context = context_of(task, fs::exists(fit->folder / "metrics.jsonl"), share_of_time(1));
  const auto rows = std::make_shared<TrialRows>(plan_, reports_, *trial->trial, fit->repeat);
  TaskCompany company{
      .observers = {}, .parts = {rows->part()}, .judges = {rows}, .shows_progress = false, .speed = &speed_};
  if (plan_.addition().join_task)
    plan_.addition().join_task(fit->options, plan_.settings(), at_work({&task, 1}), company);
  try {
    Value summary = run_task(fit->options, context, company);
    for (const Objective& one : plan_.objectives()) {
      if (trial->trial->pruned || !summary["metrics"][one.metric].is_nil()) continue;
      if (summary["status"] == Value("interrupted")) continue;
      const std::string names = joined(summary["metrics"].map(), ", ", [](const auto& metric) { return metric.first; });
      throw recipe_error("the task has not logged \"" + one.metric +
                         "\", by which trials are compared; it has logged " + (names.empty() ? "nothing" : names));
    }
    fit->measured.add(speed_.take());
    keep(task, std::move(summary), 1);
    --open_;
  } catch (const Error& error) {
    fit->measured.add(speed_.take());
    if (is_of_trial(error)) {
      trial->failure = error.headline();
    } else if (error.kind() == ErrorKind::interrupted && stop_requested()) {
      keep(task, Value::Map{{"status", "interrupted"}, {"metrics", Value::Map{}}, {"seconds", 0.0}}, 1);
    } else {
      throw;
    }
  }
}

const std::vector<JoinTrials>& TrialFits::joins(const Options& fit) {
  if (!joins_.empty()) return joins_;
  for (const FitAddition& addition : additions_of(fit))
    if (addition.join_trials) joins_.push_back(addition.join_trials());
  return joins_;
}

void TrialFits::train(std::span<const Member> members, bool axis) {
  const bool resumed =
      std::ranges::any_of(members, [](const Member& m) { return fs::exists(m.second->folder / "metrics.jsonl"); });
  side_by_side(std::ssize(members), [&](std::int64_t m) {
    make_directories(members[static_cast<std::size_t>(m)].second->folder / "checkpoints");
  });
  std::vector<FitMember> fits;
  const std::function<double()> seconds_left = share_of_time(members.size());
  for (const Member& member : members) {
    StageContext context = context_of(member, resumed, seconds_left);
    const auto& [trial, fit] = member;
    fits.push_back({.options = fit->options,
                    .context = std::move(context),
                    .rules = {std::make_shared<TrialWatch>(plan_, reports_, *trial->trial, fit->repeat)},
                    .shows_progress = false});
  }
  std::shared_ptr<StepCount> steps;
  try {
    const std::vector<Value> summaries = with_torch_errors([&] {
      const FitPlan& plan = *plans_.of(*members.front().second);
      steps = std::make_shared<StepCount>(plan.length.total_steps);
      FitCompany company{.observers = {steps}, .passes = {}, .speed = &speed_};
      for (const JoinTrials& join : joins(plan.options)) join(plan, fits, axis, company);
      if (plan_.addition().join_fits) plan_.addition().join_fits(plan, at_work(members), company);
      return run_fits(plan, fits, axis, company);
    });
    members.front().second->measured.add(speed_.take());
    side_by_side(std::ssize(members), [&](std::int64_t i) {
      const auto m = static_cast<std::size_t>(i);
      keep(members[m], summaries[m], members.size());
    });
    open_ -= members.size();
  } catch (const LeaseLost&) {
    speed_.take();  // the measurement of a trial is told with its end, which is another process's to tell
    throw;
  } catch (const Error& error) {
    members.front().second->measured.add(speed_.take());
    // A step that is taken again counts once.
    const std::int64_t begun = steps ? steps->begun() : 0;
    for (const auto& [trial, fit] : members) fit->lost_steps = std::max(fit->lost_steps, begun);
    const bool is_own = is_of_trial(error);
    if (!is_own && error.kind() != ErrorKind::run) throw;
    if (members.size() == 1 && !is_own) throw;
    // An error of a shared function ends each trial, a damaged checkpoint sets back its own fit only, and memory may
    // suffice for fewer fits: so trials are trained apart, then the fits of one trial.
    const auto is_same = [](const Member& a, const Member& b) { return a.first == b.first; };
    std::size_t end = 1;
    while (end < members.size() && is_same(members[0], members[end])) ++end;
    BuiltTrial& first = *members.front().first;
    const bool may_fit_apart = error.lacks_memory() && members.size() > 1;
    if (is_own && end == members.size() && !may_fit_apart) {
      first.failure = error.headline();
      return;
    }
    const bool is_one_trial = end == members.size();
    if (is_one_trial) end = 1;
    train_again(members.first(end), axis);
    if (is_one_trial && !first.failure.empty()) return;
    train_again(members.subspan(end), axis);
  }
}

// Trains again from the checkpoints; pruning decisions are recovered from there and from finished fits.
void TrialFits::train_again(std::span<const Member> members, bool axis) {
  if (members.empty()) return;
  for (const auto& [trial, fit] : members) {
    // Rows without a checkpoint are those of a training that was lost. This one begins anew because its stack is split.
    if (CheckpointFolder::newest_step(fit->folder / "checkpoints") == 0) fs::remove(fit->folder / "metrics.jsonl");
    trial->trial->pruned.reset();
    trial->trial->judged = 0;
    for (const TrialFit& other : trial->fits) {
      if (other.summary["pruned"].is_string()) trial->trial->pruned = other.summary["pruned"].string();
    }
  }
  train(members, axis);
}

}  // namespace trainlab
