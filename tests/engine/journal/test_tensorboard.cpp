// TensorBoard event files, read back by a decoder that shares no code with the writer.
#include <catch2/catch.hpp>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "journal/reporters.h"

namespace trainlab::tensorboard_test {

namespace {

// CRC-32C one bit at a time.
std::uint32_t slow_crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const unsigned char byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      const bool one = ((crc ^ static_cast<std::uint32_t>(byte >> bit)) & 1) != 0;
      crc = (crc >> 1) ^ (one ? 0x82F63B78 : 0);
    }
  }
  return crc ^ 0xFFFFFFFF;
}

std::uint32_t masked(std::string_view bytes) {
  const std::uint32_t crc = slow_crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8;
}

template <class T>
T number_at(std::string_view bytes, std::size_t offset) {
  REQUIRE(offset + sizeof(T) <= bytes.size());
  T x;
  std::memcpy(&x, bytes.data() + offset, sizeof x);
  return x;
}

std::vector<std::string> records_of(const std::string& file) {
  std::vector<std::string> records;
  for (std::size_t at = 0; at < file.size();) {
    const auto length = number_at<std::uint64_t>(file, at);
    REQUIRE(number_at<std::uint32_t>(file, at + 8) == masked(std::string_view(file).substr(at, 8)));
    REQUIRE(at + 16 + length <= file.size());
    records.push_back(file.substr(at + 12, length));
    REQUIRE(number_at<std::uint32_t>(file, at + 12 + length) == masked(records.back()));
    at += 16 + length;
  }
  return records;
}

// A message's fields by number, in order: the raw bytes of fixed and length-delimited ones, varints as 8 bytes.
using Fields = std::vector<std::pair<int, std::string>>;
Fields fields_of(std::string_view message) {
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t x = 0;
    for (int shift = 0;; shift += 7) {
      REQUIRE(at < message.size());
      const auto byte = static_cast<unsigned char>(message[at++]);
      x |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return x;
    }
  };
  Fields fields;
  while (at < message.size()) {
    const std::uint64_t key = varint();
    std::uint64_t size = 0;
    std::string content;
    switch (key & 7) {
      case 0: {
        const std::uint64_t x = varint();
        content.assign(reinterpret_cast<const char*>(&x), 8);
        break;
      }
      case 1: size = 8; break;
      case 2: size = varint(); break;
      case 5: size = 4; break;
      default: FAIL("wire type " << (key & 7));
    }
    REQUIRE(at + size <= message.size());
    if ((key & 7) != 0) content = message.substr(at, size);
    at += size;
    fields.emplace_back(static_cast<int>(key >> 3), content);
  }
  return fields;
}

struct Event {
  double wall = 0;
  std::int64_t step = 0;
  std::string version;
  std::map<std::string, float> scalars;
  std::optional<std::uint64_t> session;
};

Event event_of(const std::string& record) {
  Event event;
  for (const auto& [number, bytes] : fields_of(record)) {
    if (number == 1)
      event.wall = number_at<double>(bytes, 0);
    else if (number == 2)
      event.step = number_at<std::int64_t>(bytes, 0);
    else if (number == 3)
      event.version = bytes;
    else if (number == 5) {
      for (const auto& [value, content] : fields_of(bytes)) {
        REQUIRE(value == 1);
        const Fields pair = fields_of(content);
        REQUIRE(pair.size() == 2);
        REQUIRE(pair[0].first == 1);
        REQUIRE(pair[1].first == 2);
        event.scalars[pair[0].second] = number_at<float>(pair[1].second, 0);
      }
    } else if (number == 7) {
      const Fields log = fields_of(bytes);
      REQUIRE(log.size() == 1);
      REQUIRE(log[0].first == 1);
      event.session = number_at<std::uint64_t>(log[0].second, 0);
    } else {
      FAIL("field " << number);
    }
  }
  return event;
}

std::vector<std::filesystem::path> event_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(folder)) files.push_back(file.path());
  return files;
}

std::vector<Event> events_in(const std::filesystem::path& file) {
  std::vector<Event> events;
  for (const std::string& record : records_of(read_file(file))) events.push_back(event_of(record));
  return events;
}

std::filesystem::path fresh(const std::string& name) {
  const auto folder = std::filesystem::current_path() / ("tensorboard-" + name);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  return folder;
}

ValidationView validation(std::int64_t step, double loss) {
  ValidationView view;
  view.step = step;
  view.rate = 0.003;
  view.metrics = {{"train.loss", loss}, {"val.accuracy", 0.875}, {"val.loss", std::nan("")}};
  return view;
}

class FullDisk : public FileCalls {
 public:
  std::int64_t write(int, std::string_view) override {
    errno = ENOSPC;
    return -1;
  }
};

}  // namespace

TEST_CASE("the decoder's checksum is CRC-32C") { CHECK(slow_crc32c("123456789") == 0xE3069283); }

TEST_CASE("an event file holds the version and a scalar per metric and the rate") {
  const auto folder = fresh("plain");
  const double before = wall_seconds();
  const auto reporter = tensorboard_reporter(folder);
  reporter->started(FitView{});
  reporter->validated(validation(69, 0.4));
  reporter->validated(validation(std::int64_t{1} << 40, 1e-3));  // a step whose varint has several bytes
  reporter->finished(Value());

  const auto files = event_files(folder);
  REQUIRE(files.size() == 1);
  CHECK_THAT(files[0].filename().string(), Catch::StartsWith("events.out.tfevents."));
  const std::vector<Event> events = events_in(files[0]);
  REQUIRE(events.size() == 3);
  CHECK(events[0].version == "brain.Event:2");
  for (const Event& event : events) {
    CHECK(event.wall >= before);
    CHECK(event.wall <= wall_seconds());
    CHECK_FALSE(event.session);
  }
  CHECK(events[1].step == 69);
  CHECK(events[2].step == std::int64_t{1} << 40);
  REQUIRE(events[1].scalars.size() == 4);
  CHECK(events[1].scalars.at("train.loss") == 0.4f);
  CHECK(events[1].scalars.at("val.accuracy") == 0.875f);
  CHECK(std::isnan(events[1].scalars.at("val.loss")));
  CHECK(events[1].scalars.at("lr") == 0.003f);
  CHECK(events[2].scalars.at("train.loss") == 1e-3f);
}

TEST_CASE("a resumed fit starts a file of its own that drops what came after its first step") {
  const auto folder = fresh("resumed");
  tensorboard_reporter(folder)->started(FitView{});
  const auto first = event_files(folder);
  FitView resumed;
  resumed.first_step = 120;
  tensorboard_reporter(folder)->started(resumed);
  const auto both = event_files(folder);
  REQUIRE(both.size() == 2);
  const std::vector<Event> events = events_in(both[0] == first.at(0) ? both[1] : both[0]);
  REQUIRE(events.size() == 2);
  CHECK(events[0].version == "brain.Event:2");
  REQUIRE(events[1].session.has_value());
  CHECK(*events[1].session == 1);  // START
  CHECK(events[1].step == 121);    // the event of step 120 stays
}

TEST_CASE("a full disk is told") {
  const auto folder = fresh("full");
  const auto reporter = tensorboard_reporter(folder);
  reporter->started(FitView{});
  FullDisk calls;
  const ScopedFileCalls guard(calls);
  try {
    reporter->validated(validation(1, 0.5));
    FAIL("nothing was raised");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::run);
    CHECK_THAT(error.what(), Catch::Contains("events.out.tfevents."));
  }
}

}  // namespace trainlab::tensorboard_test
