#include "sql_connection.h"

#include <chrono>
#include <cmath>
#include <thread>

#include "core/clock.h"

namespace trainlab {

namespace {

constexpr std::chrono::milliseconds between_connections{200};

}  // namespace

void Absence::wait(const Error& reason, bool is_refusal) {
  const double now = steady_seconds();
  const bool is_new = !since_ || (is_refusal && reason.message() != said_);
  if (!since_) since_ = now;
  if (is_new) {
    said_ = reason.message();
    const auto left = static_cast<long long>(std::ceil(*since_ + waiting_.patience - now));
    if (waiting_.say) waiting_.say(said_ + "; trying again for " + std::to_string(left) + " s");
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
      const bool is_busy = dialect_->is_busy(words), is_away = dialect_->is_away(words);
      const bool will_answer = is_busy || (waiting.is_known_place && is_away);
      if (!absence_.has_begun() && !will_answer) throw dialect_->error(words);
      absence_.wait(dialect_->error(words), !is_busy && !is_away);
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
  const std::string words = error.get_error_message();
  const Error told = dialect_->error(words);
  if (sql_.is_connected()) throw told;
  absence_.wait(told, !dialect_->is_busy(words) && !dialect_->is_away(words));
}

}  // namespace trainlab
