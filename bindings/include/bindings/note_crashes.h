// Last words of an engine that a signal ends.
#pragma once

namespace trainlab {

// From now on an engine that a signal ends in an operator of a recipe leaves a note of the operator and the line
// (run/last_note.h). SIGKILL cannot be noticed; because the system sends it where memory runs out, an operator that
// takes much memory is noted before it does. Call on the thread that executes recipes.
void note_crashes();

}  // namespace trainlab
