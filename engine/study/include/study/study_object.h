// lab.study: a search that a recipe drives by itself. The recipe asks for trials, reports their intermediate values and
// tells how they ended. The study lives in memory, or in a file or a database, where other processes work on it too.
//
// Used by the recipe's thread only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/callable.h"
#include "core/registry.h"
#include "study/lease_keeper.h"
#include "study/place.h"
#include "study/pruner.h"
#include "study/shared_study.h"
#include "study/study.h"

namespace trainlab {

class StudyObject final : public Object {
 public:
  // `options`: the checked options of the entry "study". `seed`: the seed if the options give none.
  StudyObject(const Options& options, std::int64_t seed);
  // Running trials of this process go back to waiting where other processes work on the study.
  ~StudyObject() override;
  std::string_view type_name() const override { return "study"; }

  // The study as this process knows it; follow() reads the changes of other processes.
  const Study& study() const { return shared_ ? shared_->study() : *own_; }
  void follow();
  // Complete trials that no other trial dominates, by number.
  std::vector<std::int64_t> pareto() const;

  struct Asked {
    std::optional<std::int64_t> trial;  // running now
    std::string why_not;
  };
  Asked ask();
  // Adds a waiting trial. Error{recipe} for values that do not fit the space.
  void enqueue(const Value& params);

  // Each of these raises Error{recipe} for a trial that is not running, or not in this process.
  void report(std::int64_t trial, const TrialReport& report);
  bool should_prune(std::int64_t trial);
  // `values`: one value for each objective of a complete trial, none for other trials. With a NaN the trial has failed.
  void tell(std::int64_t trial, TrialState state, std::span<const double> values);

 private:
  static StudyPlace place_of(const Options& options);
  void open(const Options& options, Study study, const std::vector<std::vector<double>>& first, std::int64_t seed);
  void require_running(std::int64_t trial);
  void drop(std::int64_t trial);  // its lease

  std::unique_ptr<Pruner> pruner_;  // null: none
  // By trial and repeat: the resource at which the pruner was asked last.
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> judged_;
  bool deterministic_ = false;
  std::optional<Study> own_;             // in memory
  std::unique_ptr<SharedStudy> shared_;  // in a file or a database
  std::map<std::int64_t, Lease> leases_;
  std::unique_ptr<LeaseKeeper> keeper_;
};

}  // namespace trainlab
