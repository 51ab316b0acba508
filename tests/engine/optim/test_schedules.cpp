#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "core/error.h"
#include "core/random/stream.h"
#include "optim/scaled_rate.h"
#include "optim/schedule.h"
#include "specs.h"

namespace trainlab::schedules_test {

namespace {

constexpr RunLength hundred{.total_steps = 100, .steps_per_epoch = 10, .batch = 4};

std::unique_ptr<Schedule> make(const std::string& entry, Value::Map options, const RunLength& length = hundred) {
  return make_schedule(optim_spec(entry, std::move(options)), length);
}

// Returns the numbers of a function in C++, and counts its calls.
class Function : public Callable {
 public:
  explicit Function(std::function<std::vector<Argument>(std::int64_t, std::int64_t)> f) : f_(std::move(f)) {}
  std::vector<Argument> call(std::span<const Argument> arguments) override {
    ++calls;
    REQUIRE(arguments.size() == 2);
    return f_(std::get<Value>(arguments[0]).integer(), std::get<Value>(arguments[1]).integer());
  }
  void rekey(Key key) override { keys.push_back(key.bits()); }
  const std::string& where() const override { return where_; }

  int calls = 0;
  std::vector<std::uint64_t> keys;

 private:
  std::function<std::vector<Argument>(std::int64_t, std::int64_t)> f_;
  std::string where_ = "x.lua:18";
};

double number_or_nan(const Value& value) {
  return value.is_nil() ? std::numeric_limits<double>::quiet_NaN() : value.number();
}

}  // namespace

TEST_CASE("schedules: constant") {
  CHECK(constant_schedule()->factor(7) == 1);
  CHECK(make("sched.constant", {})->factor(99) == 1);
  CHECK(make("sched.constant", {})->state().is_nil());
}

TEST_CASE("schedules: step is PyTorch's StepLR") {
  for (const Value& golden : optim_golden()["step"].list()) {
    const auto schedule = make(
        "sched.step", {{"every", std::to_string(golden["every"].integer()) + " steps"}, {"factor", golden["factor"]}});
    const Value::List& factors = golden["factors"].list();
    for (std::size_t i = 0; i < factors.size(); ++i)
      CHECK(schedule->factor(static_cast<std::int64_t>(i)) == Approx(factors[i].number()).epsilon(1e-13));
  }
}

TEST_CASE("schedules: equal to PyTorch's") {
  std::size_t compared = 0;
  for (const Value& golden : optim_golden()["schedules"].list()) {
    INFO(golden["name"].string() << " " << to_json(golden["options"]));
    const auto schedule = make(golden["name"].string(), golden["options"].map(),
                               {.total_steps = golden["total"].integer(), .steps_per_epoch = 10, .batch = 4});
    const Value::List& factors = golden["factors"].list();
    double worst = 0;
    for (std::size_t i = 0; i < factors.size(); ++i)
      worst = std::max(worst, std::abs(schedule->factor(static_cast<std::int64_t>(i)) - factors[i].number()));
    CHECK(worst < 1e-10);
    ++compared;
  }
  CHECK(compared > 20);
}

TEST_CASE("schedules: a warm-up before any curve") {
  for (const auto& [name, options] :
       std::map<std::string, Value::Map>{{"sched.linear", {{"finish", 0.2}}},
                                         {"sched.polynomial", {{"power", 2}}},
                                         {"sched.exponential", {{"factor", 0.5}}},
                                         {"sched.step", {{"every", "1 epochs"}}},
                                         {"sched.cosine", {}},
                                         {"sched.cosine_restarts", {{"every", "20 steps"}}},
                                         {"sched.wsd", {{"decay", "30 steps"}}}}) {
    INFO(name);
    Value::Map warm = options;
    warm["warmup"] = "10%";
    const auto with = make(name, warm),
               without = make(name, options, {.total_steps = 90, .steps_per_epoch = 10, .batch = 4});
    for (int step = 0; step < 10; ++step) CHECK(with->factor(step) == Approx((step + 1) / 11.0));
    for (int step = 0; step <= 95; ++step) CHECK(with->factor(step + 10) == without->factor(step));
  }
  const auto root = make("sched.inverse_sqrt", {{"warmup", "15 steps"}});
  CHECK(root->factor(14) == Approx(15.0 / 16));
  CHECK(root->factor(15) == 1);
  CHECK(root->factor(63) == 0.5);
}

TEST_CASE("schedules: a stable stretch and its fall") {
  const auto factor = [](const std::string& shape, std::int64_t step) {
    return make("sched.wsd", {{"decay", "20%"}, {"shape", shape}, {"floor", 0.1}})->factor(step);
  };
  for (const std::string shape : {"linear", "sqrt", "cosine"}) {
    CHECK(factor(shape, 80) == Approx(1));
    CHECK(factor(shape, 79) == 1);
    CHECK(factor(shape, 100) == Approx(0.1));
  }
  CHECK(factor("linear", 85) == Approx(0.1 + 0.9 * 0.75));
  CHECK(factor("sqrt", 85) == Approx(0.1 + 0.9 * 0.5));
  CHECK(factor("cosine", 90) == Approx(0.1 + 0.9 * 0.5));
}

TEST_CASE("schedules: a sequence has lengths of its own, also where the total comes late") {
  const Value::List parts{Value::Map{{"@", "sched.linear"}, {"start", 0.5}, {"finish", 1.0}},
                          Value::Map{{"@", "sched.cosine"}}};
  const auto schedule =
      make("sched.sequence", {{"parts", parts}, {"at", "20%"}}, {.total_steps = 0, .steps_per_epoch = 10});
  schedule->set_total(50);
  CHECK(schedule->factor(0) == 0.5);
  CHECK(schedule->factor(5) == 0.75);
  CHECK(schedule->factor(10) == 1);
  CHECK(schedule->factor(30) == Approx(0.5));
  const auto resumed =
      make("sched.sequence", {{"parts", parts}, {"at", "20%"}}, {.total_steps = 0, .steps_per_epoch = 10});
  resumed->restore(parse_json(to_json(schedule->state()), "state"));
  for (int step = 0; step < 60; ++step) CHECK(resumed->factor(step) == schedule->factor(step));

  CHECK_THROWS_WITH(
      make("sched.sequence", {{"parts", parts}, {"at", Value::List{"1 steps", "2 steps"}}}),
      Catch::Contains("optim.at") && Catch::Contains("expected a time for each part but the first, 1, found 2"));
  CHECK_THROWS_WITH(make("sched.sequence", {{"parts", Value::List{parts[0], parts[0], parts[1]}},
                                            {"at", Value::List{"9 steps", "2 steps"}}}),
                    Catch::Contains("rising order"));
}

TEST_CASE("schedules: a plateau acts at any depth, in its part of a sequence, and is resumed there") {
  const Value plateau = Value::Map{{"@", "sched.plateau"}, {"patience", 0}, {"factor", 0.5}};
  const Value product = Value::Map{{"@", "sched.product"}, {"parts", Value::List{"constant", plateau}}};
  const Value nested =
      Value::Map{{"@", "sched.sequence"}, {"parts", Value::List{"constant", product}}, {"at", "10 steps"}};
  for (const Value& second : {plateau, product, nested}) {
    INFO(to_json(second));
    const Value::Map options{{"parts", Value::List{"constant", second}}, {"at", "10 steps"}};
    const auto whole = make("sched.sequence", options);
    // Validations of the part before it do not count.
    for (int step = 0; step < 10; ++step) {
      CHECK(whole->factor(step) == 1);
      whole->validated(1.0 + step, true);
    }
    CHECK(whole->factor(25) == 1);
    for (const double value : {1.0, 2.0}) whole->validated(value, true);
    CHECK(whole->factor(26) == 0.5);
    const auto resumed = make("sched.sequence", options);
    resumed->restore(parse_json(to_json(whole->state()), "state"));
    for (const auto& schedule : {&whole, &resumed}) (*schedule)->validated(1.5, true);
    CHECK(whole->factor(27) == 0.25);
    CHECK(resumed->factor(27) == 0.25);
  }
}

TEST_CASE("schedules: only a plateau above its floor may be lowered by validations") {
  const Value::Map options{{"patience", 0}, {"factor", 0.1}, {"floor", 0.1}};
  Value plateau = options;
  plateau.set("@", "sched.plateau");
  const Value::Map parts{{"parts", Value::List{"constant", plateau}}};
  Value::Map in_turn = parts, reversed{{"parts", Value::List{plateau, "constant"}}, {"at", "50%"}};
  in_turn["at"] = "50%";
  CHECK_FALSE(make("sched.cosine", {})->may_fall());
  Value::Map aware = options;
  aware["noise_aware"] = true;
  CHECK(make("sched.plateau", aware)->may_fall());
  for (const auto& schedule : {make("sched.plateau", options), make("sched.product", parts)}) {
    CHECK(schedule->may_fall());
    for (const double value : {1.0, 2.0}) schedule->validated(value, true);
    CHECK_FALSE(schedule->may_fall());
  }
  const auto later = make("sched.sequence", in_turn), earlier = make("sched.sequence", reversed);
  later->factor(0);
  earlier->factor(0);
  CHECK(later->may_fall());
  CHECK(earlier->may_fall());
  later->factor(99);
  earlier->factor(99);
  CHECK(later->may_fall());
  CHECK_FALSE(earlier->may_fall());
}

TEST_CASE("schedules: a fall that is still to come is seen at the bottom of a cycle too, and however many are left") {
  const auto falls = [](const std::string& entry, const Value::Map& options, std::int64_t step, std::int64_t total) {
    const auto schedule = make(entry, options, {.total_steps = total, .steps_per_epoch = 10, .batch = 4});
    return falls_between(*schedule, step, total);
  };
  for (const std::int64_t total : {300, 30'000, 3'000'000}) {
    INFO(total);
    const Value::Map restarts{{"every", "100 steps"}}, cycles{{"up", "50 steps"}};
    for (const std::int64_t step : {99, 199, 150}) CHECK(falls("sched.cosine_restarts", restarts, step, total));
    for (const std::int64_t step : {0, 100, 150}) CHECK(falls("sched.cyclic", cycles, step, total));
    CHECK_FALSE(falls("sched.cyclic", {{"up", std::to_string(total) + " steps"}}, 0, total));
    CHECK(falls("sched.cosine", {}, 0, total));
    CHECK(falls("sched.wsd", {{"decay", "2%"}}, 0, total));
    CHECK_FALSE(falls("sched.wsd", {{"decay", "2%"}}, total - 1, total));
    CHECK_FALSE(falls("sched.cosine", {{"floor", 0.95}}, 0, total));
    CHECK_FALSE(falls("sched.constant", {}, 0, total));
    const Value::Map linear{{"start", 0.1}, {"finish", 1}};
    CHECK_FALSE(falls("sched.linear", linear, 0, total));
    const Value::Map rises_again{{"parts", Value::List{"constant", "cosine", "constant"}},
                                 {"at", Value::List{"40%", "50%"}}};
    CHECK(falls("sched.sequence", rises_again, 0, total));
    CHECK_FALSE(falls("sched.sequence", rises_again, total / 2, total));
  }
}

TEST_CASE("schedules: a function is asked for single steps ahead, and its table stays that of the present step") {
  const auto function = std::make_shared<Function>(
      [](std::int64_t step, std::int64_t) { return std::vector<Argument>{Value(step < 50'000 ? 1.0 : 0.5)}; });
  const auto schedule = make_schedule(function, {.total_steps = 100'000, .steps_per_epoch = 10, .batch = 4}, Key(1));
  CHECK(schedule->factor(1'500) == 1);
  CHECK(function->calls == 1'000);
  CHECK(falls_between(*schedule, 1'500, 100'000));
  CHECK(function->calls < 1'100);
  const int before = function->calls;
  CHECK(schedule->factor(1'501) == 1);
  CHECK(function->calls == before);
  CHECK_FALSE(falls_between(*schedule, 60'000, 100'000));
}

TEST_CASE("schedules: a sequence of a run that was extended has the lengths of the longer run") {
  const Value::Map options{{"parts", Value::List{"constant", "cosine"}}, {"at", "50%"}};
  const auto before = make("sched.sequence", options), after = make("sched.sequence", options, {.total_steps = 400});
  after->restore(parse_json(to_json(before->state()), "state"));
  CHECK(after->factor(199) == 1);
  CHECK(after->factor(300) == Approx(0.5));
}

TEST_CASE("schedules: a product keeps the state of its parts") {
  const Value::Map options{
      {"parts", Value::List{"cosine", Value::Map{{"@", "sched.plateau"}, {"patience", 0}, {"factor", 0.5}}}}};
  const auto schedule = make("sched.product", options), resumed = make("sched.product", options);
  for (const double value : {1.0, 2.0, 2.0}) schedule->validated(value, true);
  CHECK(schedule->factor(50) == Approx(0.5 * 0.25));
  resumed->restore(parse_json(to_json(schedule->state()), "state"));
  CHECK(resumed->factor(50) == schedule->factor(50));
}

TEST_CASE("schedules: options that make no sense") {
  CHECK_THROWS_WITH(make("sched.multi_step", {}), Catch::Contains("at"));
  CHECK_THROWS_WITH(make("sched.multi_step", {{"at", "5 min"}}),
                    Catch::Contains("optim.at") && Catch::Contains("5 min"));
  CHECK_THROWS_WITH(make("sched.one_cycle", {{"rise", 1}}), Catch::Contains("rise"));
  CHECK_THROWS_WITH(make("sched.cyclic", {{"mode", "square"}}), Catch::Contains("triangular"));
  CHECK_THROWS_WITH(make("sched.exponential", {}), Catch::Contains("factor"));
  CHECK_THROWS_WITH(make("sched.linear", {{"start", -1}}), Catch::Contains("start"));
}

TEST_CASE("schedules: step in every unit") {
  for (const std::string every : {"20 steps", "2 epochs", "80 samples", "20%"}) {
    INFO(every);
    const auto schedule = make("sched.step", {{"every", every}, {"factor", 0.5}});
    CHECK(schedule->factor(19) == 1);
    CHECK(schedule->factor(20) == 0.5);
    CHECK(schedule->factor(99) == 0.0625);
  }
}

TEST_CASE("schedules: cosine is PyTorch's, after a linear rise") {
  for (const Value& golden : optim_golden()["cosine"].list()) {
    const auto schedule = make(
        "sched.cosine", {{"warmup", std::to_string(golden["warmup"].integer()) + " steps"}, {"floor", golden["floor"]}},
        {.total_steps = golden["total"].integer(), .steps_per_epoch = 10, .batch = 4});
    const Value::List& factors = golden["factors"].list();
    for (std::size_t i = 0; i < factors.size(); ++i)
      CHECK(schedule->factor(static_cast<std::int64_t>(i)) == Approx(factors[i].number()).epsilon(1e-12).margin(1e-15));
  }
}

TEST_CASE("schedules: cosine's closed form and its edges") {
  const auto plain = make("sched.cosine", {});
  CHECK(plain->factor(0) == 1);
  CHECK(plain->factor(50) == Approx(0.5).epsilon(1e-15));
  CHECK(plain->factor(100) == 0);
  CHECK(plain->factor(1000) == 0);
  const auto warm = make("sched.cosine", {{"warmup", "9%"}, {"floor", 0.1}});
  CHECK(warm->factor(0) == 0.1);
  CHECK(warm->factor(8) == 0.9);
  CHECK(warm->factor(9) == 1);
  CHECK(warm->factor(100) == 0.1);
  const auto rise_only = make("sched.cosine", {{"warmup", "100%"}});
  CHECK(rise_only->factor(99) == Approx(100.0 / 101));
  CHECK(rise_only->factor(100) == 0);
}

TEST_CASE("schedules: a total that a time budget leaves open") {
  const RunLength open{.total_steps = 0, .steps_per_epoch = 10, .batch = 4};
  const auto schedule = make("sched.cosine", {{"warmup", "5%"}}, open);
  const auto assumed = make("sched.cosine", {{"warmup", "1000 steps"}}, {.total_steps = assumed_steps});
  CHECK(schedule->state().is_nil());
  for (const std::int64_t step : {0, 19, 5000}) CHECK(schedule->factor(step) == assumed->factor(step));

  schedule->set_total(200);
  const auto known = make("sched.cosine", {{"warmup", "10 steps"}}, {.total_steps = 200});
  const auto resumed = make("sched.cosine", {{"warmup", "5%"}}, open);
  resumed->restore(parse_json(to_json(schedule->state()), "state"));
  for (const std::int64_t step : {0, 9, 10, 20, 100, 199, 200}) {
    CHECK(schedule->factor(step) == known->factor(step));
    CHECK(resumed->factor(step) == known->factor(step));
  }
}

TEST_CASE("schedules: a time is no number of steps") {
  CHECK_THROWS_WITH(make("sched.cosine", {{"warmup", "5 min"}}),
                    Catch::Contains("recipe.lua:3") && Catch::Contains("optim.warmup") && Catch::Contains("5 min"));
  CHECK_THROWS_WITH(make("sched.step", {{"every", "1 h"}}), Catch::Contains("optim.every"));
}

TEST_CASE("schedules: plateau is PyTorch's ReduceLROnPlateau for positive values") {
  const Value& golden = optim_golden()["plateau"];
  int reductions = 0;
  for (const Value& one : golden["cases"].list()) {
    INFO(to_json(one));
    const auto schedule = make("sched.plateau", one["options"].map());
    const Value::List& sequence = golden["sequences"][one["sequence"].string()].list();
    const Value::List& changes = one["changes"].list();
    std::size_t next = 0;
    double expected = 1;
    for (std::size_t i = 0; i < sequence.size(); ++i) {
      schedule->validated(number_or_nan(sequence[i]), one["minimize"].boolean());
      if (next < changes.size() && changes[next].list()[0].integer() == static_cast<std::int64_t>(i) + 1)
        expected = changes[next++].list()[1].number();
      REQUIRE(schedule->factor(0) == expected);
    }
    CHECK(next == changes.size());
    reductions += static_cast<int>(next);
  }
  CHECK(reductions > 200);
}

TEST_CASE("schedules: plateau with negative values, where PyTorch takes worse for better") {
  // Relative threshold 0.1 from best = −10: better means below −11 (min); from best = −10, above −9 (max).
  const auto cut = [](bool minimize, double second) {
    const auto schedule = make("sched.plateau", {{"patience", 0}, {"threshold", 0.1}, {"factor", 0.5}});
    schedule->validated(-10, minimize);
    schedule->validated(second, minimize);
    return schedule->factor(0) == 0.5;
  };
  CHECK(cut(true, -9.5));
  CHECK(cut(true, -10.9));
  CHECK_FALSE(cut(true, -11.1));
  CHECK(cut(false, -10.5));
  CHECK(cut(false, -9.1));
  CHECK_FALSE(cut(false, -8.9));
}

TEST_CASE("schedules: plateau with negative values and an absolute threshold") {
  // The case in which LibTorch's own scheduler cuts after 6 validations: the first value is far below 0 and rises.
  const auto schedule = make("sched.plateau", {{"patience", 5}, {"cooldown", 5}, {"mode", "abs"}, {"factor", 0.1}});
  std::vector<int> cuts;
  double before = 1;
  for (int i = 1; i <= 22; ++i) {
    schedule->validated(i <= 2 ? -0.8 : -0.234, false);
    if (schedule->factor(0) < before) cuts.push_back(i);
    before = schedule->factor(0);
  }
  CHECK(cuts == std::vector{9, 20});
  // min: better means more than 0.5 below.
  const auto cut = [](double second) {
    const auto one = make("sched.plateau", {{"patience", 0}, {"threshold", 0.5}, {"mode", "abs"}});
    one->validated(-10, true);
    one->validated(second, true);
    return one->factor(0) < 1;
  };
  CHECK(cut(-10.4));
  CHECK_FALSE(cut(-10.6));
}

TEST_CASE("schedules: a value that is not finite is never the best") {
  for (const double value : {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    const auto schedule = make("sched.plateau", {{"patience", 1}, {"factor", 0.5}});
    schedule->validated(value, true);
    schedule->validated(3, true);
    schedule->validated(2, true);
    CHECK(schedule->factor(0) == 1);
  }
}

TEST_CASE("schedules: plateau goes on from its state") {
  const auto values = [](int i) { return 1 + 0.3 * std::sin(0.9 * i); };
  const Value::Map options{{"patience", 1}, {"factor", 0.7}, {"cooldown", 2}};
  for (int cut = 0; cut < 20; ++cut) {
    const auto whole = make("sched.plateau", options), before = make("sched.plateau", options),
               after = make("sched.plateau", options);
    for (int i = 0; i < cut; ++i) {
      whole->validated(values(i), true);
      before->validated(values(i), true);
    }
    after->restore(parse_json(to_json(before->state()), "state"));
    for (int i = cut; i < 30; ++i) {
      whole->validated(values(i), true);
      after->validated(values(i), true);
      REQUIRE(whole->factor(i) == after->factor(i));
    }
    CHECK(whole->factor(0) < 0.5);
  }
}

TEST_CASE("schedules: a function is tabulated, in any order, never beyond the run") {
  const auto function = std::make_shared<Function>([](std::int64_t step, std::int64_t total) {
    REQUIRE(step < total);
    return std::vector<Argument>{Value(std::sqrt(1 - static_cast<double>(step) / static_cast<double>(total)))};
  });
  const auto schedule = make_schedule(function, {.total_steps = 2500}, Key(1));
  for (std::int64_t step = 0; step < 1000; ++step) schedule->factor(step);
  CHECK(function->calls == 1000);
  CHECK(schedule->factor(2400) == std::sqrt(1 - 2400.0 / 2500));
  CHECK(function->calls == 1500);
  CHECK(schedule->factor(999) == std::sqrt(1 - 999.0 / 2500));
  CHECK(schedule->factor(9999) == std::sqrt(1 - 2499.0 / 2500));

  const auto open = make_schedule(function, {.total_steps = 0}, Key(1));
  CHECK(open->factor(0) == 1);
  CHECK(open->factor(10) == std::sqrt(1 - 10.0 / assumed_steps));
  open->set_total(40);
  CHECK(open->factor(10) == std::sqrt(1 - 10.0 / 40));
}

TEST_CASE("schedules: a function's random numbers depend on the run and the step only") {
  const auto keys = [](std::uint64_t seed, std::int64_t start) {
    const auto function =
        std::make_shared<Function>([](std::int64_t, std::int64_t) { return std::vector<Argument>{Value(1)}; });
    const auto schedule = make_schedule(function, {.total_steps = 1500}, Key(seed));
    schedule->factor(start);
    schedule->factor(1499);
    return std::vector(function->keys.end() - 500, function->keys.end());
  };
  CHECK(keys(1, 0) == keys(1, 1200));
  CHECK(keys(1, 0) != keys(2, 0));
  CHECK(keys(1, 0)[0] != keys(1, 0)[1]);
}

TEST_CASE("schedules: a function must return usable numbers") {
  const auto message = [](std::vector<Argument> results) -> std::string {
    const auto function = std::make_shared<Function>([&](std::int64_t, std::int64_t) { return results; });
    try {
      make_schedule(function, hundred, Key(1))->factor(0);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::recipe);
      CHECK(error.file() == "x.lua");
      CHECK(error.line() == 18);
      return error.what();
    }
    return "";
  };
  CHECK_THAT(message({}), Catch::Contains("found nothing at step 0"));
  CHECK_THAT(message({Value()}), Catch::Contains("found nil"));
  CHECK_THAT(message({Value("fast")}), Catch::Contains("\"fast\""));
  CHECK_THAT(message({Value(std::nan(""))}), Catch::Contains("nan"));
  CHECK_THAT(message({Value(-0.5)}), Catch::Contains("-0.5"));
  CHECK(message({Value(1)}) == "");
}

namespace {

// The validation after which the rate is first lowered, from 1; 0 for none.
int first_cut(Schedule& schedule, const std::vector<double>& values, bool minimize = true) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    schedule.validated(values[i], minimize);
    if (schedule.factor(0) < 1) return static_cast<int>(i) + 1;
  }
  return 0;
}

using CurveForm = double (*)(double);
double quick(double t) { return std::exp(-t / 20); }
double slow(double t) { return std::exp(-t / 60); }
double hyperbola(double t) { return 1 / t; }
double root(double t) { return 1 / std::sqrt(t); }

// 300 validations of a loss, whose noise has this deviation and this correlation from one to the next.
std::vector<double> noisy(CurveForm form, int seed, double deviation, double correlation) {
  Stream stream(Key(5).fold(static_cast<std::uint64_t>(seed)));
  std::vector<double> values;
  double noise = stream.normal();
  for (int t = 1; t <= 300; ++t) {
    values.push_back(form(t) + deviation * noise);
    noise = correlation * noise + std::sqrt(1 - correlation * correlation) * stream.normal();
  }
  return values;
}

// The share of trainings whose rate is lowered while more than 3 thresholds of 0.01 are still to be gained, and the
// median validation of all first cuts.
struct Cuts {
  double falsely = 0, median = 0;
};
Cuts cuts_of(const Value::Map& options, CurveForm form, double deviation, double correlation = 0) {
  constexpr int seeds = 400;
  Cuts found;
  std::vector<int> cuts;
  for (int seed = 0; seed < seeds; ++seed) {
    const int cut = first_cut(*make("sched.plateau", options), noisy(form, seed, deviation, correlation));
    if (cut > 0 && form(cut) - form(300) > 0.03) found.falsely += 1.0 / seeds;
    cuts.push_back(cut > 0 ? cut : 301);
  }
  std::ranges::sort(cuts);
  found.median = (cuts[seeds / 2 - 1] + cuts[seeds / 2]) / 2.0;
  return found;
}

const Value::Map aware{{"noise_aware", true}, {"threshold", 0.01}, {"mode", "abs"}};
const Value::Map plain{{"threshold", 0}, {"mode", "abs"}};

}  // namespace

TEST_CASE("schedules: a noise-aware plateau waits for as long as the noise demands") {
  // The gain that is left of the quick loss is below the threshold from validation 93 on.
  const Cuts usual = cuts_of(aware, quick, 0.01);
  CHECK(usual.median >= 115);
  CHECK(usual.median <= 145);
  CHECK(cuts_of(aware, quick, 0.001).median < usual.median);
  CHECK(cuts_of(aware, quick, 0.03).median > usual.median);
}

// docs/optimizers.md has these shares.
TEST_CASE("schedules: the false alarms of a noise-aware plateau are as rare as documented") {
  for (const double correlation : {0.0, 0.6}) {
    for (const CurveForm form : {quick, slow, hyperbola}) {
      CHECK(cuts_of(aware, form, 0.01, correlation).falsely <= 0.01);
      CHECK(cuts_of(aware, form, 0.03, correlation).falsely <= 0.05);
    }
  }
  CHECK(cuts_of(aware, root, 0.01).falsely <= 0.2);
  CHECK(cuts_of(plain, slow, 0.01).falsely > 0.7);
  CHECK(cuts_of(plain, quick, 0.03).falsely > 0.3);
  CHECK(cuts_of(plain, root, 0.01).falsely > 0.9);
}

TEST_CASE("schedules: a noise-aware plateau needs no threshold, and takes both directions") {
  const auto values = noisy(quick, 1, 0.01, 0);
  std::vector<double> rising;
  for (const double one : values) rising.push_back(1 - one);
  const int cut = first_cut(*make("sched.plateau", {{"noise_aware", true}}), values);
  CHECK(cut > 70);
  CHECK(first_cut(*make("sched.plateau", {{"noise_aware", true}}), rising, false) == cut);
  // It lowers the rate further, after as many validations as at least before the first time, and stops at the floor.
  const Value::Map options{{"noise_aware", true}, {"patience", 5}, {"factor", 0.5}, {"floor", 0.3}};
  const auto schedule = make("sched.plateau", options);
  std::vector<int> cuts;
  double before = 1;
  for (int i = 0; i < 200; ++i) {
    schedule->validated(i == 0 ? 2 : 1 + 1e-3 * (i % 2), true);
    if (schedule->factor(0) < before) cuts.push_back(i);
    before = schedule->factor(0);
  }
  REQUIRE(cuts.size() == 2);
  CHECK(cuts[1] - cuts[0] >= 20);
  CHECK(before == 0.3);
}

TEST_CASE("schedules: a noise-aware plateau restored from its state goes on as if it had not been away") {
  const auto values = noisy(quick, 2, 0.01, 0.3);
  const Value::Map options{{"noise_aware", true}, {"patience", 4}, {"cooldown", 3}, {"factor", 0.5}};
  const auto whole = make("sched.plateau", options);
  for (const double one : values) {
    const auto resumed = make("sched.plateau", options);
    resumed->restore(parse_json(to_json(whole->state()), "state"));
    resumed->validated(one, true);
    whole->validated(one, true);
    REQUIRE(resumed->state() == whole->state());
  }
  CHECK(whole->factor(0) < 1);
}

TEST_CASE("the rate for another batch size follows the optimizer's rule") {
  const auto scaled = [](double from, double to, const std::string& optimizer, Value::Map options = {}) {
    return scaled_rate(0.1, from, to, optim_spec(optimizer, std::move(options)));
  };
  const char* sgd = "optim.SGD";
  CHECK(scaled(64, 128, sgd) == Approx(0.1 * std::sqrt(2)));
  CHECK(scaled(64, 256, sgd) == Approx(0.2));
  CHECK(scaled(64, 320, sgd) == Approx(0.2));  // between the two rules
  CHECK(scaled(64, 1024, sgd) == Approx(0.1 * std::pow(16, 0.36)));
  CHECK(scaled(512, 64, sgd) == Approx(0.1 / (scaled(64, 512, sgd) / 0.1)));
  CHECK(scaled(64, 512, "optim.AdamW") == Approx(0.1 * std::pow(8, 0.25)));
  CHECK(scaled(64, 64, "optim.Lion") == 0.1);
  CHECK(scaled(64, 256, "optim.SAM", {{"base", Value::Map{{"@", "optim.SGD"}}}}) == Approx(0.2));
  CHECK_THROWS_WITH(scaled(64, 128, "optim.Prodigy"), Catch::Contains("found optim.Prodigy"));
}

}  // namespace trainlab::schedules_test
