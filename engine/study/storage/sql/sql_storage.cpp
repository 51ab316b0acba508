#include "sql_storage.h"

#include <soci/soci.h>

#include <cmath>
#include <map>
#include <string_view>

#include "core/clock.h"
#include "core/host.h"
#include "storage/read/stored.h"

namespace trainlab {

namespace {

class SqlStorage final : public Storage {
 public:
  explicit SqlStorage(std::unique_ptr<SqlDialect> dialect) : dialect_(std::move(dialect)) {
    guarded([&] { dialect_->connect(sql_); });
  }

  Value open(const Value& description, std::span<const std::vector<double>> first, const Accept& accept) override {
    Value stored;
    transaction(/*durable=*/true, [&] {
      const int schema = dialect_->schema(sql_);
      if (schema == 0) {
        create();
        const std::string text = to_json(description);
        run("INSERT INTO study (id, description, change, deadline) VALUES (1, :d, 0, NULL)", soci::use(text));
        stored = parse_json(text, dialect_->place());
        for (const std::vector<double>& point : first) add_waiting(point);
        return;
      }
      std::string text;
      run("SELECT description FROM study WHERE id = 1", soci::into(text));
      stored = parse_json(text, dialect_->place());
      if (accept) accept(stored);
      if (!dialect_->is_for_many_hosts()) require_one_host();
      if (schema < study_schema) migrate();
    });
    return stored;
  }

  StudyChanges changes() override {
    StudyChanges all;
    // One snapshot for both tables.
    bracketed(dialect_->begin_to_read(), [&] { all = read(); });
    return all;
  }

  std::optional<Lease> begin(const Owner& owner, double now, const Choose& choose) override {
    const double asked = steady_seconds();
    end_leases(now);
    std::optional<Lease> lease;
    transaction(/*durable=*/false, [&] {
      // Others may have kept this one waiting.
      const double waited = steady_seconds() - asked, moment = now + waited, expires = owner.expires + waited;
      int over = 0;
      run("SELECT CASE WHEN deadline < :now THEN 1 ELSE 0 END FROM study WHERE id = 1", soci::use(moment),
          soci::into(over));
      StudyChanges seen = read();
      seen.is_over = over > 0;
      const auto chosen = choose(seen);
      if (!chosen) return;
      const long long count = count_trials();
      if (over > 0 && chosen->trial == count) return;
      const long long number = chosen->trial, change = next_change();
      long long attempt = 1;
      const std::string point = numbers_text(chosen->point);
      const Segment segment = chosen->segment.value_or(Segment{});
      const long long parent = segment.parent.value_or(0), until = segment.until;
      soci::indicator has_parent = segment.parent ? soci::i_ok : soci::i_null;
      soci::indicator has_segment = chosen->segment ? soci::i_ok : soci::i_null;
      if (number == count) {
        run("INSERT INTO trials (number, state, attempt, point, values_, owner, supervisor, expires, change, "
            "parent, until) VALUES (:n, 'running', 1, :p, '', :o, :s, :e, :c, :f, :u)",
            soci::use(number), soci::use(point), soci::use(owner.name), soci::use(owner.supervisor), soci::use(expires),
            soci::use(change), soci::use(parent, has_parent), soci::use(until, has_segment));
      } else {
        // A trial that was begun before the deadline is brought to its end after the deadline.
        const bool found =
            run("UPDATE trials SET state = 'running', attempt = attempt + 1, point = :p, owner = :o, supervisor = :s, "
                "expires = :e, change = :c, parent = :f, until = :u WHERE number = :n AND state = 'waiting' AND "
                "(attempt > 0 OR :over = 0) RETURNING attempt",
                soci::use(point), soci::use(owner.name), soci::use(owner.supervisor), soci::use(expires),
                soci::use(change), soci::use(parent, has_parent), soci::use(until, has_segment), soci::use(number),
                soci::use(over), soci::into(attempt));
        if (!found && over > 0) return;
        if (!found) throw std::logic_error("Storage::begin: trial " + std::to_string(number) + " does not wait");
      }
      lease = Lease{.trial = number, .attempt = attempt, .owner = owner.name};
    });
    return lease;
  }

