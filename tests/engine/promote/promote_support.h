// Runs of fits of digits in numbered folders, with the option `promote`.
#pragma once

#include <memory>
#include <string>

#include "core/files.h"
#include "promote/promotion.h"
#include "run/folder.h"
#include "run/manifest.h"
#include "support/fit_support.h"

namespace trainlab::test {

inline const Registry& promote_registry() {
  static const Registry registry = [] {
    Registry all;
    register_fits(all, {promotion_addition()});
    return all;
  }();
  return registry;
}

inline constexpr const char* digits_data = R"({"@": "data:split", "source": {"@": "data.digits"}, "train": 0.4,
                                               "val": 0.2, "test": 0.4, "seed": 3})";

inline Options promoted_fit(const std::string& more, const std::string& data = digits_data) {
  auto spec = std::make_shared<Spec>();
  spec->value =
      promote_registry().check(parse_json(R"({"@": "fit", "name": "digits", "data": )" + data +
                                              R"(, "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"},
                            {"@": "nn.Linear", "out_features": 10}]},
                        "loss": "cross_entropy", "batch": 64)" +
                                              more + "}",
                                          "test"),
                               "fit");
  return {promote_registry(), spec, "fit"};
}

// Trains in the run folder `run`, as the run does whose recipe returns the fit; gives the summary.
inline Value train_in(const std::filesystem::path& run, const Options& fit) {
  make_directories(run);
  write_atomic(manifest_path(run), "");
  write_stages(run, {{.name = "digits", .kind = "fit", .folder = "."}});
  const RunSettings settings = test_settings();
  StageContext context = quiet_context(run, settings);
  context.name = "digits";
  const StageKind& kind = promote_registry().implementation<StageKind>(fit.entry());
  const Value summary = kind.prepare(fit, settings)(context);
  write_atomic(run / "summary.json", to_json(summary));
  kind.publish(summary, run);
  return summary;
}

}  // namespace trainlab::test
