// Which machine and process this is. Thread-safe.
#pragma once

#include <string>

namespace trainlab {

std::string host_name();

// "HOST:PID" of this process: how owners of locks and leases are named.
std::string this_process();

// Whether "HOST:PID" was a process of this host that is there no more. (Its number may have been given to another one:
// then it seems to live.)
bool has_died(const std::string& process);

}  // namespace trainlab
