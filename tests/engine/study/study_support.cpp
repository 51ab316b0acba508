#include "study_support.h"

#include "core/callable.h"
#include "study/pruner.h"
#include "study/study.h"

namespace trainlab {

const Registry& study_registry() {
  static const Registry registry = [] {
    Registry made;
    register_study(made);
    made.add(Entry("holder", "holder", "Holds a space.").with(space_option()));
    return made;
  }();
  return registry;
}

Options parse_entry(const std::string& json) {
  const Registry& registry = study_registry();
  auto spec = std::make_shared<const Spec>(Spec{registry.check(parse_json(json, "test")), {}});
  return Options(registry, spec, "");
}

Space parse_space(const std::string& json) {
  return make_space(parse_entry(R"({"@": "holder", "space": )" + json + "}"));
}

std::unique_ptr<Sampler> parse_sampler(const std::string& json, const Space& space, std::int64_t seed) {
  return make_sampler(parse_entry(json), space, seed, 1);
}

}  // namespace trainlab
