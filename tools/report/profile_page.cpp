// The page of a profile.
#include "page_form.h"
#include "report/texts.h"

namespace trainlab::report {

std::string profile_page(const Value& profile) {
  return page_text(profile, {"chart_parts.js", "page_parts.js", "profile.js"});
}

}  // namespace trainlab::report
