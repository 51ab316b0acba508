// The cost of timing the rows and the operators of a step. Private to the room.
#pragma once

namespace trainlab {

// The most seconds that one reading of the clock adds to a step, with all that is done for the reading: the span, or
// LibTorch's record of an operator, and the search for the row.
struct ReadingCost {
  double in_row_steps = 0, in_operator_steps = 0;
};

// Measures the cost on the calling thread, in some milliseconds, in steps of a net in which each tensor is a single
// number. The least that a reading takes there is multiplied, because the memory that a reading touches has left the
// caches where more work lies between two readings.
ReadingCost most_of_a_reading();

}  // namespace trainlab
