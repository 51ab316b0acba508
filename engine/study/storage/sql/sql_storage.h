// SqlDialect: the differences between SQL databases; and the storage that all of them share. Private to the module.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "study/database.h"
#include "study/place.h"
#include "study/storage.h"

namespace soci {
class session;
}

namespace trainlab {

// How a kind of database connects, begins transactions and makes them durable. All other statements are in the storage.
class SqlDialect {
 public:
  virtual ~SqlDialect() = default;

  // The name of the study in messages.
  virtual const std::string& place() const = 0;
  // The error for the database's message `words`, with the place and a hint.
  virtual Error error(const std::string& words) const = 0;

  // Opens the session, for durable transactions. Error{usage} where the place holds a study of a newer version,
  // or something else than a study; the place is then left unchanged.
  virtual void connect(soci::session& sql) = 0;
  // Whether connect() failed with the message `words` only because the server is starting, or has no connection left at
  // present.
  virtual bool is_busy(std::string_view words) const = 0;
  // Whether connect() failed with the message `words` because no server answered, or because the server ended the
  // connection; a server that answered and refused is not away.
  virtual bool is_away(std::string_view words) const = 0;
  // Whether the study still lies where it was opened. A study that was deleted or replaced takes no more writes;
  // rescue() then saves all that the session sees of the study, and returns the error to raise.
  virtual bool is_in_place() const = 0;
  virtual Error rescue(soci::session& sql) const = 0;

  // The version of the study's schema; 0: there is no study yet.
  virtual int schema(soci::session& sql) const = 0;
  virtual void set_schema(soci::session& sql, int schema) const = 0;
  // Whether commits are durable. Other commits survive the end of the process, but not a crash of the machine. To be
  // called outside of transactions.
  virtual void set_durable(soci::session& sql, bool durable) const = 0;

  // The statement that begins a transaction which sees a single moment and never waits.
  virtual const char* begin_to_read() const = 0;
  // The statements that begin a transaction which waits for its turn to write, so that it
  // cannot fail later because of another writer.
  virtual const std::vector<std::string>& begin_to_write() const = 0;
  // Seconds by which the wall clock that all processes of the study share is ahead of this machine's.
  virtual double clock_lead(soci::session& sql) const = 0;
  // The same for the clock of the study's deadline, which is nobody's to set if possible. `wall`: now.
  virtual double deadline_lead(soci::session& sql, double wall) const {
    (void)wall;
    return clock_lead(sql);
  }
  // SQL's types for a whole number of 64 bits, and for a key that counts up by itself.
  virtual const char* whole_number() const = 0;
  virtual const char* counting_key() const = 0;
  // Whether processes of several machines can work on a study at the same time.
  virtual bool is_for_many_hosts() const = 0;
};

// The storage of a study, connected. `wall`: the wall clock.
std::unique_ptr<Storage> sql_storage(std::unique_ptr<SqlDialect> dialect, const Waiting& waiting,
                                     std::function<double()> wall = wall_seconds);

// The dialect of a SQLite file.
std::unique_ptr<SqlDialect> sqlite_dialect(const std::filesystem::path& file);
// The dialect of PostgreSQL.
std::unique_ptr<SqlDialect> postgresql_dialect(const Database& database, const std::string& study);

}  // namespace trainlab
