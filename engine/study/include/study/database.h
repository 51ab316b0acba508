// Database: a PostgreSQL database in which studies lie, as a URL names it. A study is a schema (a namespace of tables)
// of the database; its name is that of the schema.
//
// A plain value. Thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/registry.h"

namespace trainlab {

// How a process waits while its database is away: it tries to reach the database again and again.
struct Waiting {
  static constexpr double usual_patience = 120;
  double patience = usual_patience;                       // seconds
  std::function<void(const std::string& line)> say = {};  // when the waiting begins and ends; any thread
  std::function<bool()> gives_up = {};                    // whether to end before; asked often, by any thread
  // Whether the run has reached this database before. A server that cannot be reached is then waited for at the first
  // connection too; otherwise its place may be wrong, and the first connection fails at once.
  bool is_known_place = false;
};

class Database {
 public:
  // libpq's URL: postgresql://[USER[:PASSWORD]@][HOST[:PORT]][/DATABASE][?OPTION=VALUE&…]. Error{usage} for another
  // text, of which the message shows nothing that may be a password.
  explicit Database(std::string url);

  const std::string& url() const { return url_; }
  // The URL without its password, for messages and files.
  const std::string& text() const { return text_; }
  bool has_password() const { return !secrets_.empty(); }
  // The words of an error, without the password.
  std::string without_password(std::string words) const;

  // These ask the server. Each waits for a server that is starting or has no connection left, and raises Error{run}
  // when the server cannot be reached or refuses, and Error{usage} when SOCI's library for PostgreSQL is not installed.
  //
  // Makes an empty study of the next free number, PREFIX/001, PREFIX/002, …; its name. PREFIX is cut to what a name in
  // PostgreSQL has room for.
  std::string make_next(const std::string& prefix, const Waiting& waiting = {}) const;
  // Makes an empty study of this name, if there is none.
  void make(const std::string& study) const;
  // The names of the studies that make_next(prefix) has made and that have been opened since; the newest first.
  std::vector<std::string> studies(const std::string& prefix, const Waiting& waiting = {}) const;

 private:
  std::string url_, text_;
  std::vector<std::string> secrets_;  // the password as the URL has it, and decoded
};

// The option `storage` of lab.sweep, lab.ensemble and lab.study.
Option storage_option();
// The database that the option `storage` names, or otherwise TRAINLAB_STORAGE in the environment; nullopt: none. Error
// for what is no URL, and for an option with a password, which would be kept in the run's folder.
std::optional<Database> storage_of(const Options& options);
// Error{usage} unless the URL of `--study` is one, and has no password.
Database given_database(const std::string& url);

}  // namespace trainlab
