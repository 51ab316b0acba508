// Where a study is kept, so that many processes work on it and none loses what it was told.
//
// Trials have numbers without gaps. A running trial is leased: to an owner, for a time that the owner renews, and for
// one attempt. Who writes into a trial shows its lease; when the trial went back to waiting in the meantime (its time
// was over, its supervisor has gone) the write is refused, whoever has it now. Final trials never change.
//
// A Storage belongs to one process, whose threads take turns; any number of processes open the same study. Readers
// never wait for writers, and writers wait for each other. All functions raise Error{run} when the store fails (a full
// disk, a damaged file) and say what to do, and Error{interrupted} when a database was away for too long.
// StudyPlace::open() gives a Storage.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/value.h"
#include "study/trials.h"

namespace trainlab {

// A write that came too late: the trial is leased to somebody else, or final.
class LeaseLost : public Error {
 public:
  using Error::Error;
};

struct Lease {
  std::int64_t trial = 0;
  std::int64_t attempt = 1;  // counts the times that the trial was begun: a number that no two leases of a trial share
  std::string owner;         // of this_process(), for messages
};

// How a trial has ended.
struct EndedTrial {
  Lease lease;
  TrialState state = TrialState::complete;
  std::vector<double> values;
  Value info = {};
  std::optional<std::int64_t> until = {};  // of its segment, where it has trained less than the segment said
};

// A trial as it is stored.
struct StoredTrial {
  std::int64_t number = 0;
  TrialState state = TrialState::waiting;
  std::int64_t attempt = 0;
  std::int64_t lost = 0;  // how often its owner has gone without a word
  std::vector<double> point, values;
  std::optional<Segment> segment;  // nullopt where it was not stored: see Begin
  std::string owner;               // of the last lease
  Value info;                      // of a final trial: how it ran, what failed
};

struct StoredReport {
  std::int64_t trial = 0, attempt = 1;
  TrialReport report;
  std::int64_t id = 0;  // grows in the order in which reports came
};

// The changes since a reader looked last: trials as they are now, in the order of their last change, and reports in
// the order in which they came.
struct StudyChanges {
  std::vector<StoredTrial> trials;
  std::vector<StoredReport> reports;
  bool is_over = false;  // in begin(): no new trial is begun any more
};

class Storage {
 public:
  virtual ~Storage() = default;

  // The study's description. The first to come writes it, with trials that wait at these points; of those who come
  // together one does. A description that was written before is given to `accept`, which raises to leave the study as
  // it is. Then a study of an older version is brought to this one's. Error{usage} when the store is of a newer
  // version, or in use where this process cannot share it.
  using Accept = std::function<void(const Value& stored)>;
  virtual Value open(const Value& description, std::span<const std::vector<double>> first = {},
                     const Accept& accept = {}) = 0;

  // Since the last call on this object; does not wait for writers.
  virtual StudyChanges changes() = 0;

  // One transaction, in which nobody else changes the study: gets what has changed, and says what is to be begun. A
  // trial that is waiting is begun anew; a number that is one more than the last makes a new one. nullopt: nothing.
  // Survives a killed process; after a power loss the trial may be gone, as if it had never been asked for.
  struct Begin {
    std::int64_t trial = 0;
    std::vector<double> point;
    std::optional<Segment> segment = {};  // nullopt in a study without a scheduler
  };
  using Choose = std::function<std::optional<Begin>(const StudyChanges&)>;
  struct Owner {
    std::string name;        // this_process()
    std::string supervisor;  // of the run that it belongs to; empty: one that joined from outside
    double expires = 0;      // wall seconds
  };
  // `now` and the lease's end are put off by the time for which other writers kept this one waiting.
  virtual std::optional<Lease> begin(const Owner& owner, double now, const Choose& choose) = 0;

  // A new trial that waits, with its open values NaN; its number.
  virtual std::int64_t enqueue(std::span<const double> point) = 0;

  // No trial is begun for the first time after this moment (wall seconds; infinity: whenever).
  virtual void set_deadline(double time) = 0;

  // Each of these raises LeaseLost when the lease is not valid any more.
  virtual void renew(const Lease& lease, double expires) = 0;
  virtual void report(const Lease& lease, std::span<const TrialReport> reports) = 0;
  // All are on disk when it returns, whatever happens then; when it raises, none of them has ended.
  virtual void end(const std::vector<EndedTrial>& trials) = 0;
  // Gives the trial back: it waits, and whoever takes it goes on from its checkpoint.
  virtual void give_back(const Lease& lease) = 0;

  // The owner has died: the trial waits again. Nothing happens when the lease has ended already.
  virtual void lose(const Lease& lease) = 0;

  // Engines that other supervisors spawned have been killed: their trials are lost. Not those of engines that joined
  // from outside.
  virtual void revoke_all_but(const std::string& supervisor) = 0;

  // Takes over what another storage has told of its study, so that this one is a copy.
  virtual void copy(const StudyChanges& changes) = 0;
};

}  // namespace trainlab
