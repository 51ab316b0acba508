#include "sql_storage.h"

#include <cmath>
#include <mutex>
#include <optional>
#include <tuple>

#include "clock_jumps.h"
#include "core/clock.h"
#include "core/host.h"
#include "sql_connection.h"
#include "storage/read/stored.h"

namespace trainlab {

namespace {

class SqlStorage final : public Storage {
 public:
  SqlStorage(std::unique_ptr<SqlDialect> dialect, const Waiting& waiting, const std::function<double()>& wall)
      : wall_(wall), jumps_(wall_(), steady_seconds()), connection_(std::move(dialect), waiting) {}

  Value open(const Value& description, std::span<const std::vector<double>> first, const Accept& accept) override {
    const std::lock_guard lock(mutex_);
    Value stored;
    transaction(/*durable=*/true, [&] {
      const int schema = dialect().schema(sql());
      if (schema == 0) {
        create();
        const std::string text = to_json(description);
        run("INSERT INTO study (id, description, change, deadline) VALUES (1, :d, 0, NULL)", soci::use(text));
        stored = parse_json(text, dialect().place());
        for (const std::vector<double>& point : first) add_waiting(point);
        return;
      }
      std::string text;
      run("SELECT description FROM study WHERE id = 1", soci::into(text));
      stored = parse_json(text, dialect().place());
      if (accept) accept(stored);
      if (!dialect().is_for_many_hosts()) require_one_host();
      if (schema < study_schema) migrate();
    });
    return stored;
  }

  StudyChanges changes() override {
    const std::lock_guard lock(mutex_);
    StudyChanges all;
    // Both tables are read in one snapshot.
    rewinding([&](const auto& whole) { connection_.read(whole); }, [&] { all = read(); });
    return all;
  }

  std::optional<Lease> begin(const Owner& owner, double now, const Choose& choose) override {
    const std::lock_guard lock(mutex_);
    const double asked = steady_seconds();
    end_leases(now);
    std::optional<Lease> lease;
    const long long known = seen_change_;
    transaction(/*durable=*/false, [&] {
      lease.reset();
      if (connection_.is_repeated() && (lease = begun_after(known, owner.name))) return;
      // This process may have waited for others, so the present moment is computed again.
      const double waited = steady_seconds() - asked;
      const double moment = now + waited + dialect().deadline_lead(sql(), wall_());
      const double expires = owner.expires + waited + dialect().clock_lead(sql());
      int over = 0;
      run("SELECT CASE WHEN deadline < :now THEN 1 ELSE 0 END FROM study WHERE id = 1", soci::use(moment),
          soci::into(over));
      StudyChanges seen = read();
      seen.is_over = over > 0;
      const auto chosen = choose(seen);
      if (!chosen) return;
      const long long count = count_trials();
      if (over > 0 && chosen->trial == count) return;
      const long long number = chosen->trial;
      begin_change();
      long long attempt = 1;
      const std::string point = numbers_text(chosen->point);
      const Segment segment = chosen->segment.value_or(Segment{});
      const long long parent = segment.parent.value_or(0), until = segment.until;
      soci::indicator has_parent = segment.parent ? soci::i_ok : soci::i_null;
      soci::indicator has_segment = chosen->segment ? soci::i_ok : soci::i_null;
      if (number == count) {
        run("INSERT INTO trials (number, state, attempt, point, values_, owner, supervisor, expires, change, "
            "parent, until) VALUES (:n, 'running', 1, :p, '', :o, :s, :e, (SELECT change FROM study), :f, :u)",
            soci::use(number), soci::use(point), soci::use(owner.name), soci::use(owner.supervisor), soci::use(expires),
            soci::use(parent, has_parent), soci::use(until, has_segment));
      } else {
        // A trial that began before the deadline may be continued after the deadline.
        const bool found =
            run("UPDATE trials SET state = 'running', attempt = attempt + 1, point = :p, owner = :o, supervisor = :s, "
                "expires = :e, change = (SELECT change FROM study), parent = :f, until = :u WHERE number = :n AND "
                "state = 'waiting' AND "
                "(attempt > 0 OR :over = 0) RETURNING attempt",
                soci::use(point), soci::use(owner.name), soci::use(owner.supervisor), soci::use(expires),
                soci::use(parent, has_parent), soci::use(until, has_segment), soci::use(number), soci::use(over),
                soci::into(attempt));
        if (!found && over > 0) return;
        if (!found) throw std::logic_error("Storage::begin: trial " + std::to_string(number) + " does not wait");
      }
      lease = Lease{.trial = number, .attempt = attempt, .owner = owner.name};
    });
    return lease;
  }

