// PostgreSQL through SOCI. A study is a schema (namespace) of the database, with the same tables as in every kind of
// storage. Writing transactions take turns by a lock in the database for the study, so that a transaction sees the
// writes of the one before, on which the choice of the next trial depends. Readers see the last committed state and
// never wait.
//
// SOCI's library for PostgreSQL is loaded when the first study is opened, so that programs
// without such a study need no libpq.
#include <dlfcn.h>
#include <soci/soci.h>
#include <soci/version.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "core/clock.h"
#include "sql_connection.h"
#include "sql_storage.h"
#include "storage/read/stored.h"

namespace trainlab {

namespace {

constexpr std::size_t longest_name = 63;  // bytes of a schema's name; PostgreSQL cuts longer names

const soci::backend_factory& postgresql_factory() {
  static const soci::backend_factory* const loaded = [] {
    constexpr int major = SOCI_VERSION / 100000, minor = SOCI_VERSION / 100 % 1000;
    const std::string name = "libsoci_postgresql.so." + std::to_string(major) + "." + std::to_string(minor);
    void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* const made = library ? ::dlsym(library, "factory_postgresql") : nullptr;
    if (!made) {
      throw usage_error(std::string("a study in PostgreSQL needs SOCI's library for it: ") + ::dlerror())
          .hint("on Debian: apt-get install libsoci-postgresql4.0");
    }
    return reinterpret_cast<const soci::backend_factory* (*)()>(made)();
  }();
  return *loaded;
}

// The URL with further options for libpq, unless the URL has them: after some time, a server that does not answer is
// given up.
std::string connection_url(const Database& database) {
  std::string url = database.url();
  for (const char* option : {"connect_timeout=10", "tcp_user_timeout=30000", "fallback_application_name=trainlab"}) {
    const std::string name(option, std::string_view(option).find('=') + 1);
    if (url.find("?" + name) != std::string::npos || url.find("&" + name) != std::string::npos) continue;
    url += (url.find('?') == std::string::npos ? "?" : "&") + std::string(option);
  }
  return url;
}

std::string in_quotes(const std::string& text, char quote) {
  std::string whole(1, quote);
  for (const char c : text) whole.append(c == quote ? 2 : 1, c);
  return whole + quote;
}

// The statement that locks a study until the end of the transaction, so that no other process writes to the study. With
// an empty name it locks the list of studies.
std::string lock_of(const std::string& study) {
  return "SELECT pg_advisory_xact_lock(hashtext(" + in_quotes("trainlab/" + study, '\'') + "))";
}

// PostgreSQL's message in one line, without the names of SOCI's functions before it.
std::string plain_words(std::string words) {
  for (const char* begin : {"FATAL:  ", "ERROR:  ", "Cannot establish connection to the database.", "Fatal error. "}) {
    const std::size_t at = words.find(begin);
    if (at == std::string::npos) continue;
    words.erase(0, at + std::string_view(begin).size());
    break;
  }
  std::string line;
  for (const char c : words) {
    const bool is_space = c == '\n' || c == '\t' || c == ' ';
    if (!is_space) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

Error database_error(const Database& database, const std::string& place, const std::string& words) {
  const std::string line = database.without_password(plain_words(words));
  const auto says = [&](const char* text) { return line.find(text) != std::string::npos; };
  Error error = run_error(place + ": " + line);
  if (says("password") || says("no pg_hba.conf entry")) {
    error.hint("the password comes from PGPASSWORD, from ~/.pgpass, or from the URL in TRAINLAB_STORAGE");
  } else if (says("permission denied for database")) {
    error.hint("the user needs the right to make schemas: GRANT CREATE ON DATABASE … TO …");
  } else if (says("read-only")) {
    error.hint("studies need a server that can be written to: of several servers, the primary");
  } else {
    error.hint("all results told so far are kept: resume when the database is back");
  }
  return error;
}

// Whether the server's message says that it gives no connection at present, but may soon give one.
bool is_short_of_connections(std::string_view words) {
  constexpr std::array reasons = {"too many clients", "remaining connection slots",    "is starting up",
                                  "is shutting down", "not yet accepting connections", "in recovery mode"};
  return std::ranges::any_of(reasons, [&](const char* why) { return words.find(why) != std::string_view::npos; });
}

// Whether the client's message says that no server answered or that the connection broke. The message of a server that
// refuses begins with FATAL.
bool is_out_of_reach(std::string_view words) {
  const auto says = [&](const char* text) { return words.find(text) != std::string_view::npos; };
  if (says("FATAL:")) return says("terminating connection");
  return says("connection to server") || says("server closed the connection") || says("could not receive data");
}

// Calls `ask` with a session of the database, without opening a study.
template <class F>
auto ask_database(const Database& database, const Waiting& waiting, F&& ask) {
  for (Absence absence(waiting);;) {
    try {
      soci::session sql(postgresql_factory(), connection_url(database));
      sql << "SET client_min_messages TO warning";
      absence.end(database.text());
      return ask(sql);
    } catch (const soci::soci_error& error) {
      const std::string words = error.get_error_message();
      const Error told = database_error(database, database.text(), words);
      const bool is_busy = is_short_of_connections(words);
      if (!absence.has_begun() && !is_busy) throw told;
      absence.wait(told, !is_busy && !is_out_of_reach(words));
    }
  }
}

// The parts of a study's name "search/017": the prefix "search/" of the stage "search", and the number 17. The number
// is 0 for a name of another form.
std::string prefix_of(const std::string& stage) { return stage.substr(0, longest_name - 8) + "/"; }
long long number_of(const std::string& study, const std::string& prefix) {
  long long number = 0;
  const char* const end = study.data() + study.size();
  const auto [rest, code] = std::from_chars(study.data() + std::min(prefix.size(), study.size()), end, number);
  return study.starts_with(prefix) && code == std::errc() && rest == end ? number : 0;
}

// The schemas with this prefix and their numbers, the greatest first. If `table` is not empty, only schemas with a
// table of this name.
std::vector<std::pair<long long, std::string>> numbered(soci::session& sql, const std::string& prefix,
                                                        const std::string& table) {
  const std::string query = table.empty() ? "SELECT nspname::text FROM pg_namespace"
                                          : "SELECT schemaname::text FROM pg_tables WHERE tablename = '" + table + "'";
  std::vector<std::pair<long long, std::string>> all;
  const soci::rowset<std::string> names = sql.prepare << query;
  for (const std::string& name : names) {
    if (const long long number = number_of(name, prefix); number > 0) all.emplace_back(number, name);
  }
  std::ranges::sort(all, std::greater());
  return all;
}

class PostgresqlDialect final : public SqlDialect {
 public:
  PostgresqlDialect(const Database& database, const std::string& study)
      : database_(database),
        study_(study),
        place_(database.text() + ", study " + study),
        begin_to_write_{"BEGIN ISOLATION LEVEL READ COMMITTED", lock_of(study)} {}

  const std::string& place() const override { return place_; }
  Error error(const std::string& words) const override { return database_error(database_, place_, words); }
  bool is_busy(std::string_view words) const override { return is_short_of_connections(words); }
  bool is_away(std::string_view words) const override { return is_out_of_reach(words); }

  void connect(soci::session& sql) override {
    sql.open(postgresql_factory(), connection_url(database_));
    // A process that is stopped within a transaction must not keep the others waiting for ever.
    for (const char* setting : {"client_min_messages TO warning", "client_encoding TO 'UTF8'", "lock_timeout TO '120s'",
                                "idle_in_transaction_session_timeout TO '120s'", "synchronous_commit TO on"})
      sql << "SET " + std::string(setting);
    sql << "SET search_path TO " + in_quotes(study_, '"');
    int schemas = 0, tables = 0;
    sql << "SELECT COUNT(*) FROM pg_namespace WHERE nspname = current_schema()", soci::into(schemas);
    if (schemas == 0) {
      throw run_error(place_ + ": the study is gone, its schema was dropped")
          .hint("put the schema back; study.db in the folder of a run is a copy with what the run knew");
    }
    sql << "SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT IN ('study', "
           "'trials', "
           "'reports', 'format')",
        soci::into(tables);
    if (tables > 0) throw usage_error(place_ + ": the schema holds something else than a study");
    if (const int found = schema(sql); found > study_schema) throw newer_study(place_, found);
  }

  // No check is needed: the tables of a dropped schema are gone as well, so that the next statement fails.
  bool is_in_place() const override { return true; }
  Error rescue(soci::session&) const override { throw std::logic_error("a study in a database keeps its place"); }

  int schema(soci::session& sql) const override {
    int tables = 0, version = 0;
    sql << "SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'format'",
        soci::into(tables);
    if (tables > 0) sql << "SELECT version FROM format", soci::into(version);
    return version;
  }
  void set_schema(soci::session& sql, int schema) const override {
    sql << "CREATE TABLE IF NOT EXISTS format (version INTEGER NOT NULL)";
    sql << "DELETE FROM format";
    sql << "INSERT INTO format (version) VALUES (" + std::to_string(schema) + ")";
  }
  // All transactions are durable. A server that is killed would lose other transactions, and would give their numbers
  // of changes, which other processes have read, to new changes.
  void set_durable(soci::session&, bool) const override {}

  const char* begin_to_read() const override { return "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"; }
  const std::vector<std::string>& begin_to_write() const override { return begin_to_write_; }
  double clock_lead(soci::session& sql) const override {
    double theirs = 0;
    sql << "SELECT EXTRACT(EPOCH FROM clock_timestamp())::float8", soci::into(theirs);
    return theirs - wall_seconds();
  }
  const char* whole_number() const override { return "BIGINT"; }
  const char* counting_key() const override { return "BIGSERIAL PRIMARY KEY"; }
  bool is_for_many_hosts() const override { return true; }

 private:
  Database database_;
  std::string study_, place_;
  std::vector<std::string> begin_to_write_;
};

}  // namespace

std::string Database::make_next(const std::string& prefix, const Waiting& waiting) const {
  return ask_database(*this, waiting, [&](soci::session& sql) {
    const std::string begin = prefix_of(prefix);
    soci::transaction transaction(sql);
    sql << lock_of("");
    const auto others = numbered(sql, begin, "");
    char number[24];
    std::snprintf(number, sizeof number, "%03lld", others.empty() ? 1 : others.front().first + 1);
    std::string study = begin + number;
    sql << "CREATE SCHEMA " + in_quotes(study, '"');
    transaction.commit();
    return study;
  });
}

void Database::make(const std::string& study) const {
  ask_database(*this, {}, [&](soci::session& sql) {
    soci::transaction transaction(sql);
    sql << lock_of("");
    sql << "CREATE SCHEMA IF NOT EXISTS " + in_quotes(study, '"');
    transaction.commit();
  });
}

std::vector<std::string> Database::studies(const std::string& prefix, const Waiting& waiting) const {
  return ask_database(*this, waiting, [&](soci::session& sql) {
    std::vector<std::string> names;
    for (const auto& [number, name] : numbered(sql, prefix_of(prefix), "study")) names.push_back(name);
    return names;
  });
}

std::unique_ptr<SqlDialect> postgresql_dialect(const Database& database, const std::string& study) {
  return std::make_unique<PostgresqlDialect>(database, study);
}

}  // namespace trainlab
