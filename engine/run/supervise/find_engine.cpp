#include <unistd.h>

#include "core/files.h"
#include "run/supervisor.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

// The version that a Python package torch states in version.py, or "".
std::string torch_version(const fs::path& torch) {
  constexpr std::string_view before = "__version__ = '";
  const fs::path file = torch / "version.py";
  if (!fs::exists(file)) return {};
  const std::string text = read_file(file);
  const std::size_t begin = text.find(before);
  if (begin == std::string::npos) return {};
  return text.substr(begin + before.size(), text.find('\'', begin + before.size()) - begin - before.size());
}

// LibTorch lies in the installed tree. In a Python environment, where the tree is a package, LibTorch is the one of the
// package torch beside it. `tree`: the folder of bin/ and libexec/.
void check_libtorch(const fs::path& tree) {
  const char* library = "libtorch_cpu.so";
  if (fs::exists(tree / "lib" / "trainlab" / library)) return;
  const fs::path torch = tree.parent_path() / "torch";
  const std::string version = torch_version(torch);
  if (version.starts_with("2.11.") && fs::exists(torch / "lib" / library)) return;
  if (!fs::exists(tree / "__init__.py")) {
    throw usage_error("the installation is incomplete: there is no " + (tree / "lib" / "trainlab" / library).string())
        .hint("install again");
  }
  throw usage_error("expected the Python package torch 2.11 in " + torch.string() + ", found " +
                    (version.empty() ? std::string("none") : version))
      .hint("pip install \"torch==2.11.*\" in the environment of trainlab");
}

}  // namespace

fs::path Supervisor::find_engine() {
  const fs::path tree = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  const fs::path engine = tree / "libexec" / "trainlab-engine";
  if (::access(engine.c_str(), X_OK) != 0) {
    throw usage_error("the installation is incomplete: there is no program " + engine.string()).hint("install again");
  }
  check_libtorch(tree);
  return engine;
}

}  // namespace trainlab