  std::int64_t enqueue(std::span<const double> point) override {
    const std::lock_guard lock(mutex_);
    std::int64_t number = 0;
    const long long known = seen_change_;
    transaction(/*durable=*/true, [&] {
      const std::optional<std::int64_t> added = connection_.is_repeated() ? enqueued_after(known, point) : std::nullopt;
      number = added ? *added : add_waiting(point);
    });
    return number;
  }

  void set_deadline(double time) override {
    const std::lock_guard lock(mutex_);
    transaction(/*durable=*/false, [&] {
      soci::indicator known = std::isfinite(time) ? soci::i_ok : soci::i_null;
      const double deadline = time + dialect().deadline_lead(sql(), wall_());
      run("UPDATE study SET deadline = :t", soci::use(deadline, known));
    });
  }

  void renew(const Lease& lease, double expires) override {
    const std::lock_guard lock(mutex_);
    const double asked = steady_seconds();
    transaction(/*durable=*/false, [&] {
      require(lease);
      const long long number = lease.trial;
      const double until = expires + (steady_seconds() - asked) + dialect().clock_lead(sql());
      run("UPDATE trials SET expires = :e WHERE number = :n", soci::use(until), soci::use(number));
    });
  }

  void report(const Lease& lease, std::span<const TrialReport> reports) override {
    const std::lock_guard lock(mutex_);
    const long long known = seen_report_;
    transaction(/*durable=*/false, [&] {
      require(lease);
      if (connection_.is_repeated() && reported_after(known, lease, reports)) return;
      for (const TrialReport& one : reports) {
        const long long trial = lease.trial, attempt = lease.attempt, repeat = one.repeat, resource = one.resource;
        const std::string values = numbers_text(one.values);
        run("INSERT INTO reports (trial, attempt, repeat, resource, value) VALUES (:t, :a, :r, :s, :v)",
            soci::use(trial), soci::use(attempt), soci::use(repeat), soci::use(resource), soci::use(values));
      }
    });
  }

  void end(const std::vector<EndedTrial>& trials) override {
    const std::lock_guard lock(mutex_);
    transaction(/*durable=*/true, [&] {
      for (const EndedTrial& trial : trials) {
        if (connection_.is_repeated() && has_ended(trial.lease)) continue;
        require(trial.lease);
        const long long number = trial.lease.trial;
        begin_change();
        const std::string name(trial_state_name(trial.state)), numbers = numbers_text(trial.values),
                                                               text = to_json(trial.info);
        const long long until = trial.until.value_or(0);
        soci::indicator is_shorter = trial.until ? soci::i_ok : soci::i_null;
        run("UPDATE trials SET state = :s, values_ = :v, info = :i, until = COALESCE(:u, until), "
            "change = (SELECT change FROM study) WHERE number = :n",
            soci::use(name), soci::use(numbers), soci::use(text), soci::use(until, is_shorter), soci::use(number));
      }
    });
  }

  void give_back(const Lease& lease) override {
    const std::lock_guard lock(mutex_);
    transaction(/*durable=*/false, [&] {
      require(lease);
      const long long number = lease.trial;
      begin_change();
      run("UPDATE trials SET state = 'waiting', change = (SELECT change FROM study) WHERE number = :n",
          soci::use(number));
    });
  }

