// Schedulers: which trial continues which, how far, and what the sampler sees of it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <set>

#include "study/study.h"
#include "study_support.h"

namespace trainlab::schedulers_test {

namespace {

constexpr std::int64_t none = -1;

struct Sum {
  std::int64_t trials = 0, validations = 0;

  bool operator==(const Sum&) const = default;
};

Sum sum_of(const std::vector<TrainingWave>& waves) {
  Sum sum;
  for (const TrainingWave& wave : waves) {
    sum.trials += wave.trials * wave.times;
    sum.validations += wave.trials * wave.times * wave.validations;
  }
  return sum;
}

struct Chain {
  std::vector<std::int64_t> parents, until;  // by trial; `none` for a trial without a parent
  std::vector<double> x;

  // The segments of the first trials together.
  Sum sum_of(std::int64_t trials) const {
    Sum sum{.trials = trials};
    for (std::size_t trial = 0; trial < static_cast<std::size_t>(trials); ++trial) {
      const std::int64_t parent = parents[trial];
      sum.validations += until[trial] - (parent == none ? 0 : until[static_cast<std::size_t>(parent)]);
    }
    return sum;
  }
};

// A study of `count` trials in which a trial's value is its x, which is to be small. At most `at_once` trials run.
Chain run(const std::string& scheduler, std::int64_t count, const std::string& sampler = "sampler.random",
          std::size_t at_once = 1'000'000) {
  const Space space = parse_space(R"({"x": {"@": "space.uniform", "low": 0, "high": 1}})");
  Study study(space, parse_sampler(R"({"@": ")" + sampler + "\"}", space),
              {.scheduler = make_scheduler(parse_entry(scheduler), space, 1, 1)});
  Chain chain;
  std::vector<std::int64_t> open;
  while (study.trials().size() < count || !open.empty()) {
    const bool may_begin = study.trials().size() < count && open.size() < at_once;
    const Study::Asked asked = may_begin ? study.ask() : Study::Asked{};
    if (asked.trial) {
      const Segment segment = study.segment(*asked.trial);
      chain.parents.push_back(segment.parent.value_or(none));
      chain.until.push_back(segment.until);
      chain.x.push_back(study.trials().point(*asked.trial)[0]);
      open.push_back(*asked.trial);
      continue;
    }
    REQUIRE_FALSE(open.empty());  // the study waits for trials that are under way
    // The last first: the order in which trials end must not matter.
    study.tell(open.back(), study.trials().point(open.back()));
    open.pop_back();
  }
  return chain;
}

bool begin(const Chain& chain, std::int64_t first, std::int64_t last) {
  return std::all_of(chain.parents.begin() + first, chain.parents.begin() + last,
                     [](std::int64_t parent) { return parent == none; });
}

}  // namespace

TEST_CASE("successive halving continues the best of each rung, whatever the sampler") {
  for (const std::string sampler : {"sampler.random", "sampler.tpe"}) {
    const Chain chain =
        run(R"({"@": "scheduler.halving", "configurations": 7, "min": 2, "reduction": 2})", 22, sampler);
    // Rungs of 7, 3 and 1 trials, twice.
    CHECK(chain.until == std::vector<std::int64_t>{2, 2, 2, 2, 2, 2, 2, 4, 4, 4, 8, 2, 2, 2, 2, 2, 2, 2, 4, 4, 4, 8});
    CHECK(begin(chain, 0, 7));
    CHECK(std::set(chain.parents.begin() + 7, chain.parents.begin() + 10).size() == 3);
    CHECK(chain.x[7] == *std::min_element(chain.x.begin(), chain.x.begin() + 7));
    CHECK(chain.parents[10] == 7);  // the values stay, so the best of the second rung is the best of the first
    CHECK(begin(chain, 11, 18));
    CHECK(chain.parents[21] == 18);
    for (std::size_t t = 0; t < chain.parents.size(); ++t) {
      if (chain.parents[t] != none) CHECK(chain.x[t] == chain.x[static_cast<std::size_t>(chain.parents[t])]);
    }
  }
}

TEST_CASE("Hyperband has a bracket for each starting length") {
  const Chain chain = run(R"({"@": "scheduler.hyperband", "min": 1, "max": 9})", 22 + 9);
  // Brackets of 9, 3, 1; of 5, 1; and of 3 (Li et al. 2018, section 3, for η = 3 and max = 9).
  const std::vector<std::int64_t> until{1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 9, 3, 3, 3, 3, 3, 9, 9, 9, 9};
  CHECK(std::equal(until.begin(), until.end(), chain.until.begin()));
  CHECK(begin(chain, 0, 9));
  CHECK(chain.parents[12] == 9);
  CHECK(begin(chain, 13, 18));
  CHECK(chain.x[18] == *std::min_element(chain.x.begin() + 13, chain.x.begin() + 18));
  CHECK(begin(chain, 19, 31));  // the last bracket, and the next round
  const Space space = parse_space(R"({"x": 1})");
  CHECK_THROWS_WITH(make_scheduler(parse_entry(R"({"@": "scheduler.hyperband", "min": 9, "max": 3})"), space, 1, 1),
                    Catch::Contains("expected at least min = 9, found 3"));
}

