// Which checkpoint counts when files are damaged, for a fit that goes on and for a fit that continues another one's.
#include <ATen/ops/full.h>

#include <catch2/catch.hpp>

#include "core/files.h"
#include "journal/checkpoint.h"
#include "support/temporary_folder.h"

namespace trainlab::checkpoint_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

// A folder with checkpoints of the steps 10 and 20, which both name the best weights of step 10.
class Checkpoints {
 public:
  Checkpoints() {
    CheckpointFolder folder(from(), [](const std::string&) {});
    const auto weights = [](double value) { return NamedTensors{{"w", at::full({2}, value)}}; };
    for (const std::int64_t step : {10, 20})
      folder.commit({.step = step,
                     .tensors = weights(static_cast<double>(step)),
                     .info = Value::Map{{"mark", step}},
                     .best = BestWeights{.step = 10, .tensors = weights(0.5)}});
  }
  fs::path from() const { return root_.path() / "from"; }
  fs::path to() const { return root_.path() / "to"; }

  void damage(const std::string& stem) const { write_atomic(from() / (stem + ".safetensors"), "no tensors"); }

 private:
  TemporaryFolder root_;
};

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a fit that goes back keeps the checkpoints until then, and their best weights") {
  const Checkpoints checkpoints;
  CheckpointFolder folder(checkpoints.from(), [](const std::string&) {});
  CHECK(folder.newest_until(20) == 20);
  CHECK(folder.newest_until(15) == 10);
  CHECK(folder.newest_until(9) == 0);
  folder.go_back(20);
  CHECK(CheckpointFolder::newest_step(checkpoints.from()) == 20);
  folder.go_back(15);
  const auto newest = folder.newest();
  REQUIRE(newest);
  CHECK(newest->step == 10);
  CHECK(newest->best);
  CHECK_FALSE(fs::exists(checkpoints.from() / "last-000000020.safetensors"));
  folder.go_back(9);
  CHECK(fs::is_empty(checkpoints.from()));
  // That of a fit which was interrupted before its first step has other initial weights than a fit that begins anew.
  folder.commit({.step = 0, .tensors = {}, .info = Value::Map{}, .best = {}});
  CHECK(folder.newest_until(0) == 0);
  folder.go_back(0);
  CHECK(fs::is_empty(checkpoints.from()));
}

TEST_CASE("without any whole best weights the newest checkpoint counts, without best weights") {
  const Checkpoints checkpoints;
  checkpoints.damage("best-000000010");
  const Lines expected{"damage: the best weights so far are damaged; going on without them"};
  Lines said;
  const auto say = [&](const std::string& line) { said.push_back(line); };
  CHECK(CheckpointFolder::has_complete(checkpoints.from()));

  REQUIRE(CheckpointFolder::take_over(checkpoints.from(), checkpoints.to(), say));
  CHECK(said == expected);
  const auto copied = CheckpointFolder(checkpoints.to(), say).newest();
  REQUIRE(copied);
  CHECK(copied->step == 20);
  CHECK_FALSE(copied->best);
  CHECK(said == expected);

  said.clear();
  const auto newest = CheckpointFolder(checkpoints.from(), say).newest();
  REQUIRE(newest);
  CHECK(newest->step == 20);
  CHECK(newest->info["mark"] == Value(20));
  CHECK_FALSE(newest->best);
  CHECK(said == expected);
}

TEST_CASE("a damaged checkpoint is told once, and only the fit whose checkpoint is damaged sets the files aside") {
  const Checkpoints checkpoints;
  checkpoints.damage("last-000000020");
  Lines said;
  const auto say = [&](const std::string& line) { said.push_back(line); };

  REQUIRE(CheckpointFolder::take_over(checkpoints.from(), checkpoints.to(), say));
  REQUIRE(said.size() == 1);
  CHECK(said[0].starts_with("damage: checkpoint last-000000020 is damaged and was passed over: "));
  CHECK(fs::exists(checkpoints.from() / "last-000000020.json"));
  const auto copied = CheckpointFolder(checkpoints.to(), say).newest();
  REQUIRE(copied);
  CHECK(copied->step == 10);
  REQUIRE(copied->best);
  CHECK(copied->best->step == 10);

  said.clear();
  const auto newest = CheckpointFolder(checkpoints.from(), say).newest();
  REQUIRE(newest);
  CHECK(newest->step == 10);
  CHECK(said.size() == 1);
  CHECK(fs::exists(checkpoints.from() / "damaged-last-000000020.json"));
}

TEST_CASE("without any whole checkpoint none is found, and every damage is told") {
  const Checkpoints checkpoints;
  checkpoints.damage("last-000000010");
  checkpoints.damage("last-000000020");
  CHECK_FALSE(CheckpointFolder::has_complete(checkpoints.from()));
  Lines said;
  CHECK_FALSE(CheckpointFolder(checkpoints.from(), [&](const std::string& line) { said.push_back(line); }).newest());
  REQUIRE(said.size() == 3);
  CHECK(said[2] == "damage: no complete checkpoint is left; this starts again from the first step");
}

}  // namespace trainlab::checkpoint_test
