// The library of linear algebra under LibTorch (oneMKL).
#pragma once

namespace trainlab {

// Keeps the library from writing into the program's output. It would write "Intel oneMKL ERROR: Parameter 4 was
// incorrect on entry to SLASCL" for values that are not finite, whether the operator then raises an error or gives NaN.
void silence_linear_algebra();

}  // namespace trainlab
