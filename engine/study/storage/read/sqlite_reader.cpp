// Reads a study's file through SQLite's own interface. Only this interface can open a file without making other files
// beside it, and programs that only report then need no other library.
#include <sqlite3.h>

#include <exception>
#include <tuple>

#include "core/error.h"
#include "core/files.h"
#include "core/words.h"
#include "sqlite.h"
#include "stored.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

constexpr int patience_ms = 10'000;  // wait for a process that recovers the log of a killed process

class Connection {
 public:
  Connection(const fs::path& file, bool at_rest) : file_(file) {
    check_regular(file);
    std::string uri = "file:";
    for (const char c : fs::absolute(file).string()) {
      if (c == '%') uri += "%25";
      if (c == '?') uri += "%3f";
      if (c == '#') uri += "%23";
      if (c != '%' && c != '?' && c != '#') uri += c;
    }
    uri += at_rest ? "?mode=ro&immutable=1" : "?mode=ro";
    const int code =
        sqlite3_open_v2(uri.c_str(), &handle_, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
    try {
      check(code);
      sqlite3_busy_timeout(handle_, patience_ms);
    } catch (...) {
      sqlite3_close(handle_);
      throw;
    }
  }
  ~Connection() { sqlite3_close(handle_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void check(int code) const {
    if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE) {
      throw sqlite_error(file_, sqlite3_errmsg(handle_));
    }
  }
  sqlite3* handle() const { return handle_; }
  const fs::path& file() const { return file_; }

 private:
  fs::path file_;
  sqlite3* handle_ = nullptr;
};

class Statement {
 public:
  Statement(const Connection& connection, const std::string& sql) : connection_(connection) {
    connection_.check(sqlite3_prepare_v2(connection.handle(), sql.c_str(), -1, &statement_, nullptr));
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  bool next() {
    const int code = sqlite3_step(statement_);
    connection_.check(code);
    return code == SQLITE_ROW;
  }
  void bind(std::int64_t value) { connection_.check(sqlite3_bind_int64(statement_, 1, value)); }
  bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  double number(int column) const { return sqlite3_column_double(statement_, column); }
  // The text of a column, valid until the next row.
  std::string_view text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return {bytes ? bytes : "", static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  const Connection& connection_;
  sqlite3_stmt* statement_ = nullptr;
};

class SqliteReader final : public StudyReader {
 public:
  SqliteReader(const fs::path& file, bool at_rest) : sql_(file, at_rest) {
    Statement(sql_, "BEGIN").next();  // all later reads see one snapshot, until the connection ends
    Statement tables(sql_,
                     "SELECT COUNT(*), COUNT(*) FILTER (WHERE name = 'study') FROM sqlite_master WHERE type = 'table'");
    tables.next();
    if (tables.integer(0) > 0 && tables.integer(1) == 0)
      throw usage_error(file.string() + ": holds something else than a study");
    Statement version(sql_, "PRAGMA user_version");
    version.next();
    const auto found = static_cast<int>(version.integer(0));
    if (found > study_schema) throw newer_study(file.string(), found);
    is_made_ = found > 0;
    has_segments_ = found > 1;
  }

  Value description() override {
    if (!is_made_) return {};
    Statement row(sql_, "SELECT description FROM study WHERE id = 1");
    return row.next() ? parse_json(row.text(0), sql_.file().string()) : Value();
  }

  std::vector<StoredTrial> trials(bool with_info) override {
    std::vector<StoredTrial> all;
    if (!is_made_) return all;
    const std::string info = with_info ? "info" : "NULL", segment = has_segments_ ? "parent, until" : "NULL, NULL";
    Statement rows(sql_, "SELECT number, state, attempt, point, values_, owner, " + info + ", " + segment +
                             " FROM trials ORDER BY number");
    const auto segment_in = [&]() -> std::optional<Segment> {
      if (rows.is_null(8)) return std::nullopt;
      return Segment{.parent = rows.is_null(7) ? std::nullopt : std::optional(rows.integer(7)),
                     .until = rows.integer(8)};
    };
    while (rows.next()) {
      all.push_back({.number = rows.integer(0),
                     .state = parse_state(rows.text(1)),
                     .attempt = rows.integer(2),
                     .point = parse_numbers(rows.text(3)),
                     .values = parse_numbers(rows.text(4)),
                     .segment = segment_in(),
                     .owner = std::string(rows.text(5)),
                     .info = info_in(rows, 6)});
    }
    return all;
  }

  Value info(std::int64_t trial) override {
    Statement row(sql_, "SELECT info FROM trials WHERE number = ?");
    row.bind(trial);
    return row.next() ? info_in(row, 0) : Value();
  }

  std::vector<StoredReport> reports(std::span<const std::int64_t> trials) override {
    std::vector<StoredReport> all;
    if (!is_made_ || trials.empty()) return all;
    const std::string numbers = joined(trials, ", ", [](std::int64_t trial) { return std::to_string(trial); });
    Statement rows(sql_, "SELECT trial, attempt, repeat, resource, value FROM reports WHERE trial IN (" + numbers +
                             ") ORDER BY id");
    while (rows.next()) {
      all.push_back({.trial = rows.integer(0),
                     .attempt = rows.integer(1),
                     .report = {.repeat = rows.integer(2),
                                .resource = rows.integer(3),
                                .values = report_values(rows.text(4), sql_.file().string())}});
    }
    return all;
  }

  std::optional<double> seconds() override {
    if (!is_made_) return std::nullopt;
    Statement sum(sql_, "SELECT SUM(info ->> 'seconds') FROM trials WHERE info IS NOT NULL");
    sum.next();
    if (sum.is_null(0)) return std::nullopt;
    return sum.number(0);
  }

 private:
  Value info_in(const Statement& row, int column) const {
    return row.is_null(column) ? Value() : parse_json(row.text(column), sql_.file().string());
  }

  Connection sql_;
  bool is_made_ = false, has_segments_ = false;
};

// Facts about the file that change when a process writes to it.
std::tuple<bool, std::uintmax_t, fs::file_time_type> state_of(const fs::path& file) {
  std::error_code ignored;
  fs::path log = file;
  log += "-wal";
  const bool is_open = fs::exists(log, ignored);
  return {is_open, fs::file_size(file, ignored), fs::last_write_time(file, ignored)};
}

}  // namespace

void read_sqlite(const fs::path& file, const std::function<void(StudyReader&)>& read) {
  // When no process works on the study, there is no log, and SQLite would make one unless it is told that the file
  // cannot change. Whether the file has changed is checked afterwards.
  const auto before = state_of(file);
  if (!std::get<bool>(before)) {
    std::exception_ptr failure;
    try {
      SqliteReader reader(file, /*at_rest=*/true);
      read(reader);
    } catch (const Error&) {
      failure = std::current_exception();
    }
    if (state_of(file) == before) {
      if (failure) std::rethrow_exception(failure);
      return;
    }
  }
  SqliteReader reader(file, /*at_rest=*/false);
  read(reader);
}

// Opens and closes the file: its last connection moves the log into the file and removes SQLite's files beside it.
void settle_sqlite(const fs::path& file) noexcept {
  sqlite3* handle = nullptr;
  if (sqlite3_open_v2(file.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr) == SQLITE_OK) {
    sqlite3_exec(handle, "SELECT COUNT(*) FROM sqlite_master", nullptr, nullptr, nullptr);
  }
  sqlite3_close(handle);
}

Error sqlite_error(const std::filesystem::path& file, const std::string& words) {
  const auto says = [&](const char* text) { return words.find(text) != std::string::npos; };
  // SQLite tells of some calls that fail on a full disk only that they failed.
  Error error = run_error((says("disk I/O error") ? "disk full or failing: " : "") + file.string() + ": " + words);
  if (says("malformed") || says("not a database")) {
    error.hint(
        "the file is damaged; sqlite3's .recover saves what is left in it, and finished trials keep their folders");
  } else if (says("full") || says("disk I/O error") || says("readonly")) {
    error.hint("make room, or make the folder writable, and resume: all results told so far are kept");
  } else if (says("unable to open")) {
    error.hint(
        "a process that works on a study must be able to write into its folder; a process that reads the study needs "
        "all files study.db… there");
  }
  return error;
}

}  // namespace trainlab
