#include "serving.h"

#include <string>

#include "core/error.h"
#include "core/files.h"
#include "core/temporaries.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

fs::path link_beside(const fs::path& run) { return run.parent_path() / "current"; }

}  // namespace

fs::path served_beside(const fs::path& run) {
  const fs::path link = link_beside(run);
  std::error_code failed;
  const fs::file_status status = fs::symlink_status(link, failed);
  if (status.type() == fs::file_type::not_found) return {};
  if (status.type() == fs::file_type::none) throw run_error(link.string() + ": " + failed.message());
  if (!fs::is_symlink(status)) {
    throw run_error(link.string() + ": expected a link to the run that is served, found something else")
        .hint("give it another name");
  }
  const fs::path target = fs::read_symlink(link, failed);
  if (failed) throw run_error(link.string() + ": " + failed.message());
  return (run.parent_path() / target).lexically_normal();
}

void serve_beside(const fs::path& run, const fs::path& served) {
  const fs::path link = link_beside(run), next = next_temporary(link);
  std::error_code failed, ignored;
  // Relative, so that the folder of the runs can be moved.
  fs::create_directory_symlink(served.lexically_proximate(link.parent_path()), next, failed);
  if (!failed) fs::rename(next, link, failed);
  if (!failed) return sync_folder(link.parent_path());
  fs::remove(next, ignored);
  throw run_error("cannot write the link " + link.string() + ": " + failed.message());
}

}  // namespace trainlab
