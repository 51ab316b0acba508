// make_study SPEC.json RUN    makes a run folder with stages, summaries and studies as they would be after a run
// make_study work DB COUNT    a worker: begins, reports and ends COUNT trials of the study in DB, one after the other
//
// SPEC: { "stages": [ { "name", "kind", "folder": "." | "stages/x", "summary": {…}, "study": { "description": {…},
// "trials": [ { "state", "params": {…}, "values": [x, …], "info": {…}, "reports": [[repeat, validation, x], …] } ] } }
// ] }
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "run/folder.h"
#include "run/manifest.h"
#include "study/place.h"
#include "study/space.h"

namespace {

using namespace trainlab;
namespace fs = std::filesystem;

constexpr double never = 1e18;  // seconds: when leases end

double number_of(const Value& value) { return value.is_number() ? value.number() : std::nan(""); }

TrialState state_of(const std::string& name) {
  for (const TrialState state :
       {TrialState::waiting, TrialState::running, TrialState::complete, TrialState::pruned, TrialState::failed}) {
    if (trial_state_name(state) == name) return state;
  }
  throw recipe_error("no state " + name);
}

Storage::Choose always(std::int64_t trial, std::vector<double> point) {
  return [=](const StudyChanges&) { return Storage::Begin{trial, point}; };
}

void make_study(const fs::path& file, const Value& spec) {
  const auto storage = StudyPlace(file).open();
  storage->open(spec["description"]);
  const Space space = Space::from_value(spec["description"]["space"]);
  Storage::Owner owner{.name = "", .supervisor = "host:6", .expires = never};
  std::int64_t number = 0;
  for (const Value& trial : spec["trials"].list()) {
    owner.name = host_name() + (trial["owner"].is_string() ? trial["owner"].string() : ":7");
    const std::vector<double> point = space.point(trial["params"]);
    const TrialState state = state_of(trial["state"].string());
    if (state == TrialState::waiting) {
      storage->enqueue(point);
    } else {
      const Lease lease = *storage->begin(owner, 0, always(number, point));
      std::vector<TrialReport> reports;
      if (trial["reports"].is_list()) {
        for (const Value& one : trial["reports"].list()) {
          const Value::List& parts = one.list();
          reports.push_back(
              {.repeat = parts[0].integer(), .resource = parts[1].integer(), .values = {number_of(parts[2])}});
        }
      }
      storage->report(lease, reports);
      std::vector<double> values;
      if (trial["values"].is_list()) {
        for (const Value& value : trial["values"].list()) values.push_back(number_of(value));
      }
      if (is_final(state)) storage->end({{lease, state, values, trial["info"]}});
    }
    ++number;
  }
}

void make_run(const Value& spec, const fs::path& run) {
  fs::create_directories(run);
  Manifest manifest;
  manifest.recipe = "search.lua";
  manifest.started = "2026-03-01T00:00:00Z";
  manifest.settings["device"] = "cpu";
  manifest.settings["threads"] = 1;
  write_manifest(run, manifest);
  std::vector<StageRecord> stages;
  for (const Value& one : spec["stages"].list()) {
    const fs::path folder = run / one["folder"].string();
    fs::create_directories(folder);
    stages.push_back({one["name"].string(), one["kind"].string(), one["folder"].string()});
    if (one["study"].is_map()) make_study(folder / "study.db", one["study"]);
    if (one["summary"].is_map()) write_atomic(folder / "summary.json", to_json(one["summary"], 2) + "\n");
  }
  write_stages(run, stages);
}

void work(const fs::path& file, int count) {
  const auto storage = StudyPlace(file).open();
  const Space space = Space::from_value(storage->open({})["space"]);
  const Storage::Owner owner{
      .name = host_name() + ":" + std::to_string(::getpid()), .supervisor = "host:6", .expires = never};
  std::int64_t known = 0;
  for (int i = 0; i < count; ++i) {
    std::vector<double> point;
    for (std::size_t p = 0; p < space.size(); ++p) point.push_back(space.from_unit(p, std::fmod(0.618 * i, 1)));
    const Lease lease = *storage->begin(owner, 0, [&](const StudyChanges& changes) {
      for (const StoredTrial& trial : changes.trials) known = std::max(known, trial.number + 1);
      return Storage::Begin{known, point};
    });
    const TrialReport report{.repeat = 1, .resource = 1, .values = {0.5}};
    storage->report(lease, std::span(&report, 1));
    const double value = 1.0 / (i + 1);
    storage->end({{lease, TrialState::complete, {value}, Value::Map{{"seconds", 0.5}}}});
    std::printf("%d\n", i);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 4 && argv[1] == std::string("work")) {
      work(argv[2], std::stoi(argv[3]));
    } else if (argc == 3) {
      make_run(parse_json(read_file(argv[1]), argv[1]), argv[2]);
    } else {
      return 99;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
