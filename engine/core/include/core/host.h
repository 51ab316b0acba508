// Which machine and process this is, and what memory it has. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace trainlab {

std::string host_name();
// The model of the first processor, or its architecture where the system names no model.
std::string processor_name();

// "HOST/SPACE:PID" of this process: how owners of locks and leases are named. SPACE tells containers apart.
std::string this_process();
// The HOST of such a name.
std::string host_of(const std::string& process);

// Whether no process of this number works in this space any more: there is none, or it has ended and nobody has waited
// for it, as in containers whose first process does not wait for orphans.
bool has_ended(int pid);

// Whether a process of this host and space that had this name is there no more. (Its number may have been given to
// another one: then it seems to live.)
bool has_died(const std::string& process);

// Bytes of memory that the process may use: physical memory, or less if a control group or a resource limit says so.
std::int64_t usable_memory();

// Bytes that the process may take of the system at this moment, without swapping, beside those that it has: what the
// machine has available, or less if a control group says so. Reads some files of the system.
std::int64_t free_memory();
// Bytes of memory of its own that the process has in use or keeps for later, as the system sees them.
std::int64_t held_memory();

}  // namespace trainlab