  void lose(const Lease& lease) override {
    const std::lock_guard lock(mutex_);
    transaction(/*durable=*/false, [&] {
      const long long number = lease.trial, attempt = lease.attempt;
      begin_change();
      run("UPDATE trials SET state = 'waiting', lost = lost + 1, change = (SELECT change FROM study) WHERE "
          "number = :n AND state = 'running' AND attempt = :a AND owner = :o",
          soci::use(number), soci::use(attempt), soci::use(lease.owner));
    });
  }

  void revoke_all_but(const std::string& supervisor) override {
    const std::lock_guard lock(mutex_);
    transaction(/*durable=*/false, [&] {
      begin_change();
      // An engine that stops in good order gives its trials back, so the engines of these trials were killed.
      run("UPDATE trials SET state = 'waiting', lost = lost + 1, change = (SELECT change FROM study) WHERE "
          "state = 'running' AND supervisor <> :s AND supervisor <> ''",
          soci::use(supervisor));
    });
  }

  void copy(const StudyChanges& changes) override {
    if (changes.trials.empty() && changes.reports.empty()) return;
    const std::lock_guard lock(mutex_);
    transaction(/*durable=*/false, [&] {
      begin_change();
      for (const StoredTrial& trial : changes.trials) copy(trial);
      for (const StoredReport& one : changes.reports) {
        const long long id = one.id, trial = one.trial, attempt = one.attempt, repeat = one.report.repeat,
                        resource = one.report.resource;
        const std::string values = numbers_text(one.report.values);
        run("INSERT INTO reports (id, trial, attempt, repeat, resource, value) VALUES (:i, :t, :a, :r, :s, :v) "
            "ON CONFLICT (id) DO NOTHING",
            soci::use(id), soci::use(trial), soci::use(attempt), soci::use(repeat), soci::use(resource),
            soci::use(values));
      }
    });
  }

 private:
  const SqlDialect& dialect() const { return connection_.dialect(); }
  soci::session& sql() { return connection_.sql(); }
  // See SqlConnection::run.
  template <class... Bindings>
  bool run(const char* text, Bindings&&... bindings) {
    return connection_.run(text, std::forward<Bindings>(bindings)...);
  }

  // Changes that were read in a transaction that did not happen count as not seen, and are read again later.
  template <class Begin, class F>
  void rewinding(const Begin& begin, F&& f) {
    const auto seen = std::pair(seen_change_, seen_report_);
    try {
      begin([&] {
        std::tie(seen_change_, seen_report_) = seen;
        f();
      });
    } catch (...) {
      std::tie(seen_change_, seen_report_) = seen;
      throw;
    }
  }

  template <class F>
  void transaction(bool durable, F&& f) {
    rewinding([&](const auto& whole) { connection_.write(durable, whole); }, f);
  }

  // Ends the leases that were not renewed in time, because their processes have gone. This is a transaction of its own,
  // because the choice of the next trial may raise an error, which rolls its transaction back.
  void end_leases(double now) {
    int ended = 0;
    double moment = 0;
    connection_.guarded([&] {
      moment = now - jumps_.recent(wall_(), steady_seconds()) + dialect().clock_lead(sql());
      run("SELECT COUNT(*) FROM trials WHERE state = 'running' AND expires < :now", soci::use(moment),
          soci::into(ended));
    });
    if (ended == 0) return;
    transaction(/*durable=*/false, [&] {
      begin_change();
      run("UPDATE trials SET state = 'waiting', lost = lost + 1, change = (SELECT change FROM study) WHERE "
          "state = 'running' AND expires < :now",
          soci::use(moment));
    });
  }

