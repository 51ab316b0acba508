// What a thread that trains keeps of its latest work.
#include "journal/recent_work.h"

#include <catch2/catch.hpp>

#include "journal/speed.h"

namespace trainlab::recent_work_test {

TEST_CASE("the latest pieces of work are kept, in the order of their ends") {
  RecentWork work;
  const auto count = static_cast<int>(RecentWork::most);
  for (int i = 0; i < count + 10; ++i) work.add({.begin = double(i), .fetched = i + 0.25, .end = i + 1.0});
  const std::vector<PieceOfWork> all = work.after(0);
  REQUIRE(all.size() == RecentWork::most);
  CHECK(all.front().begin == 10);
  CHECK(all.back().end == count + 10);
  const std::vector<PieceOfWork> last = work.after(count + 7);
  REQUIRE(last.size() == 3);
  CHECK(last.front().begin == count + 7);
  CHECK(work.after(count + 10).empty());
  CHECK(RecentWork().after(0).empty());
}

TEST_CASE("a speed meter keeps the work that it is told of") {
  SpeedMeter meter([] { return std::optional<double>(); });
  SpeedTotal total(nullptr, {});
  const double begin = 1e9;  // later than other tests
  meter.begin(begin, total);
  meter.stepped(begin, begin + 1, begin + 4, 32);
  meter.evaluated(begin + 4, begin + 6);
  meter.committed(begin + 6, begin + 7);
  const std::vector<PieceOfWork> kept = recent_work().after(begin);
  REQUIRE(kept.size() == 3);
  CHECK(kept[0].phase == Phase::step);
  CHECK(kept[0].fetched == begin + 1);
  CHECK(kept[0].samples == 32);
  CHECK(kept[1].phase == Phase::validate);
  CHECK(kept[1].begin == begin + 4);
  CHECK(kept[2].phase == Phase::commit);
  CHECK(kept[2].end == begin + 7);
}

}  // namespace trainlab::recent_work_test
