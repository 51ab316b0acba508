#include "supervise/expected_workers.h"

#include <catch2/catch.hpp>

#include "core/files.h"
#include "run/run.h"
#include "support/temporary_folder.h"

namespace trainlab::expected_workers_test {

TEST_CASE("the largest number of workers in a recipe is expected") {
  CHECK(workers_in("") == 1);
  CHECK(workers_in("return lab.fit { epochs = 3 }") == 1);
  CHECK(workers_in("return lab.sweep { workers = 4, trials = 8 }") == 4);
  CHECK(workers_in("workers=2\nworkers\t=  3 workers = 1") == 3);
  CHECK(workers_in("workers = lab.param { \"workers\", 5 }") == 1);
  CHECK(workers_in("my_workers = 7, workers == 8, workers") == 1);
  CHECK(workers_in("workers =") == 1);
  CHECK(workers_in("workers = 99999999999999999999") == 1);
}

TEST_CASE("no more workers are expected than there are cores") {
  const test::TemporaryFolder folder;
  Request request;
  request.recipe = folder.path() / "r.lua";
  CHECK(expected_workers(request) == 1);  // no such file
  write_atomic(request.recipe, "return lab.sweep { workers = 100000 }");
  CHECK(expected_workers(request) == usable_cores());
  request.options.set("workers", 1);
  CHECK(expected_workers(request) == 1);
}

}  // namespace trainlab::expected_workers_test
