// A study in an SQL database, through SOCI: the statements that all databases share, and the dialect that says what a
// database does in its own way.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/error.h"
#include "study/storage.h"

namespace soci {
class session;
}

namespace trainlab {

// Functions that take a session raise soci::soci_error with the database's own words.
class SqlDialect {
 public:
  virtual ~SqlDialect() = default;

  // For messages.
  virtual const std::string& place() const = 0;
  // The database's words, with the place and what to do.
  virtual Error error(const std::string& words) const = 0;

  // Opens the session, for durable transactions. Error{usage} where there is a study of a newer version or something
  // else than a study, which stays as it is.
  virtual void connect(soci::session& sql) = 0;
  // Whether the place still holds what the session was opened on: somebody may have deleted or replaced the store.
  virtual bool is_in_place() const = 0;
  // Called where the place does not, within a transaction that keeps other processes from writing: writes all that the
  // session sees to the place, or beside it where something else is there now, and returns the error that says so. The
  // old store stays as it is from then on, so that all processes write the same.
  virtual Error rescue(soci::session& sql) const = 0;
  // The schema of the stored study; 0: there is no study yet.
  virtual int schema(soci::session& sql) const = 0;
  virtual void set_schema(soci::session& sql, int schema) const = 0;
  // Whether the transactions that follow are on disk, whatever happens, when their commit returns. Those that are not
  // survive a killed process, but maybe not a power loss.
  virtual void set_durable(soci::session& sql, bool durable) const = 0;

  // Begins a transaction that sees one moment and waits for nobody.
  virtual const char* begin_to_read() const = 0;
  // Begins a transaction that waits for its turn to write, so that it cannot fail for another writer later.
  virtual const char* begin_to_write() const = 0;
  // The type of a key that counts by itself.
  virtual const char* counting_key() const = 0;
  // Whether processes of several machines can work on a study at the same time.
  virtual bool is_for_many_hosts() const = 0;
};

std::unique_ptr<Storage> sql_storage(std::unique_ptr<SqlDialect> dialect);

// The dialect of a SQLite file.
std::unique_ptr<SqlDialect> sqlite_dialect(const std::filesystem::path& file);

}  // namespace trainlab
