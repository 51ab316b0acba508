// Checks the form of a database's URL, and hides its password, which is never shown or kept. libpq parses the URL again
// by itself.
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "study/database.h"

namespace trainlab {

namespace {

constexpr const char* url_form = "a URL postgresql://USER@HOST/DATABASE";
constexpr const char* password_hint =
    "leave the password out and give it by PGPASSWORD, in ~/.pgpass, or with the whole URL in TRAINLAB_STORAGE";

bool is_hex_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

std::string decoded(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      bytes += static_cast<char>(std::strtol(std::string(text.substr(i + 1, 2)).c_str(), nullptr, 16));
      i += 2;
    } else {
      bytes += text[i];
    }
  }
  return bytes;
}

// The text to show for a wrong URL. A text that may hold a password is hidden, since it may be a URL in which only the
// password is wrong.
std::string harmless(const std::string& url) {
  if (url.find('@') == std::string::npos && url.find("password") == std::string::npos) return "\"" + url + "\"";
  const std::size_t colon = url.find("://");
  return colon == std::string::npos ? "another text" : "\"" + url.substr(0, colon) + "://…\"";
}

Error malformed(const std::string& url, const std::string& why) {
  return usage_error(std::string("expected ") + url_form + ", found " + harmless(url) +
                     (why.empty() ? "" : ": " + why));
}

// Whether the text is HOST, HOST:PORT, [IPV6]:PORT, or a list of these with commas between.
bool are_hosts(std::string_view hosts) {
  while (true) {
    const std::size_t comma = std::min(hosts.find(','), hosts.size());
    std::string_view one = hosts.substr(0, comma);
    if (one.starts_with('[')) {
      const std::size_t end = one.find(']');
      if (end == std::string_view::npos) return false;
      one.remove_prefix(end + 1);
      if (!one.empty() && one.front() != ':') return false;
    }
    if (const std::size_t colon = one.find(':'); colon != std::string_view::npos) {
      const std::string_view port = one.substr(colon + 1);
      if (port.size() > 5 || !std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; })) return false;
    }
    if (one.find('@') != std::string_view::npos) return false;
    if (comma == hosts.size()) return true;
    hosts.remove_prefix(comma + 1);
  }
}

}  // namespace

Database::Database(std::string url) : url_(std::move(url)) {
  const std::size_t colon = url_.find("://");
  const std::string scheme = url_.substr(0, colon == std::string::npos ? 0 : colon);
  if (scheme != "postgresql" && scheme != "postgres")
    throw malformed(url_, scheme.empty() ? "" : "studies lie in PostgreSQL or in a file");
  if (std::ranges::any_of(url_, [](char c) { return static_cast<unsigned char>(c) <= ' '; }))
    throw malformed(url_, "there is a space in it");
  for (std::size_t i = 0; i < url_.size(); ++i) {
    const bool is_code = i + 2 < url_.size() && is_hex_digit(url_[i + 1]) && is_hex_digit(url_[i + 2]);
    if (url_[i] == '%' && !is_code) throw malformed(url_, "a % stands before two hexadecimal digits only");
  }

  text_ = url_.substr(0, colon + 3);
  const std::size_t begin = colon + 3, end = std::min(url_.find_first_of("/?", begin), url_.size());
  const std::string_view whole(url_);
  std::string_view hosts = whole.substr(begin, end - begin);
  const auto hide = [&](std::string_view password) {
    if (password.empty()) return;
    secrets_.emplace_back(password);
    secrets_.push_back(decoded(password));
  };
  if (const std::size_t at = hosts.rfind('@'); at != std::string_view::npos) {
    const std::string_view user = hosts.substr(0, at);
    const std::size_t password = std::min(user.find(':'), user.size());
    text_ += std::string(user.substr(0, password)) + "@";
    if (password < user.size()) hide(user.substr(password + 1));
    if (user.find('@') != std::string_view::npos) throw malformed(url_, "an @ in a name or a password is written %40");
    hosts.remove_prefix(at + 1);
  }
  if (!are_hosts(hosts)) throw malformed(url_, "behind the name of a host and a colon stands a number, its port");
  text_ += hosts;
  const std::size_t question = std::min(url_.find('?', end), url_.size());
  text_ += whole.substr(end, question - end);
  char before = '?';
  for (std::size_t from = question + 1; from <= url_.size();) {
    const std::size_t next = std::min(url_.find('&', from), url_.size());
    const std::string_view option = whole.substr(from, next - from);
    const std::size_t equals = option.find('=');
    if (equals == 0 || equals == std::string_view::npos)
      throw malformed(url_, "behind the ? stand options, OPTION=VALUE, with & between");
    if (option.substr(0, equals) == "password" || option.substr(0, equals) == "sslpassword") {
      hide(option.substr(equals + 1));
    } else {
      text_ += before + std::string(option);
      before = '&';
    }
    from = next + 1;
  }
}

std::string Database::without_password(std::string words) const {
  for (const std::string& secret : secrets_) {
    for (std::size_t at = words.find(secret); at != std::string::npos; at = words.find(secret, at + 3))
      words.replace(at, secret.size(), "***");
  }
  return words;
}

Option storage_option() {
  return Option("storage",
                "URL of a PostgreSQL database that keeps the study, \"postgresql://USER@HOST/DATABASE\", for processes "
                "of several machines (default: TRAINLAB_STORAGE in the environment, or else a file)")
      .string();
}

std::optional<Database> storage_of(const Options& options) {
  const char* const environment = std::getenv("TRAINLAB_STORAGE");
  if (!options.given("storage")) {
    if (!environment || *environment == '\0') return std::nullopt;
    try {
      return Database(environment);
    } catch (const Error& error) {
      throw usage_error("TRAINLAB_STORAGE: " + error.message());
    }
  }
  std::optional<Database> database;
  try {
    database.emplace(options.string("storage"));
  } catch (const Error& error) {
    throw options.error("storage", error.message());
  }
  if (database->has_password()) {
    throw options
        .error("storage", "expected a URL without a password, because the run keeps its recipe, found one with")
        .hint(password_hint);
  }
  return database;
}

Database given_database(const std::string& url) {
  std::optional<Database> database;
  try {
    database.emplace(url);
  } catch (const Error& error) {
    throw usage_error("--study: " + error.message());
  }
  if (database->has_password()) {
    throw usage_error("--study: expected a URL without a password, because others see the command line, found one with")
        .hint(password_hint);
  }
  return *database;
}

}  // namespace trainlab
