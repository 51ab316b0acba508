// A PostgreSQL server of the test program's own, from Debian's package postgresql (tests/cli/postgresql.py).
#pragma once

#include <optional>
#include <string>

namespace trainlab::test {

// The URL of a server that is started at the first call and ends with the process; no database of it has a study then.
// nullopt where no PostgreSQL is installed. Raises std::runtime_error when one is installed and does not start.
std::optional<std::string> postgresql_server();

// Does this to the server, which has been started before: "stop", "start" or "restart".
void tell_postgresql_server(const std::string& word);

}  // namespace trainlab::test
