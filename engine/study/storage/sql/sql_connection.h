// SqlConnection: the connection of a storage to its database, with its statements and transactions. A connection that
// breaks off is made anew, and what was under way is done again. Private to the module.
#pragma once

#include <soci/soci.h>

#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "sql_storage.h"

namespace trainlab {

// How long a database has been away, and the waiting for it.
class Absence {
 public:
  explicit Absence(const Waiting& waiting) : waiting_(waiting) {}

  // After a failed attempt to reach the database: waits for the time of the next attempt. Raises Error{interrupted}
  // with the words of `reason` when patience is at its end.
  void wait(const Error& reason);
  bool has_begun() const { return since_.has_value(); }
  // `place` is there again.
  void end(const std::string& place);

 private:
  Waiting waiting_;
  std::optional<double> since_;  // steady seconds
};

// Used by one thread at a time. Functions raise what Storage says.
class SqlConnection {
 public:
  // Connects at once.
  SqlConnection(std::unique_ptr<SqlDialect> dialect, const Waiting& waiting);

  soci::session& sql() { return sql_; }
  const SqlDialect& dialect() const { return *dialect_; }

  // Does something, and does it again on a new connection when the old one has gone.
  template <class F>
  void guarded(F&& f) {
    for (is_repeated_ = false;; is_repeated_ = true) {
      try {
        if (absence_.has_begun()) connect();
        return f();
      } catch (const soci::soci_error& error) {
        failed(error);
      }
    }
  }
  // Whether guarded() does something again. Whether a transaction whose commit was under way has happened before is not
  // known then: who began the transaction looks.
  bool is_repeated() const { return is_repeated_; }

  // A transaction that sees one moment, and one that nobody else writes in, as guarded() does things.
  template <class F>
  void read(F&& f) {
    guarded([&] { bracketed([&] { run(dialect_->begin_to_read()); }, f); });
  }
  template <class F>
  void write(bool durable, F&& f) {
    guarded([&] {
      if (durable != is_durable_) dialect_->set_durable(sql_, durable);
      is_durable_ = durable;
      const auto begin = [&] {
        for (const std::string& statement : dialect_->begin_to_write()) run(statement.c_str());
      };
      // Looked at when no other process can write: what the session sees then is all that there is, and one process
      // after the other writes it again.
      bracketed(begin, [&] {
        if (!dialect_->is_in_place()) throw dialect_->rescue(sql_);
        f();
      });
    });
  }

  // A statement with its values and the places of its columns, which are used until it has been executed. It is
  // compiled at its first use: that costs more than most of them take. `text` lives as long as the connection.
  template <class... Bindings>
  soci::statement& prepared(const char* text, Bindings&&... bindings) {
    soci::statement& statement = compiled(text);
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

 private:
  template <class Begin, class F>
  void bracketed(const Begin& begin, F&& f) {
    try {
      begin();
      f();
      run("COMMIT");
    } catch (...) {
      try {
        run("ROLLBACK");
      } catch (const soci::soci_error&) {
        // The database has done it already, or the transaction has not begun.
      }
      throw;
    }
  }

  soci::statement& compiled(const char* text);
  void connect();
  void failed(const soci::soci_error& error);

  std::unique_ptr<SqlDialect> dialect_;
  Absence absence_;
  soci::session sql_;
  std::map<std::string_view, soci::statement> statements_;  // by their text
  bool is_durable_ = true;
  bool is_repeated_ = false;
};

}  // namespace trainlab
