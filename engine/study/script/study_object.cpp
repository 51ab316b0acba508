#include "study/study_object.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "analysis/pareto.h"
#include "core/clock.h"
#include "core/files.h"
#include "core/host.h"
#include "core/params.h"
#include "study/constraints.h"

namespace trainlab {

namespace {

// So that a loop without an end does not take all memory.
constexpr std::int64_t most_trials = 10'000'000;

std::vector<bool> directions(const Options& options) {
  std::vector<bool> maximize;
  for (const Value& goal : options.get("goal").list()) maximize.push_back(goal.string() == "max");
  return maximize;
}

}  // namespace

StudyObject::StudyObject(const Options& options, std::int64_t seed) {
  if (options.given("seed")) seed = options.integer("seed");
  const std::vector<bool> maximize = directions(options);
  if (maximize.empty()) throw options.error("goal", "expected at least one, found an empty table");
  if (options.given("pruner")) pruner_ = make_pruner(options.child("pruner"), maximize.size());
  deterministic_ = options.boolean("deterministic");
  const Space space = make_space(options);
  StudySettings settings{.maximize = maximize,
                         .deterministic = deterministic_,
                         .compares = pruner_ && pruner_->compares(),
                         .allowed = {},
                         .seed = seed};
  if (options.given("constraints")) settings.allowed = allowed_by(options, space, seed);
  const std::vector<std::vector<double>> first = enqueued_points(options, space);
  auto sampler = make_sampler(options.child("sampler"), space, seed, settings.maximize.size());
  Study study(space, std::move(sampler), std::move(settings));
  if (options.given("file") || options.given("name") || options.given("storage")) {
    open(options, std::move(study), first, seed);
  } else {
    for (const auto& point : first) study.enqueue(point);
    own_ = std::move(study);
  }
}

// The place of a study that other processes share, made in a database where there is none.
StudyPlace StudyObject::place_of(const Options& options) {
  if (options.given("file")) {
    for (const char* other : {"storage", "name"}) {
      if (options.given(other))
        throw options.error(other, "goes with a study in a database; `file` keeps it in a file");
    }
    const std::string& file = options.string("file");
    if (!file.ends_with(".db")) throw options.error("file", "expected a name that ends in .db, found \"" + file + "\"");
    const std::filesystem::path folder = std::filesystem::path(file).parent_path();
    std::error_code ignored;
    if (!folder.empty() && !std::filesystem::is_directory(folder, ignored))
      throw options.error("file", "there is no folder " + folder.string());
    check_regular(file);
    return StudyPlace(std::filesystem::path(file));
  }
  const std::optional<Database> database = storage_of(options);
  if (!database) {
    throw options.error("storage", "missing; `name` is the name of a study in a database")
        .hint("storage = \"postgresql://USER@HOST/DATABASE\", or TRAINLAB_STORAGE in the environment");
  }
  if (!options.given("name")) throw options.error("name", "missing; expected the study's name in the database");
  const std::string& name = options.string("name");
  const auto is_allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  };
  constexpr std::size_t longest = 63;
  if (name.empty() || name.size() > longest || !std::ranges::all_of(name, is_allowed))
    throw options.error("name", "expected at most 63 letters, digits, '_' and '-', found \"" + name + "\"");
  database->make(name);
  return {*database, name};
}

void StudyObject::open(const Options& options, Study study, const std::vector<std::vector<double>>& first,
                       std::int64_t seed) {
  const StudyPlace place = place_of(options);
  Value::List objectives;
  for (const Value& goal : options.get("goal").list()) objectives.push_back(Value::Map{{"goal", goal}});
  const Value description = Value::Map{{"format", 1},
                                       {"kind", "study"},
                                       {"space", study.space().to_value()},
                                       {"objectives", std::move(objectives)},
                                       {"sampler", options.registry().print(options.get("sampler"))},
                                       {"by_order", study.by_order()},
                                       {"seed", seed}};
  auto storage = place.open();
  storage->open(description, first, [&](const Value& stored) {
    for (const auto& [part, name] : {std::pair{"space", "space"}, {"objectives", "goal"}}) {
      if (to_json(stored[part]) == to_json(description[part])) continue;
      const char* const option = options.given("file") ? "file" : "name";
      throw options.error(option, place.text() + " holds a study with another " + name)
          .hint(std::string("give another ") + option);
    }
  });
  shared_ = std::make_unique<SharedStudy>(std::move(storage), std::move(study),
                                          Storage::Owner{.name = this_process(), .supervisor = "", .expires = 0});
  keeper_ = std::make_unique<LeaseKeeper>(shared_->storage());
}

