#include "linear_algebra.h"

// oneMKL's mkl_set_xerbla, by the name that it has in LibTorch's library; a LibTorch without oneMKL does not have it.
extern "C" __attribute__((weak)) void* mkl_serv_set_xerbla(void (*handler)(const char* routine, const int* parameter,
                                                                           int length));

namespace trainlab {

namespace {

// An error from here would pass through code that was not written for C++'s exceptions.
void say_nothing(const char*, const int*, int) {}

}  // namespace

void silence_linear_algebra() {
  if (mkl_serv_set_xerbla) mkl_serv_set_xerbla(say_nothing);
}

}  // namespace trainlab
