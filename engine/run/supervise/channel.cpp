#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "run/control.h"

namespace trainlab {

namespace {

constexpr std::size_t longest_message = std::size_t{16} << 20;

Error broken(const std::string& what) {
  return run_error("the control channel between trainlab and its engine is broken: " + what);
}

}  // namespace

Channel::Channel(int fd) : fd_(fd) {}

Channel::~Channel() { ::close(fd_); }

std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>> Channel::pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) throw broken(std::strerror(errno));
  return {std::make_unique<Channel>(ends[0]), std::make_unique<Channel>(ends[1])};
}

void Channel::send(const Value& message) {
  const std::string line = to_json(message) + "\n";
  const std::lock_guard lock(sending_);
  std::size_t sent = 0;
  while (sent < line.size()) {
    const ssize_t n = ::send(fd_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (n >= 0) {
      sent += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      throw broken(std::strerror(errno));
    }
  }
}

Channel::Read Channel::read(bool wait) {
  std::array<char, 1 << 14> chunk;
  while (true) {
    const ssize_t n = ::recv(fd_, chunk.data(), chunk.size(), wait ? 0 : MSG_DONTWAIT);
    if (n > 0) {
      buffer_.append(chunk.data(), static_cast<std::size_t>(n));
      return Read::some;
    }
    if (n == 0 || errno == ECONNRESET) return Read::closed;  // reset: closed with something of ours unread
    if (errno == EAGAIN) return Read::none;
    if (errno != EINTR) throw broken(std::strerror(errno));
  }
}

std::optional<Value> Channel::next() {
  const std::size_t end = buffer_.find('\n', searched_);
  if (end == std::string::npos) {
    if (buffer_.size() > longest_message) throw broken("a message is longer than 16 MiB");
    searched_ = buffer_.size();
    return std::nullopt;
  }
  const std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  searched_ = 0;
  Value message;
  try {
    message = parse_json(line, "control message");
  } catch (const Error& error) {
    throw broken(error.message());
  }
  if (!message["type"].is_string()) throw broken("a message without a type: " + line.substr(0, 60));
  return message;
}

bool Channel::fill() {
  // A flood is taken in by portions, so that the caller can judge each.
  for (int portions = 0; portions < 64; ++portions) {
    switch (read(false)) {
      case Read::some: break;
      case Read::none: return true;
      case Read::closed: return false;
    }
  }
  return true;
}

std::optional<Value> Channel::receive() {
  while (true) {
    if (std::optional<Value> message = next()) return message;
    if (read(true) == Read::closed) {
      if (!buffer_.empty()) throw broken("it ended in the middle of a message");
      return std::nullopt;
    }
  }
}

}  // namespace trainlab
