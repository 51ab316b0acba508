// TrialFolder: where the files of a trial lie.
//
// trials/0007/seed-1/ holds what a repeat of an ended trial has left. Until its end the trial belongs to the attempt of
// its lease, whose process trains in trials/0007/attempt-2/seed-1/. An attempt begins by giving the folder of the
// attempt before its own number, or moving that folder into its own if that has files: a process that has lost its
// lease, and was stopped so that it does not know, finds its files no more. If that process begins a fit before the
// study tells it of the loss, at its next report, then a folder under its old number is made again, which no later
// attempt needs and settle() removes. The end renames each repeat once, so that any process can finish what another one
// was killed at.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

namespace trainlab {

// Errors are those of core/files.h. Several processes may use the folder of one trial at the same time.
class TrialFolder {
 public:
  // `stage`: the folder of the sweep or ensemble.
  TrialFolder(const std::filesystem::path& stage, std::int64_t trial);

  // The files of a repeat of an ended trial.
  std::filesystem::path ended(std::int64_t repeat) const;
  // The files of a repeat while an attempt trains.
  std::filesystem::path under_way(std::int64_t attempt, std::int64_t repeat) const;

  // Called by the process that holds the lease of this attempt, before it trains: the files of the newest attempt
  // before become this attempt's, and where there are none those of attempts with later numbers, which a study that was
  // put back to an earlier state does not know. What such a study has left under this attempt's own number goes before
  // both. `confirm` raises when the lease holds no longer.
  void take_over(std::int64_t attempt, const std::function<void()>& confirm) const;

  // Called once the study says that the trial has ended in this attempt, by any process and as often as wanted: moves
  // the files to where those of an ended trial lie, and removes what lost attempts have left.
  void settle(std::int64_t attempt) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace trainlab
