// SqlConnection: the connection of a storage to its database, with its statements and transactions. A broken
// connection is made again, and the work that was under way is repeated. Private to the module.
#pragma once

#include <soci/soci.h>

#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "sql_storage.h"

namespace trainlab {

// Absence: how long a database has been out of reach, and the waiting until it is back.
class Absence {
 public:
  explicit Absence(const Waiting& waiting) : waiting_(waiting) {}

  // After a failed attempt to reach the database: waits for the time of the next attempt. Raises Error{interrupted}
  // with the words of `reason` when the time to wait has ended. `is_refusal`: a server has answered, and refuses, which
  // is said in the course of the absence too, because somebody may have to change something.
  void wait(const Error& reason, bool is_refusal);
  bool has_begun() const { return since_.has_value(); }
  // To be called when the database `place` can be reached again.
  void end(const std::string& place);

 private:
  Waiting waiting_;
  std::optional<double> since_;  // begin of the absence in steady seconds
  std::string said_;             // the last reason that was said
};

// To be used by one thread at a time. Functions raise the errors that Storage documents.
class SqlConnection {
 public:
  // Connects in the constructor.
  SqlConnection(std::unique_ptr<SqlDialect> dialect, const Waiting& waiting);

  soci::session& sql() { return sql_; }
  const SqlDialect& dialect() const { return *dialect_; }

  // Calls `f`, and calls it again on a new connection when the old connection has broken.
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
  // Whether guarded() is repeating `f`. If the connection broke during a commit, the transaction may already have
  // happened, and the caller has to look whether it has.
  bool is_repeated() const { return is_repeated_; }

  // Calls `f` in a transaction, guarded: read() in one that sees a single moment, write() in one during which no other
  // process writes.
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
      // The place is checked while no other process can write. A session then sees all that was ever written, and
      // processes rescue the study one after the other.
      bracketed(begin, [&] {
        if (!dialect_->is_in_place()) throw dialect_->rescue(sql_);
        f();
      });
    });
  }

  // A statement with its values and the variables for its columns, which must live until the statement was executed. A
  // statement is compiled only at its first use, because compiling takes longer than executing most statements. `text`
  // lives as long as the connection.
  template <class... Bindings>
  soci::statement& prepared(const char* text, Bindings&&... bindings) {
    soci::statement& statement = compiled(text);
    (statement.exchange(std::forward<Bindings>(bindings)), ...);
    statement.define_and_bind();
    return statement;
  }

  // Executes a statement to its end, so that it holds no lock. Returns whether it had a row; the variables get the
  // columns of the first row.
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
        // The database has rolled back already, or the transaction has not begun.
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
  std::map<std::string_view, soci::statement> statements_;  // compiled statements by their text
  bool is_durable_ = true;
  bool is_repeated_ = false;
};

}  // namespace trainlab
