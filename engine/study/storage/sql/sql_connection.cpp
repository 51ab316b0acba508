#include "sql_connection.h"

#include <chrono>
#include <cmath>
#include <thread>

#include "core/clock.h"

namespace trainlab {

namespace {

constexpr std::chrono::milliseconds between_connections{200};

}  // namespace

SqlConnection::SqlConnection(std::unique_ptr<SqlDialect> dialect, Waiting waiting)
    : dialect_(std::move(dialect)), waiting_(std::move(waiting)) {
  while (true) {
    try {
      connect();
      return;
    } catch (const soci::soci_error& error) {
      const std::string words = error.get_error_message();
      if (!dialect_->is_busy(words)) throw dialect_->error(words);
      wait(dialect_->error(words));
    }
  }
}

soci::statement& SqlConnection::compiled(const char* text) {
  const auto [found, is_new] = statements_.try_emplace(text, sql_);
  soci::statement& statement = found->second;
  if (!is_new) {
    statement.bind_clean_up();
    return statement;
  }
  try {
    statement.alloc();
    statement.prepare(text);
  } catch (const soci::soci_error&) {
    statements_.erase(found);
    throw;
  }
  return statement;
}

void SqlConnection::connect() {
  statements_.clear();
  sql_.close();
  dialect_->connect(sql_);
  is_durable_ = true;
  away_since_.reset();
}

void SqlConnection::failed(const soci::soci_error& error) {
  const Error told = dialect_->error(error.get_error_message());
  if (sql_.is_connected()) throw told;
  wait(told);
}

// Until the next attempt to connect.
void SqlConnection::wait(const Error& reason) {
  const double now = steady_seconds();
  if (!away_since_) {
    away_since_ = now;
    if (waiting_.say) {
      const auto patience = static_cast<long long>(std::ceil(waiting_.patience));
      waiting_.say(reason.message() + "; trying again for " + std::to_string(patience) + " s");
    }
  }
  if (now - *away_since_ >= waiting_.patience || (waiting_.gives_up && waiting_.gives_up()))
    throw Error(ErrorKind::interrupted, reason.message()).hint(reason.hint());
  std::this_thread::sleep_for(between_connections);
}

void SqlConnection::reconnect() {
  connect();
  if (waiting_.say) waiting_.say(dialect_->place() + ": the database is there again");
}

}  // namespace trainlab