  void create() {
    const std::string whole = dialect().whole_number(), count = whole + " NOT NULL";
    sql() << "CREATE TABLE study (id INTEGER PRIMARY KEY, description TEXT NOT NULL, change " + count +
                 ", deadline DOUBLE PRECISION)";
    sql() << "CREATE TABLE trials (number " + whole + " PRIMARY KEY, state TEXT NOT NULL, attempt " + count +
                 ", lost " + count +
                 " DEFAULT 0, point TEXT NOT NULL, values_ TEXT NOT NULL, owner TEXT NOT NULL, supervisor TEXT " +
                 "NOT NULL, expires DOUBLE PRECISION NOT NULL, change " + count + ", info TEXT, parent " + whole +
                 ", until " + whole + ")";
    sql() << "CREATE INDEX trials_by_change ON trials (change)";
    sql() << "CREATE INDEX trials_running ON trials (expires) WHERE state = 'running'";
    sql() << "CREATE TABLE reports (id " + std::string(dialect().counting_key()) + ", trial " + count + ", attempt " +
                 count + ", repeat " + count + ", resource " + count + ", value TEXT NOT NULL)";
    dialect().set_schema(sql(), study_schema);
  }

  // Converts a study from schema 1.
  void migrate() {
    const std::string whole = dialect().whole_number();
    sql() << "ALTER TABLE trials ADD COLUMN parent " + whole;
    sql() << "ALTER TABLE trials ADD COLUMN until " + whole;
    dialect().set_schema(sql(), study_schema);
  }

  void require_one_host() {
    std::string owner;
    const double now = wall_();
    soci::statement& rows = connection_.prepared("SELECT owner FROM trials WHERE state = 'running' AND expires >= :now",
                                                 soci::use(now), soci::into(owner));
    rows.execute();
    while (rows.fetch()) {
      if (host_of(owner) == host_name()) continue;
      throw usage_error(dialect().place() + ": the machine " + host_of(owner) + " works on this study")
          .hint("a study in a file is for the processes of one machine; wait until it has ended there");
    }
  }

  // The number of trials. Their numbers have no gaps, so the largest tells the count without counting rows.
  long long count_trials() {
    long long count = 0;
    run("SELECT COALESCE(MAX(number) + 1, 0) FROM trials", soci::into(count));
    return count;
  }

  std::int64_t add_waiting(std::span<const double> point) {
    const long long number = count_trials();
    const std::string text = numbers_text(point);
    begin_change();
    run("INSERT INTO trials (number, state, attempt, point, values_, owner, supervisor, expires, change) "
        "VALUES (:n, 'waiting', 0, :p, '', '', '', 0, (SELECT change FROM study))",
        soci::use(number), soci::use(text));
    return number;
  }

  // Gives the changes of the present transaction their number, which is then the study's. A reader asks for changes
  // with numbers above the last that it has seen. The statements read the number from the table, because SQLite keeps
  // the rows of a RETURNING clause in a table of their own, whose memory costs more than the whole statement.
  void begin_change() { run("UPDATE study SET change = change + 1 WHERE id = 1"); }

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

  // The trial that this process has begun, or enqueued, in a transaction that happened although its answer was lost.
  // The number of its change is above all that were seen before.
  std::optional<Lease> begun_after(long long known, const std::string& owner) {
    long long number = 0, attempt = 0;
    const bool found = run("SELECT number, attempt FROM trials WHERE state = 'running' AND owner = :o AND change > :c",
                           soci::use(owner), soci::use(known), soci::into(number), soci::into(attempt));
    return found ? std::optional(Lease{.trial = number, .attempt = attempt, .owner = owner}) : std::nullopt;
  }
  std::optional<std::int64_t> enqueued_after(long long known, std::span<const double> point) {
    long long number = 0;
    const std::string text = numbers_text(point);
    const bool found = run("SELECT number FROM trials WHERE attempt = 0 AND point = :p AND change > :c",
                           soci::use(text), soci::use(known), soci::into(number));
    return found ? std::optional<std::int64_t>(number) : std::nullopt;
  }
  bool reported_after(long long known, const Lease& lease, std::span<const TrialReport> reports) {
    if (reports.empty()) return true;
    const long long trial = lease.trial, attempt = lease.attempt, repeat = reports.back().repeat,
                    resource = reports.back().resource;
    long long id = 0;
    return run("SELECT id FROM reports WHERE id > :i AND trial = :t AND attempt = :a AND repeat = :r AND resource = :s",
               soci::use(known), soci::use(trial), soci::use(attempt), soci::use(repeat), soci::use(resource),
               soci::into(id));
  }
  bool has_ended(const Lease& lease) {
    std::string state, owner;
    long long attempt = 0;
    const long long number = lease.trial;
    return run("SELECT state, attempt, owner FROM trials WHERE number = :n", soci::use(number), soci::into(state),
               soci::into(attempt), soci::into(owner)) &&
           is_final(parse_state(state)) && attempt == lease.attempt && owner == lease.owner;
  }

