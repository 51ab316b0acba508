// Large allocations of scripts.
#pragma once

namespace trainlab {

// `listener` is called before an operator of a script takes 1 MiB or more at once, on the thread that takes it.
void on_large_script_memory(void (*listener)());

}  // namespace trainlab
