#include "sql_connection.h"

#include <chrono>
#include <cmath>
#include <thread>

#include "core/clock.h"

namespace trainlab {

namespace {

constexpr std::chrono::milliseconds between_connections{200};

}  // namespace

void Absence::wait(const Error& reason) {
  const double now = steady_seconds();
  if (!since_) {
    since_ = now;
    const auto patience = static_cast<long long>(std::ceil(waiting_.patience));
    if (waiting_.say) waiting_.say(reason.message() + "; trying again for " + std::to_string(patience) + " s");
  }
  if (now - *since_ >= waiting_.patience || (waiting_.gives_up && waiting_.gives_up()))
    throw Error(ErrorKind::interrupted, reason.message()).hint(reason.hint());
  std::this_thread::sleep_for(between_connections);
}

void Absence::end(const std::string& place) {
  if (since_ && waiting_.say) waiting_.say(place + ": the database is there again");
  since_.reset();
}

SqlConnection::SqlConnection(std::unique_ptr<SqlDialect> dialect, const Waiting& waiting)
    : dialect_(std::move(dialect)), absence_(waiting) {
  while (true) {
    try {
      connect();
      return;
    } catch (const soci::soci_error& error) {
      const std::string words = error.get_error_message();
      const bool will_answer = dialect_->is_busy(words) || (waiting.is_known_place && dialect_->is_away(words));
      if (!absence_.has_begun() && !will_answer) throw dialect_->error(words);
      absence_.wait(dialect_->error(words));
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
  absence_.end(dialect_->place());
}

void SqlConnection::failed(const soci::soci_error& error) {
  const Error told = dialect_->error(error.get_error_message());
  if (sql_.is_connected()) throw told;
  absence_.wait(told);
}

}  // namespace trainlab