  void copy(const StoredTrial& trial) {
    const long long number = trial.number, attempt = trial.attempt, lost = trial.lost;
    const Segment segment = trial.segment.value_or(Segment{});
    const long long parent = segment.parent.value_or(0), until = segment.until;
    const std::string state(trial_state_name(trial.state)),
        point = numbers_text(trial.point), values = numbers_text(trial.values), info = to_json(trial.info);
    soci::indicator has_info = trial.info.is_nil() ? soci::i_null : soci::i_ok;
    soci::indicator has_parent = segment.parent ? soci::i_ok : soci::i_null;
    soci::indicator has_segment = trial.segment ? soci::i_ok : soci::i_null;
    run("INSERT INTO trials (number, state, attempt, lost, point, values_, owner, supervisor, expires, change, info, "
        "parent, until) VALUES (:n, :s, :a, :l, :p, :v, :o, '', 0, (SELECT change FROM study), :i, :f, :u) ON CONFLICT "
        "(number) DO UPDATE SET "
        "state = excluded.state, attempt = excluded.attempt, lost = excluded.lost, point = excluded.point, values_ = "
        "excluded.values_, owner = excluded.owner, change = excluded.change, info = excluded.info, parent = "
        "excluded.parent, until = excluded.until",
        soci::use(number), soci::use(state), soci::use(attempt), soci::use(lost), soci::use(point), soci::use(values),
        soci::use(trial.owner), soci::use(info, has_info), soci::use(parent, has_parent),
        soci::use(until, has_segment));
  }

  StudyChanges read() {
    StudyChanges all;
    {
      long long number = 0, attempt = 0, lost = 0, change = 0, parent = 0, until = 0;
      std::string state, point, values, owner, info;
      soci::indicator has_info = soci::i_null, has_parent = soci::i_null, has_segment = soci::i_null;
      soci::statement& rows = connection_.prepared(
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
                              .info = has_info == soci::i_ok ? parse_json(info, dialect().place()) : Value()});
        last = change;
      }
      seen_change_ = last;
    }
    long long id = 0, trial = 0, attempt = 0, repeat = 0, resource = 0;
    std::string value;
    soci::statement& rows = connection_.prepared(
        "SELECT id, trial, attempt, repeat, resource, value FROM reports WHERE id > :i ORDER BY id",
        soci::use(seen_report_), soci::into(id), soci::into(trial), soci::into(attempt), soci::into(repeat),
        soci::into(resource), soci::into(value));
    rows.execute();
    long long last = seen_report_;
    while (rows.fetch()) {
      all.reports.push_back(
          {.trial = trial,
           .attempt = attempt,
           .report = {.repeat = repeat, .resource = resource, .values = report_values(value, dialect().place())},
           .id = id});
      last = id;
    }
    seen_report_ = last;
    return all;
  }

  std::function<double()> wall_;
  ClockJumps jumps_;
  std::mutex mutex_;  // held while the connection is used
  SqlConnection connection_;
  long long seen_change_ = 0, seen_report_ = 0;
};

}  // namespace

std::unique_ptr<Storage> sql_storage(std::unique_ptr<SqlDialect> dialect, const Waiting& waiting,
                                     std::function<double()> wall) {
  return std::make_unique<SqlStorage>(std::move(dialect), waiting, wall);
}

}  // namespace trainlab
