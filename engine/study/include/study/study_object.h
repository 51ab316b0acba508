// lab.study: a search that a recipe drives by itself. It asks for trials, reports what comes of them while they run,
// and tells how they ended. In memory, or in a file that other processes work on too.
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
#include "study/pruner.h"
#include "study/shared_study.h"
#include "study/study.h"

namespace trainlab {

class StudyObject final : public Object {
 public:
  // `options`: of the entry "study", checked. `seed`: where they give none.
  StudyObject(const Options& options, std::int64_t seed);
  // Trials of a file that are under way here wait again.
  ~StudyObject() override;
  std::string_view type_name() const override { return "study"; }

  // As this process knows it; follow() takes in what other processes have done.
  const Study& study() const { return shared_ ? shared_->study() : *own_; }
  void follow();
  // Complete trials that no other is better than in all objectives, by number.
  std::vector<std::int64_t> pareto() const;

  struct Asked {
    std::optional<std::int64_t> trial;  // running now
    std::string why_not;
  };
  Asked ask();
  // A trial for later. Error{recipe} for what does not fit the space.
  void enqueue(const Value& params);

  // Each of these raises Error{recipe} for a trial that is not running, or not in this process.
  void report(std::int64_t trial, const TrialReport& report);
  bool should_prune(std::int64_t trial);
  // Of a complete trial one value for each objective, of others none. With a NaN it has failed.
  void tell(std::int64_t trial, TrialState state, std::span<const double> values);

 private:
  void open(const Options& options, Study study, const std::vector<std::vector<double>>& first, std::int64_t seed);
  void require_running(std::int64_t trial);
  void drop(std::int64_t trial);  // its lease

  std::unique_ptr<Pruner> pruner_;  // null: none
  bool deterministic_ = false;
  std::optional<Study> own_;             // in memory
  std::unique_ptr<SharedStudy> shared_;  // in a file
  std::map<std::int64_t, Lease> leases_;
  std::unique_ptr<LeaseKeeper> keeper_;
};

}  // namespace trainlab
