// SQLite through SOCI. Write-ahead log: readers see the last committed state and never wait. Every writing transaction
// begins with BEGIN IMMEDIATE.
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include <chrono>
#include <string_view>
#include <thread>

#include "core/clock.h"
#include "sql_storage.h"
#include "storage/read/sqlite.h"
#include "storage/read/stored.h"

namespace trainlab {

namespace {

constexpr int patience_seconds = 120;  // for other writers

// One of the processes that come together changes the mode, and SQLite does not let the others wait for that.
std::string begin_log(soci::session& sql) {
  for (const double begin = steady_seconds();; std::this_thread::sleep_for(std::chrono::milliseconds(2))) {
    try {
      std::string mode;
      sql << "PRAGMA journal_mode = WAL", soci::into(mode);
      return mode;
    } catch (const soci::soci_error& error) {
      const bool is_taken = std::string_view(error.what()).find("locked") != std::string_view::npos;
      if (!is_taken || steady_seconds() - begin > patience_seconds) throw;
    }
  }
}

class SqliteDialect final : public SqlDialect {
 public:
  explicit SqliteDialect(const std::filesystem::path& file) : file_(file), place_(file.string()) {}

  const std::string& place() const override { return place_; }
  // SOCI puts the name of its own function before SQLite's words.
  Error error(const std::string& words) const override {
    const std::size_t name = words.starts_with("sqlite3_") ? words.find(": ") : std::string::npos;
    return sqlite_error(file_, name == std::string::npos ? words : words.substr(name + 2));
  }

  void connect(soci::session& sql) const override {
    sql.open(soci::sqlite3, "dbname=\"" + place_ + "\" timeout=" + std::to_string(patience_seconds));
    if (const int found = schema(sql); found > study_schema) throw newer_study(place_, found);
    int tables = 0;
    sql << "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name NOT IN ('study', 'trials', 'reports')",
        soci::into(tables);
    if (tables > 0) throw usage_error(place_ + ": holds something else than a study");
    std::string mode;
    sql << "PRAGMA journal_mode", soci::into(mode);
    if (mode != "wal") mode = begin_log(sql);
    if (mode != "wal") throw run_error("this file system cannot hold a study: SQLite has no write-ahead log on it");
    set_durable(sql, true);
  }

  int schema(soci::session& sql) const override {
    int version = 0;
    sql << "PRAGMA user_version", soci::into(version);
    return version;
  }
  void set_schema(soci::session& sql, int schema) const override {
    sql << "PRAGMA user_version = " + std::to_string(schema);
  }
  // With NORMAL a commit is in the log but may not be on disk yet.
  void set_durable(soci::session& sql, bool durable) const override {
    sql << (durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  }

  const char* begin_to_read() const override { return "BEGIN"; }
  const char* begin_to_write() const override { return "BEGIN IMMEDIATE"; }
  const char* counting_key() const override { return "INTEGER PRIMARY KEY"; }
  // The log is shared through the memory of one machine: two of them would overwrite what the other has written.
  bool is_for_many_hosts() const override { return false; }

 private:
  std::filesystem::path file_;
  std::string place_;
};

}  // namespace

std::unique_ptr<SqlDialect> sqlite_dialect(const std::filesystem::path& file) {
  return std::make_unique<SqliteDialect>(file);
}

}  // namespace trainlab
