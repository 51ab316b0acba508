// Energy from counters of processors, in a folder that is made as the system's.
#include <catch2/catch.hpp>
#include <fstream>

#include "plan/energy.h"
#include "support/temporary_folder.h"

namespace trainlab::energy_test {

namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text << '\n';
}

void make_zone(const std::filesystem::path& zone, const std::string& name, std::int64_t energy) {
  write(zone / "name", name);
  write(zone / "energy_uj", std::to_string(energy));
  write(zone / "max_energy_range_uj", "262143328850");
}

}  // namespace

TEST_CASE("the energy of all packages is counted, each once") {
  const test::TemporaryFolder folder;
  const std::filesystem::path& zones = folder.path();
  make_zone(zones / "intel-rapl:0", "package-0", 1'000'000);
  make_zone(zones / "intel-rapl:1", "package-1", 5'000'000);
  make_zone(zones / "intel-rapl:0:0", "core", 1'000'000);          // a part of package 0
  make_zone(zones / "intel-rapl:2", "psys", 1'000'000);            // the platform, with both packages
  make_zone(zones / "intel-rapl-mmio:0", "package-0", 1'000'000);  // the same counter again
  const EnergyMeter meter(zones);
  CHECK(*meter.joules() == 0);
  for (const char* zone : {"intel-rapl:0:0", "intel-rapl:2", "intel-rapl-mmio:0"})
    write(zones / zone / "energy_uj", "90000000");
  write(zones / "intel-rapl:0" / "energy_uj", "3500000");
  write(zones / "intel-rapl:1" / "energy_uj", "5250000");
  CHECK(*meter.joules() == Approx(2.75));
}

TEST_CASE("a counter that begins anew goes on") {
  const test::TemporaryFolder folder;
  make_zone(folder.path() / "intel-rapl:0", "package-0", 262'143'328'850 - 1'000'000);
  const EnergyMeter meter(folder.path());
  write(folder.path() / "intel-rapl:0" / "energy_uj", "2000000");
  CHECK(*meter.joules() == Approx(3));
}

TEST_CASE("energy is unknown where no package can be read") {
  const test::TemporaryFolder folder;
  CHECK_FALSE(EnergyMeter(folder.path() / "none").joules());
  CHECK_FALSE(EnergyMeter(folder.path()).joules());
  make_zone(folder.path() / "intel-rapl:0", "package-0", 0);
  write(folder.path() / "intel-rapl:0" / "energy_uj", "");
  CHECK_FALSE(EnergyMeter(folder.path()).joules());
  write(folder.path() / "intel-rapl:0" / "energy_uj", "7");
  const EnergyMeter meter(folder.path());
  CHECK(meter.joules());
  std::filesystem::remove(folder.path() / "intel-rapl:0" / "energy_uj");
  CHECK_FALSE(meter.joules());
}

}  // namespace trainlab::energy_test
