// TRAINLAB_CLONES before a function: the function is compiled once for each instruction set, and one of the clones is
// chosen when the program starts. All clones compute the same bits, because the compiler may neither contract products
// and sums (-ffp-contract=off) nor reorder sums.
//
// Not under sanitizers: the program chooses before the sanitizer's own functions, which the choice would call, are
// there.
#pragma once

#ifndef TRAINLAB_IS_IN_CLONES
#error "name this source under CLONES of its module, or in trainlab_clones (tools/cmake/modules.cmake)"
#endif

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TRAINLAB_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TRAINLAB_CLONES
#endif