  std::int64_t enqueue(std::span<const double> point) override {
    std::int64_t number = 0;
    transaction(/*durable=*/true, [&] { number = add_waiting(point); });
    return number;
  }

  void set_deadline(double time) override {
    transaction(/*durable=*/false, [&] {
      soci::indicator known = std::isfinite(time) ? soci::i_ok : soci::i_null;
      run("UPDATE study SET deadline = :t", soci::use(time, known));
    });
  }

  void renew(const Lease& lease, double expires) override {
    const double asked = steady_seconds();
    transaction(/*durable=*/false, [&] {
      require(lease);
      const long long number = lease.trial;
      const double until = expires + (steady_seconds() - asked);
      run("UPDATE trials SET expires = :e WHERE number = :n", soci::use(until), soci::use(number));
    });
  }

  void report(const Lease& lease, std::span<const TrialReport> reports) override {
    transaction(/*durable=*/false, [&] {
      require(lease);
      for (const TrialReport& one : reports) {
        const long long trial = lease.trial, attempt = lease.attempt, repeat = one.repeat, resource = one.resource;
        const std::string values = numbers_text(one.values);
        run("INSERT INTO reports (trial, attempt, repeat, resource, value) VALUES (:t, :a, :r, :s, :v)",
            soci::use(trial), soci::use(attempt), soci::use(repeat), soci::use(resource), soci::use(values));
      }
    });
  }

  void end(const Lease& lease, TrialState state, std::span<const double> values, const Value& info) override {
    transaction(/*durable=*/true, [&] {
      require(lease);
      const long long number = lease.trial, change = next_change();
      const std::string name(trial_state_name(state)), numbers = numbers_text(values), text = to_json(info);
      run("UPDATE trials SET state = :s, values_ = :v, info = :i, change = :c WHERE number = :n", soci::use(name),
          soci::use(numbers), soci::use(text), soci::use(change), soci::use(number));
    });
  }

  void give_back(const Lease& lease) override {
    transaction(/*durable=*/false, [&] {
      require(lease);
      const long long number = lease.trial, change = next_change();
      run("UPDATE trials SET state = 'waiting', change = :c WHERE number = :n", soci::use(change), soci::use(number));
    });
  }

  void lose(const Lease& lease) override {
    transaction(/*durable=*/false, [&] {
      const long long number = lease.trial, attempt = lease.attempt, change = next_change();
      run("UPDATE trials SET state = 'waiting', lost = lost + 1, change = :c WHERE number = :n AND "
          "state = 'running' AND attempt = :a AND owner = :o",
          soci::use(change), soci::use(number), soci::use(attempt), soci::use(lease.owner));
    });
  }

  void revoke_all_but(const std::string& supervisor) override {
    transaction(/*durable=*/false, [&] {
      const long long change = next_change();
      // Whoever stopped in good order has given back what it had: these engines were killed.
      run("UPDATE trials SET state = 'waiting', lost = lost + 1, change = :c WHERE state = 'running' AND "
          "supervisor <> :s AND supervisor <> ''",
          soci::use(change), soci::use(supervisor));
    });
  }

 private:
  template <class F>
  void guarded(F&& f) {
    try {
      f();
    } catch (const soci::soci_error& error) {
      throw dialect_->error(error.get_error_message());
    }
  }

  // A statement with its values and the places of its columns, which are used until it has been executed. It is
  // compiled at its first use: that costs more than most of them take.
  template <class... Bindings>
  soci::statement& prepared(const char* text, Bindings&&... bindings) {
    const auto [found, is_new] = statements_.try_emplace(text, sql_);
    soci::statement& statement = found->second;
    if (is_new) {
      statement.alloc();
      statement.prepare(text);
    } else {
      statement.bind_clean_up();
    }
    (statement.exchange(std::forward<Bindings>(bindings)), ...);
    statement.define_and_bind();
    return statement;
  }

  // To its end, so that it holds no lock. Whether it had a row; the columns are those of the first.
  template <class... Bindings>
  bool run(const char* text, Bindings&&... bindings) {
    soci::statement& statement = prepared(text, std::forward<Bindings>(bindings)...);
    const bool found = statement.execute(true);
    while (found && statement.fetch()) {
    }
    return found;
  }

