// Spaces as recipes write them, for tests of the module.
#pragma once

#include <memory>
#include <string>

#include "core/registry.h"
#include "study/sampler.h"
#include "study/space.h"

namespace trainlab {

const Registry& study_registry();

// A checked entry, from JSON: {"@": "sampler.tpe", "seed": 3}.
Options parse_entry(const std::string& json);

// {"lr": {"@": "space.log", "low": 1e-4, "high": 0.1}, …}
Space parse_space(const std::string& json);

std::unique_ptr<Sampler> parse_sampler(const std::string& json, const Space& space, std::int64_t seed = 1);

}  // namespace trainlab