TEST_CASE("asynchronous halving continues the best of a rung without waiting, and the longest rung comes first") {
  const Space space = parse_space(R"({"x": {"@": "space.uniform", "low": 0, "high": 1}})");
  const std::string asha = R"({"@": "scheduler.asha", "min": 1, "max": 4, "reduction": 2})";
  Study study(space, parse_sampler(R"({"@": "sampler.random"})", space),
              {.scheduler = make_scheduler(parse_entry(asha), space, 1, 1)});
  std::int64_t next = 0;
  const auto begins = [&](std::int64_t parent, std::int64_t until) {
    const std::int64_t trial = study.ask().trial.value();
    INFO(trial);
    CHECK(trial == next++);
    CHECK(study.segment(trial).parent.value_or(none) == parent);
    CHECK(study.segment(trial).until == until);
    if (parent != none) CHECK(study.trials().point(trial)[0] == study.trials().point(parent)[0]);
  };
  for (int i = 0; i < 3; ++i) begins(none, 1);
  study.tell(0, {3.0});
  begins(none, 1);  // a half of one trial is none
  study.tell(1, {2.0});
  begins(1, 2);
  begins(none, 1);  // trial 1 continues once
  study.tell(2, {1.0});
  study.fail(3);
  begins(2, 2);  // a failed trial is one of its rung, the worst
  study.tell(4, {5.0});
  study.tell(6, {4.0});
  begins(6, 4);  // though trial 5 would be a new configuration's first rival
  study.wait_again(7);
  study.tell(5, {0.5});
  CHECK(study.ask().trial == 7);  // with the parent that it had, whatever is best by now
  CHECK(study.segment(7).parent == 6);
  begins(5, 2);
  study.tell(7, {0.1});
  begins(none, 1);  // trial 7 has trained for as long as any trial
  // A trial whose values are given is a configuration that begins.
  study.tell(8, {0.2});
  study.enqueue(std::vector{0.75});
  begins(none, 1);
  CHECK(study.trials().point(10)[0] == 0.75);
  begins(8, 4);
}

TEST_CASE("each member of a population continues itself, and the worst quarter continues the best quarter") {
  const Chain chain = run(R"({"@": "scheduler.pbt", "population": 8, "interval": 3})", 24);
  std::int64_t copies = 0;
  for (std::int64_t trial = 8; trial < 24; ++trial)
    copies += chain.parents[static_cast<std::size_t>(trial)] != trial - 8;
  CHECK(copies == 4);
  CHECK(chain.until[0] == 3);
  CHECK(chain.until[23] == 9);
}