  template <class F>
  void transaction(bool durable, F&& f) {
    guarded([&] {
      if (durable != is_durable_) dialect_->set_durable(sql_, durable);
      is_durable_ = durable;
    });
    // Looked at when no other process can write: what the session sees then is all that there is, and one process after
    // the other writes it again.
    bracketed(dialect_->begin_to_write(), [&] {
      if (!dialect_->is_in_place()) throw dialect_->rescue(sql_);
      f();
    });
  }

  // Changes that were read in a transaction which is rolled back count as not seen: they come again.
  template <class F>
  void bracketed(const char* begin, F&& f) {
    guarded([&] {
      run(begin);
      const auto seen = std::pair(seen_change_, seen_report_);
      try {
        f();
        run("COMMIT");
      } catch (...) {
        std::tie(seen_change_, seen_report_) = seen;
        try {
          run("ROLLBACK");
        } catch (const soci::soci_error&) {
          // The database has done it already.
        }
        throw;
      }
    });
  }

  // Who has not renewed has gone. In a transaction of its own: what is chosen next may raise.
  void end_leases(double now) {
    int ended = 0;
    guarded([&] {
      run("SELECT COUNT(*) FROM trials WHERE state = 'running' AND expires < :now", soci::use(now), soci::into(ended));
    });
    if (ended == 0) return;
    transaction(/*durable=*/false, [&] {
      const long long change = next_change();
      run("UPDATE trials SET state = 'waiting', lost = lost + 1, change = :c WHERE state = 'running' AND expires < "
          ":now",
          soci::use(change), soci::use(now));
    });
  }

  void create() {
    sql_ << "CREATE TABLE study (id INTEGER PRIMARY KEY, description TEXT NOT NULL, change INTEGER NOT NULL, "
            "deadline DOUBLE PRECISION)";
    sql_ << "CREATE TABLE trials (number INTEGER PRIMARY KEY, state TEXT NOT NULL, attempt INTEGER NOT NULL, "
            "lost INTEGER NOT NULL DEFAULT 0, "
            "point TEXT NOT NULL, values_ TEXT NOT NULL, owner TEXT NOT NULL, supervisor TEXT NOT NULL, "
            "expires DOUBLE PRECISION NOT NULL, change INTEGER NOT NULL, info TEXT, parent INTEGER, until INTEGER)";
    sql_ << "CREATE INDEX trials_by_change ON trials (change)";
    sql_ << "CREATE INDEX trials_running ON trials (expires) WHERE state = 'running'";
    sql_ << "CREATE TABLE reports (id " + std::string(dialect_->counting_key()) +
                ", trial INTEGER NOT NULL, attempt INTEGER NOT NULL, repeat INTEGER NOT NULL, "
                "resource INTEGER NOT NULL, value TEXT NOT NULL)";
    dialect_->set_schema(sql_, study_schema);
  }

  // From schema 1.
  void migrate() {
    sql_ << "ALTER TABLE trials ADD COLUMN parent INTEGER";
    sql_ << "ALTER TABLE trials ADD COLUMN until INTEGER";
    dialect_->set_schema(sql_, study_schema);
  }

  void require_one_host() {
    std::string owner;
    const double now = wall_seconds();
    soci::statement& rows = prepared("SELECT owner FROM trials WHERE state = 'running' AND expires >= :now",
                                     soci::use(now), soci::into(owner));
    rows.execute();
    while (rows.fetch()) {
      if (host_of(owner) == host_name()) continue;
      throw usage_error(dialect_->place() + ": the machine " + host_of(owner) + " works on this study")
          .hint("a study in a file is for the processes of one machine; wait until it has ended there");
    }
  }

  // Numbers have no gaps; to count rows would take longer the more there are.
  long long count_trials() {
    long long count = 0;
    run("SELECT COALESCE(MAX(number) + 1, 0) FROM trials", soci::into(count));
    return count;
  }

