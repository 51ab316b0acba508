#include "run/commit.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/files.h"
#include "run/folder.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t info_limit = std::int64_t{1} << 28;  // bytes of a .json that is believed

// JSON has no NaN or infinity; in a checkpoint they must come back as they were.
void encode(Value& value) {
  if (value.is_list()) {
    for (Value& element : value.list()) encode(element);
  } else if (value.is_map()) {
    for (auto& [key, element] : value.map()) encode(element);
  } else if (value.is_number() && !value.is_integer() && !std::isfinite(value.number())) {
    value = Value::Map{{"@number", number_text(value.number())}};
  }
}

void decode(Value& value) {
  if (value.is_list()) {
    for (Value& element : value.list()) decode(element);
  } else if (const Value& text = value["@number"]; text.is_string()) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    value = text.string() == "inf" ? infinity : text.string() == "-inf" ? -infinity : std::nan("");
  } else if (value.is_map()) {
    for (auto& [key, element] : value.map()) decode(element);
  }
}

// A file that is gone is damage like any other here; a file that cannot be read now may be whole.
void check_there(const fs::path& file) {
  std::error_code failed;
  if (!fs::exists(file, failed) && !failed) throw recipe_error(lost_file(file).message());
}

void check_hash(const fs::path& file, const std::string& hash) {
  check_there(file);
  if (hash_file(file) != hash) {
    throw recipe_error(file.string() + ": its bytes are not those that were committed (hash differs)");
  }
}

void check_tensors(const fs::path& folder, const Value& info) {
  check_hash(folder / info["file"].string(), info["hash"].string());
}

}  // namespace

std::string commit_stem(const char* kind, std::int64_t step) {
  std::string digits = std::to_string(step);
  if (digits.size() < 9) digits.insert(0, 9 - digits.size(), '0');
  return std::string(kind) + "-" + digits;
}

std::int64_t step_of_commit(const fs::path& path) {
  const std::string stem = path.stem().string();
  const std::string_view digits = std::string_view(stem).substr(stem.find('-') + 1);
  std::int64_t step = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  return failed == std::errc() && end == digits.data() + digits.size() ? step : -1;
}

std::vector<fs::path> commits(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("last-") && name.ends_with(".json") && step_of_commit(entry.path()) >= 0)
      found.push_back(entry.path());
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
  encode(info);
  info.set("commit_hash", fingerprint(info));
  return info;
}

Value read_commit(const fs::path& path) {
  check_there(path);
  Value info = parse_json(read_file(path, info_limit), path.string());
  const Value hash = info["commit_hash"];
  info.set("commit_hash", Value());
  if (!hash.is_string() || hash.string() != fingerprint(info)) {
    throw recipe_error(path.string() + ": not what was committed (hash differs)");
  }
  if (!info["step"].is_integer() || !info["file"].is_string() || !info["hash"].is_string()) {
    throw recipe_error(path.string() + ": step, file or hash is missing");
  }
  decode(info);
  return info;
}

fs::path kept_tensors(const fs::path& folder, const std::string& name) { return folder / (name + ".safetensors"); }

Value verified_tensors(const fs::path& folder, const std::string& stem) {
  const Value info = read_commit(folder / (stem + ".json"));
  check_tensors(folder, info);
  return info;
}

Commit verified_commit(const fs::path& folder, const fs::path& path, bool with_best) {
  Commit commit{.stem = path.stem().string(), .info = read_commit(path), .best = {}};
  check_tensors(folder, commit.info);
  if (const Value& kept = commit.info["kept"]; kept.is_map()) {
    for (const auto& [name, hash] : kept.map()) check_hash(kept_tensors(folder, name), hash.string());
  }
  if (const Value& stem = commit.info["best_weights"]; stem.is_string() && with_best)
    commit.best = verified_tensors(folder, stem.string());
  return commit;
}

}  // namespace trainlab
