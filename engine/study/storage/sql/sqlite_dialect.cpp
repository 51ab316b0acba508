// SQLite through SOCI. With its write-ahead log, readers see the last committed state and never wait. Every writing
// transaction begins with BEGIN IMMEDIATE.
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>
#include <sys/stat.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "core/clock.h"
#include "core/files.h"
#include "sql_storage.h"
#include "storage/read/sqlite.h"
#include "storage/read/stored.h"

namespace trainlab {

namespace {

constexpr int patience_seconds = 120;  // how long to wait for other writers

// Turns the write-ahead log on. When several processes open a file at once, the first changes the mode; for the others
// SQLite fails instead of waiting, so they try again.
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

// The device and the inode number of a file, which differ for a new file of the same name; nullopt where there is no
// file.
using FileId = std::pair<dev_t, ino_t>;
std::optional<FileId> id_of(const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return std::nullopt;
  return FileId(status.st_dev, status.st_ino);
}

// The database that the session sees, as the bytes of a file. A deleted file exists as long as it is open.
std::string bytes_of(soci::session& sql) {
  sqlite_api::sqlite3_int64 size = 0;
  const auto* session = static_cast<const soci::sqlite3_session_backend*>(sql.get_backend());
  const std::unique_ptr<unsigned char, void (*)(void*)> bytes(
      sqlite_api::sqlite3_serialize(session->conn_, "main", &size, 0), &sqlite_api::sqlite3_free);
  if (!bytes) return "";
  return {reinterpret_cast<const char*>(bytes.get()), static_cast<std::size_t>(size)};
}

class SqliteDialect final : public SqlDialect {
 public:
  explicit SqliteDialect(const std::filesystem::path& file) : file_(file), place_(file.string()) {}

  const std::string& place() const override { return place_; }
  // SOCI puts the name of its own function before SQLite's message.
  Error error(const std::string& words) const override {
    const std::size_t name = words.starts_with("sqlite3_") ? words.find(": ") : std::string::npos;
    return sqlite_error(file_, name == std::string::npos ? words : words.substr(name + 2));
  }

  bool is_busy(std::string_view) const override { return false; }
  bool is_away(std::string_view) const override { return false; }

  void connect(soci::session& sql) override {
    sql.open(soci::sqlite3, "dbname=\"" + place_ + "\" timeout=" + std::to_string(patience_seconds));
    id_ = id_of(file_);
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

  bool is_in_place() const override { return id_of(file_) == id_; }

  Error rescue(soci::session& sql) const override {
    const auto beside = [&](const char* end) { return std::filesystem::path(place_ + end); };
    const std::string bytes = bytes_of(sql);
    if (bytes.empty())
      return run_error(place_ +
                       ": was deleted or replaced while this process worked on it, and cannot be written again");
    if (!id_of(file_)) {
      // SQLite would take the log of the deleted file for the log of the new file.
      remove_file(beside("-wal"));
      remove_file(beside("-shm"));
      write_atomic(file_, bytes);
    } else if (read_file(file_) != bytes) {
      write_atomic(beside(".kept"), bytes);
      return run_error(place_ +
                       ": another file has taken its place while this process worked on it; all that it held "
                       "is in " +
                       beside(".kept").string())
          .hint("where the other file is not this study, give the kept file the old name; then resume");
    }
    return run_error(place_ +
                     ": was deleted while this process worked on it; all that it held has been written there again")
        .hint("resume: all results told so far are kept");
  }

  int schema(soci::session& sql) const override {
    int version = 0;
    sql << "PRAGMA user_version", soci::into(version);
    return version;
  }
  void set_schema(soci::session& sql, int schema) const override {
    sql << "PRAGMA user_version = " + std::to_string(schema);
  }
  // With NORMAL, a commit is in the log, but the log may not be on disk yet.
  void set_durable(soci::session& sql, bool durable) const override {
    sql << (durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  }

  const char* begin_to_read() const override { return "BEGIN"; }
  const std::vector<std::string>& begin_to_write() const override { return begin_to_write_; }
  // The processes of one machine share its clocks.
  double clock_lead(soci::session&) const override { return 0; }
  double deadline_lead(soci::session&, double wall) const override { return steady_seconds() - wall; }
  const char* whole_number() const override { return "INTEGER"; }
  const char* counting_key() const override { return "INTEGER PRIMARY KEY"; }
  // Processes share the log through the memory of one machine. Processes of two machines would overwrite each other's
  // writes.
  bool is_for_many_hosts() const override { return false; }

 private:
  std::filesystem::path file_;
  std::string place_;
  const std::vector<std::string> begin_to_write_ = {"BEGIN IMMEDIATE"};
  std::optional<FileId> id_;  // id of the open file
};

}  // namespace

std::unique_ptr<SqlDialect> sqlite_dialect(const std::filesystem::path& file) {
  return std::make_unique<SqliteDialect>(file);
}

}  // namespace trainlab