StudyObject::~StudyObject() {
  keeper_.reset();
  for (const auto& [trial, lease] : leases_) {
    try {
      shared_->storage().give_back(lease);
    } catch (const std::exception&) {
      // Lost already, or the disk is full: then it waits again when its time is over.
    }
  }
}

void StudyObject::follow() {
  if (shared_) shared_->follow();
}

std::vector<std::int64_t> StudyObject::pareto() const {
  const Trials& trials = study().trials();
  std::vector<std::int64_t> numbers;
  std::vector<double> points;
  for (std::int64_t t = 0; t < trials.size(); ++t) {
    if (trials.state(t) != TrialState::complete) continue;
    numbers.push_back(t);
    for (std::size_t k = 0; k < trials.objectives(); ++k) {
      points.push_back(study().maximize()[k] ? -trials.values(t)[k] : trials.values(t)[k]);
    }
  }
  std::vector<std::int64_t> best;
  if (numbers.empty()) return best;
  const auto fronts = pareto_fronts(points, trials.objectives(), 1);
  for (const std::uint32_t place : fronts.front()) best.push_back(numbers[place]);
  return best;
}

StudyObject::Asked StudyObject::ask() {
  if (study().trials().size() >= most_trials) {
    throw recipe_error("a study holds " + std::to_string(most_trials) + " trials at most");
  }
  bool wait = false;
  if (shared_) {
    const double now = wall_seconds();
    const SharedStudy::Asked asked =
        shared_->ask(now, now + LeaseKeeper::lease_seconds, std::numeric_limits<std::int64_t>::max());
    if (asked.lease) {
      shared_->follow();  // its own beginning
      leases_[asked.lease->trial] = *asked.lease;
      keeper_->add(*asked.lease);
      return {asked.lease->trial, ""};
    }
    wait = asked.wait;
  } else {
    const Study::Asked asked = own_->ask();
    if (asked.trial) return {asked.trial, ""};
    wait = asked.wait;
  }
  return {std::nullopt, wait ? "others must end first" : "the space is used up"};
}

void StudyObject::enqueue(const Value& params) {
  const std::vector<double> point = study().space().point_of(params);
  if (shared_) {
    shared_->storage().enqueue(point);
    shared_->follow();
  } else {
    own_->enqueue(point);
  }
}

void StudyObject::require_running(std::int64_t trial) {
  if (shared_ && leases_.contains(trial)) return;
  follow();
  const Trials& trials = study().trials();
  const std::string name = "trial " + std::to_string(trial);
  if (trial < 0 || trial >= trials.size()) throw recipe_error("there is no " + name);
  const TrialState state = trials.state(trial);
  if (is_final(state)) {
    throw recipe_error(name + " has ended (" + std::string(trial_state_name(state)) +
                       "): a finished trial does not change");
  }
  if (state == TrialState::waiting) throw recipe_error(name + " waits: study:ask() will begin it");
  if (shared_) throw recipe_error(name + " runs elsewhere: who asked for it ends it");
}

void StudyObject::drop(std::int64_t trial) {
  keeper_->remove(leases_.at(trial));
  leases_.erase(trial);
}

void StudyObject::report(std::int64_t trial, const TrialReport& report) {
  require_running(trial);
  if (shared_) {
    shared_->report(leases_.at(trial), {&report, 1});
  } else {
    own_->report(trial, report);
  }
}

bool StudyObject::should_prune(std::int64_t trial) {
  require_running(trial);
  if (!pruner_) return false;
  follow();
  const Trials& trials = study().trials();
  if (trials.last_resource(trial) == 0) return false;
  const std::int64_t visible = deterministic_ ? Study::visible(trial) : trials.size();
  std::int64_t& judged = judged_[{trial, trials.last_repeat(trial)}];
  // The recipe may ask less often than it reports, and report again from an earlier step on.
  const std::int64_t before = std::min(judged, trials.previous_resource(trial));
  judged = trials.last_resource(trial);
  return pruner_->prunes(Curves(trials, study().maximize(), visible, before), trial);
}

void StudyObject::tell(std::int64_t trial, TrialState state, std::span<const double> values) {
  require_running(trial);
  std::erase_if(judged_, [&](const auto& one) { return one.first.first == trial; });
  if (shared_) {
    // A failed write leaves it under way, to be told again; a lease that was lost does not come back.
    try {
      shared_->end({{leases_.at(trial), state, {values.begin(), values.end()}, Value::Map{}}});
    } catch (const LeaseLost&) {
      drop(trial);
      throw;
    }
    drop(trial);
    return;
  }
  switch (state) {
    case TrialState::complete: own_->tell(trial, values); break;
    case TrialState::pruned: own_->prune(trial); break;
    default: own_->fail(trial); break;
  }
}

}  // namespace trainlab