  std::int64_t add_waiting(std::span<const double> point) {
    const long long number = count_trials(), change = next_change();
    const std::string text = numbers_text(point);
    run("INSERT INTO trials (number, state, attempt, point, values_, owner, supervisor, expires, change) "
        "VALUES (:n, 'waiting', 0, :p, '', '', '', 0, :c)",
        soci::use(number), soci::use(text), soci::use(change));
    return number;
  }

  // Changes are numbered by transaction: a reader asks for those after the last that it has seen.
  long long next_change() {
    long long change = 0;
    run("UPDATE study SET change = change + 1 WHERE id = 1 RETURNING change", soci::into(change));
    return change;
  }

  void require(const Lease& lease) {
    std::string state, owner;
    long long attempt = 0;
    const long long number = lease.trial;
    const bool found = run("SELECT state, attempt, owner FROM trials WHERE number = :n", soci::use(number),
                           soci::into(state), soci::into(attempt), soci::into(owner));
    if (found && state == "running" && attempt == lease.attempt && owner == lease.owner) return;
    const std::string now = attempt != lease.attempt || owner != lease.owner
                                ? "it was begun again by " + owner + " (attempt " + std::to_string(attempt) + ")"
                                : "it is " + state + " now";
    LeaseLost lost(ErrorKind::run, "trial " + std::to_string(lease.trial) + " is no longer leased to " + lease.owner +
                                       " (attempt " + std::to_string(lease.attempt) + "): " + now);
    lost.hint("this process was silent for too long; its result is left out");
    throw lost;
  }

  StudyChanges read() {
    StudyChanges all;
    {
      long long number = 0, attempt = 0, lost = 0, change = 0, parent = 0, until = 0;
      std::string state, point, values, owner, info;
      soci::indicator has_info = soci::i_null, has_parent = soci::i_null, has_segment = soci::i_null;
      soci::statement& rows = prepared(
          "SELECT number, state, attempt, lost, point, values_, owner, info, change, parent, until FROM trials "
          "WHERE change > :c ORDER BY change, number",
          soci::use(seen_change_), soci::into(number), soci::into(state), soci::into(attempt), soci::into(lost),
          soci::into(point), soci::into(values), soci::into(owner), soci::into(info, has_info), soci::into(change),
          soci::into(parent, has_parent), soci::into(until, has_segment));
      rows.execute();
      long long last = seen_change_;
      while (rows.fetch()) {
        std::optional<Segment> segment;
        if (has_segment == soci::i_ok) segment = Segment{.parent = {}, .until = until};
        if (segment && has_parent == soci::i_ok) segment->parent = parent;
        all.trials.push_back({.number = number,
                              .state = parse_state(state),
                              .attempt = attempt,
                              .lost = lost,
                              .point = parse_numbers(point),
                              .values = parse_numbers(values),
                              .segment = segment,
                              .owner = owner,
                              .info = has_info == soci::i_ok ? parse_json(info, dialect_->place()) : Value()});
        last = change;
      }
      seen_change_ = last;
    }
    long long id = 0, trial = 0, attempt = 0, repeat = 0, resource = 0;
    std::string value;
    soci::statement& rows =
        prepared("SELECT id, trial, attempt, repeat, resource, value FROM reports WHERE id > :i ORDER BY id",
                 soci::use(seen_report_), soci::into(id), soci::into(trial), soci::into(attempt), soci::into(repeat),
                 soci::into(resource), soci::into(value));
    rows.execute();
    long long last = seen_report_;
    while (rows.fetch()) {
      all.reports.push_back(
          {.trial = trial,
           .attempt = attempt,
           .report = {.repeat = repeat, .resource = resource, .values = report_values(value, dialect_->place())}});
      last = id;
    }
    seen_report_ = last;
    return all;
  }

  std::unique_ptr<SqlDialect> dialect_;
  soci::session sql_;
  std::map<std::string_view, soci::statement> statements_;  // by their text
  bool is_durable_ = true;
  long long seen_change_ = 0, seen_report_ = 0;
};

}  // namespace

std::unique_ptr<Storage> sql_storage(std::unique_ptr<SqlDialect> dialect) {
  return std::make_unique<SqlStorage>(std::move(dialect));
}

}  // namespace trainlab
