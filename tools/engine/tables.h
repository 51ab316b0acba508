// What the build asks the engine to write: the tables of entries, operators and commands that are embedded in
// `trainlab`, and files made from it.
#pragma once

namespace trainlab {

// trainlab-engine --table FILE | --operators FILE | --commands FILE | --reference FILE | --luacats FILE, in any
// combination. True when the arguments were
// such and the files are written. Raises Error.
bool write_tables(int argc, const char* const* argv);

}  // namespace trainlab
