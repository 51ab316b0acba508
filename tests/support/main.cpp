// main() of every test program, in a library of its own: Catch2's implementation is compiled once.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
