// What SQL databases differ in, and the storage that all of them share. Private to the module.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "study/database.h"
#include "study/place.h"
#include "study/storage.h"

namespace soci {
class session;
}

namespace trainlab {

// How one database connects, begins a transaction and is durable. Statements are the storage's.
class SqlDialect {
 public:
  virtual ~SqlDialect() = default;

  // The study, for messages.
  virtual const std::string& place() const = 0;
  // The database's words, with the place and what to do.
  virtual Error error(const std::string& words) const = 0;

  // Opens the session, for durable transactions. Error{usage} where there is a study of a newer version or something
  // else than a study, which stays as it is.
  virtual void connect(soci::session& sql) = 0;
  // Whether connect() failed with these words because the server is starting or has no connection left for a while.
  virtual bool is_busy(std::string_view words) const = 0;
  // Whether the study lies where it was opened. One that was deleted or replaced takes no more writes; rescue() then
  // keeps what the session sees of it, and is what to raise.
  virtual bool is_in_place() const = 0;
  virtual Error rescue(soci::session& sql) const = 0;

  // 0: there is no study yet.
  virtual int schema(soci::session& sql) const = 0;
  virtual void set_schema(soci::session& sql, int schema) const = 0;
  // Without: a commit survives the process, but not the machine. Outside of transactions.
  virtual void set_durable(soci::session& sql, bool durable) const = 0;

  // Begins a transaction that sees one moment and waits for nobody.
  virtual const char* begin_to_read() const = 0;
  // The statements that begin a transaction which waits for its turn to write, so that it cannot fail for another
  // writer later.
  virtual const std::vector<std::string>& begin_to_write() const = 0;
  // Seconds by which the clock that all processes of the study share is ahead of this machine's.
  virtual double clock_lead(soci::session& sql) const = 0;
  // The types of a whole number of 64 bits and of a key that counts by itself.
  virtual const char* whole_number() const = 0;
  virtual const char* counting_key() const = 0;
  // Whether processes of several machines can work on a study at the same time.
  virtual bool is_for_many_hosts() const = 0;
};

// Connects at once.
std::unique_ptr<Storage> sql_storage(std::unique_ptr<SqlDialect> dialect, const Waiting& waiting);

// The dialect of a SQLite file.
std::unique_ptr<SqlDialect> sqlite_dialect(const std::filesystem::path& file);
// The dialect of PostgreSQL.
std::unique_ptr<SqlDialect> postgresql_dialect(const Database& database, const std::string& study);

}  // namespace trainlab
