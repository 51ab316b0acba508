#include "run/commit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/files.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t info_limit = std::int64_t{1} << 28;  // bytes of a .json that is believed

// JSON has no NaN or infinity; in a checkpoint they must come back as they were.
Value encoded(const Value& value) {
  if (value.is_number() && !value.is_integer() && !std::isfinite(value.number())) {
    return Value::Map{{"@number", number_text(value.number())}};
  }
  if (value.is_list()) {
    Value::List list;
    for (const Value& element : value.list()) list.push_back(encoded(element));
    return list;
  }
  if (value.is_map()) {
    Value::Map map;
    for (const auto& [key, element] : value.map()) map.emplace(key, encoded(element));
    return map;
  }
  return value;
}

Value decoded(const Value& value) {
  if (value.is_list()) {
    Value::List list;
    for (const Value& element : value.list()) list.push_back(decoded(element));
    return list;
  }
  if (!value.is_map()) return value;
  if (const Value& text = value["@number"]; text.is_string()) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return text.string() == "inf" ? infinity : text.string() == "-inf" ? -infinity : std::nan("");
  }
  Value::Map map;
  for (const auto& [key, element] : value.map()) map.emplace(key, decoded(element));
  return map;
}

void check_hash(const fs::path& file, const std::string& hash) {
  if (hash_file(file) != hash) {
    throw recipe_error(file.string() + ": its bytes are not those that were committed (hash differs)");
  }
}

}  // namespace

std::vector<fs::path> commits(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("last-") && name.ends_with(".json")) found.push_back(entry.path());
  }
  if (failed && failed != std::errc::no_such_file_or_directory)
    throw run_error("cannot list the checkpoints in " + folder.string() + ": " + failed.message());
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    const std::string x = a.filename(), y = b.filename();
    return x.size() != y.size() ? x.size() > y.size() : x > y;
  });
  return found;
}

Value sealed_commit(Value info) {
  info.set("commit_hash", Value());
  info = encoded(info);
  info.set("commit_hash", fingerprint(info));
  return info;
}

Value read_commit(const fs::path& path) {
  Value info = parse_json(read_file(path, info_limit), path.string());
  const Value hash = info["commit_hash"];
  info.set("commit_hash", Value());
  if (!hash.is_string() || hash.string() != fingerprint(info)) {
    throw recipe_error(path.string() + ": not what was committed (hash differs)");
  }
  if (!info["step"].is_integer() || !info["file"].is_string() || !info["hash"].is_string()) {
    throw recipe_error(path.string() + ": step, file or hash is missing");
  }
  return decoded(info);
}

fs::path kept_tensors(const fs::path& folder, const std::string& name) { return folder / (name + ".safetensors"); }

Commit verified_commit(const fs::path& folder, const fs::path& path, bool with_best) {
  const auto check_file = [&](const Value& info) { check_hash(folder / info["file"].string(), info["hash"].string()); };
  Commit commit{.stem = path.stem().string(), .info = read_commit(path), .best = {}};
  check_file(commit.info);
  if (const Value& kept = commit.info["kept"]; kept.is_map()) {
    for (const auto& [name, hash] : kept.map()) check_hash(kept_tensors(folder, name), hash.string());
  }
  if (const Value& stem = commit.info["best_weights"]; stem.is_string() && with_best) {
    commit.best = read_commit(folder / (stem.string() + ".json"));
    check_file(commit.best);
  }
  return commit;
}

}  // namespace trainlab