TEST_CASE("a schedule without a number of trials is as long as its rungs, or has no end") {
  const Space space = parse_space(R"({"x": 1})");
  const auto longest = [&](const char* entry) {
    return make_scheduler(parse_entry(entry), space, 1, 1)->longest(std::numeric_limits<std::int64_t>::max());
  };
  CHECK(longest(R"({"@": "scheduler.halving", "configurations": 7, "min": 2, "reduction": 2})") == 8);
  CHECK(longest(R"({"@": "scheduler.hyperband", "max": 9})") == 9);
  CHECK(longest(R"({"@": "scheduler.asha", "max": 9})") == 9);
  CHECK(longest(R"({"@": "scheduler.pbt", "population": 4})") == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("the first rung suits the weights that trainings deliver") {
  const Space space = parse_space(R"({"x": 1})");
  using Weights = Delivery::Weights;
  struct Ends {
    std::int64_t first, last;
    bool operator==(const Ends&) const = default;
  };
  // The first rung, where the first trials end, and the end of the longest chain.
  const auto ends = [&](const std::string& entry, Weights weights, std::int64_t validations) {
    const auto made = make_scheduler(parse_entry(entry), space, 1, 1, {.weights = weights, .validations = validations});
    return Ends{made->longest(1), made->longest(std::numeric_limits<std::int64_t>::max())};
  };
  const std::string halving = R"({"@": "scheduler.halving", "configurations": 27})";
  CHECK(ends(halving, Weights::best, 27) == Ends{1, 27});
  CHECK(ends(halving, Weights::best, 100) == Ends{3, 81});
  CHECK(ends(halving, Weights::last, 27) == Ends{9, 27});
  CHECK(ends(halving, Weights::last, 100) == Ends{33, 99});
  // A 27th would be less than 3 %, or no validation at all.
  CHECK(ends(halving, Weights::best, 53) == Ends{5, 45});
  CHECK(ends(halving, Weights::best, 9) == Ends{1, 9});
  CHECK(ends(halving, Weights::last, 1) == Ends{1, 1});
  // Fewer configurations come to the whole length on fewer rungs.
  CHECK(ends(R"({"@": "scheduler.halving", "configurations": 9})", Weights::best, 27) == Ends{3, 27});
  // Where it is not known what is delivered, early values may say as little as with the last weights.
  CHECK(ends(halving, Weights::unknown, 100) == Ends{33, 99});
  // Rungs of a training whose length is not known begin with 1.
  for (const Weights weights : {Weights::best, Weights::last, Weights::unknown})
    CHECK(ends(halving, weights, 0) == Ends{1, 27});
  CHECK(ends(R"({"@": "scheduler.halving", "configurations": 27, "min": 2})", Weights::last, 100) == Ends{2, 54});
  CHECK(ends(R"({"@": "scheduler.halving", "configurations": 64, "reduction": 2})", Weights::best, 64) == Ends{4, 64});
  for (const std::string name : {"asha", "hyperband"}) {
    const std::string entry = R"({"@": "scheduler.)" + name + R"(", "max": 27})";
    CHECK(ends(entry, Weights::best, 0) == Ends{1, 27});
    CHECK(ends(entry, Weights::last, 0) == Ends{9, 27});
    CHECK(ends(entry, Weights::unknown, 0) == Ends{9, 27});
  }
}

TEST_CASE("a scheduler knows its longest chain, how many configurations begin, and how long all segments are") {
  const Space space = parse_space(R"({"x": 1})");
  for (const char* entry :
       {R"({"@": "scheduler.halving", "configurations": 7, "min": 2, "reduction": 2})",
        R"({"@": "scheduler.hyperband", "min": 1, "max": 9})", R"({"@": "scheduler.pbt", "population": 4})"}) {
    const auto scheduler = make_scheduler(parse_entry(entry), space, 1, 1);
    const Chain chain = run(entry, 50);
    for (std::int64_t trials = 1; trials <= 50; ++trials) {
      INFO(entry << " " << trials);
      CHECK(scheduler->longest(trials) == *std::max_element(chain.until.begin(), chain.until.begin() + trials));
      CHECK(scheduler->beginnings(trials) == std::count(chain.parents.begin(), chain.parents.begin() + trials, none));
      CHECK(sum_of(scheduler->waves(trials)) == chain.sum_of(trials));
    }
    const std::int64_t given = scheduler->most_given();
    CHECK(scheduler->beginnings(given) == given);
    CHECK(scheduler->beginnings(given + 1) == given);
  }
}

TEST_CASE("asynchronous halving has bounds of its longest chain, of what begins and of its segments") {
  const Space space = parse_space(R"({"x": 1})");
  const std::string entry = R"({"@": "scheduler.asha", "min": 1, "max": 8, "reduction": 2})";
  const auto scheduler = make_scheduler(parse_entry(entry), space, 1, 1);
  for (const std::size_t at_once : {1U, 3U}) {
    const Chain chain = run(entry, 60, "sampler.random", at_once);
    CHECK(*std::ranges::max_element(chain.until) == 8);
    for (std::int64_t trials = 1; trials <= 60; ++trials) {
      CHECK(scheduler->longest(trials) >= *std::max_element(chain.until.begin(), chain.until.begin() + trials));
      CHECK(scheduler->beginnings(trials) <= std::count(chain.parents.begin(), chain.parents.begin() + trials, none));
      const Sum most = sum_of(scheduler->waves(trials)), found = chain.sum_of(trials);
      CHECK(most.trials == found.trials);
      CHECK(most.validations >= found.validations);
    }
  }
  // Where each configuration is better than all before, the sixth trial is in the third rung.
  Study study(space, parse_sampler(R"({"@": "sampler.random"})", space), {.scheduler = scheduler});
  for (int trial = 0; trial < 6; ++trial) study.tell(study.ask().trial.value(), {static_cast<double>(-trial)});
  CHECK(study.segment(4).until == 2);
  CHECK(study.segment(5).until == 4);
  CHECK(scheduler->waves(6) == std::vector<TrainingWave>{{.trials = 3, .validations = 1},
                                                         {.trials = 2, .validations = 1},
                                                         {.trials = 1, .validations = 2}});
  CHECK(scheduler->longest(5) == 2);
  CHECK(scheduler->longest(6) == 4);
}

TEST_CASE("a scheduler takes one objective") {
  const Space space = parse_space(R"({"x": 1})");
  CHECK_THROWS_WITH(make_scheduler(parse_entry(R"({"@": "scheduler.pbt"})"), space, 1, 2),
                    Catch::Contains("expected a study of one objective, found 2"));
}

}  // namespace trainlab::schedulers_test
