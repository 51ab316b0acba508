// Files that the build lets the engine write: the tables of entries, operators and commands that are embedded in
// `trainlab`, and files made from the table of entries.
#pragma once

namespace trainlab {

// trainlab-engine --table FILE | --operators FILE | --commands FILE | --reference FILE | --luacats FILE, in any
// combination. True if the arguments asked for such files, which are then written. Raises Error.
bool write_tables(int argc, const char* const* argv);

}  // namespace trainlab
