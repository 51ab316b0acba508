// `trainlab bench`: the speed of a stage, and its comparison with a speed that was measured before.
#pragma once

#include <filesystem>
#include <string>

#include "profile/profile.h"

namespace trainlab {

// The speed of a stage as data, which a later call compares with: see docs/profiling.md. `threads` and `device` are
// those of the stage.
Value speed_value(const Profile& profile, const Options& stage, const RunSettings& settings);
// The member `note`, where the speed has one, says which trial of a sweep or an ensemble was measured.
std::string speed_text(const Value& speed);

// The speed in a file. Raises Error{usage} that names the file if it holds no speed.
Value read_speed(const std::filesystem::path& file);

struct Comparison {
  MedianInterval ratio;    // speed now divided by speed before; its bounds follow from the bounds of both
  bool is_judged = true;   // whether the two speeds can be compared; `text` says why not
  bool is_slower = false;  // whether the whole interval is below the earlier speed by more than the tolerance
  std::string text = {};   // whole lines
  Value value() const;
};

// `tolerance`: 0.03 for 3 %. Speeds from two machines, with different numbers of threads, or of a stage that had to
// share the cores with other work, are not judged, and the text says so. Raises Error{usage} that names `file` if
// `before` is no speed, or is the speed of another stage.
Comparison compare_speed(const Value& now, const Value& before, double tolerance, const std::string& file);

}  // namespace trainlab
