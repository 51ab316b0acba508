// The pages of a profile, of plans, of finders and of a comparison.
#include "page_form.h"
#include "report/texts.h"

namespace trainlab::report {

std::string profile_page(const Value& profile) {
  return page_text(profile, {"chart_parts.js", "page_parts.js", "profile.js"});
}

std::string comparison_page(const Value& comparison) {
  return page_text(comparison, {"chart_parts.js", "page_parts.js", "comparison.js"});
}

std::string seeds_page(const Value& seeds) { return page_text(seeds, {"chart_parts.js", "page_parts.js", "seeds.js"}); }

std::string sizes_page(const Value& sizes) { return page_text(sizes, {"chart_parts.js", "page_parts.js", "sizes.js"}); }

std::string finder_page(const Value& found) {
  return page_text(found, {"chart_parts.js", "page_parts.js", "finders.js", "finder.js"});
}

std::string law_page(const Value& law) { return page_text(law, {"chart_parts.js", "page_parts.js", "law.js"}); }

std::string recipe_plan_page(const Value& plan) {
  return page_text(plan, {"chart_parts.js", "page_parts.js", "plan_recipe.js"});
}

std::string plan_page(const Value& plan) { return page_text(plan, {"chart_parts.js", "page_parts.js", "plan.js"}); }

}  // namespace trainlab::report
