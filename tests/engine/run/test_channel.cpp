#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>

#include "run/control.h"

namespace trainlab::channel_test {

namespace {

// The raw other end of a channel.
struct Peer {
  int fd = -1;
  std::unique_ptr<Channel> channel;

  Peer() {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    fd = ends[0];
    channel = std::make_unique<Channel>(ends[1]);
  }
  ~Peer() { close_end(); }
  void close_end() {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
  void put(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }
};

}  // namespace

TEST_CASE("messages arrive whole and in order") {
  auto [a, b] = Channel::pair();
  const std::string large(3 << 20, 'x');
  std::thread sender([&a = a, &large] {
    for (int i = 0; i < 3; ++i) a->send(Value::Map{{"type", "text"}, {"i", i}, {"text", large + "\n\"é"}});
    a.reset();
  });
  for (int i = 0; i < 3; ++i) {
    const std::optional<Value> message = b->receive();
    REQUIRE(message);
    CHECK((*message)["i"] == Value(i));
    CHECK((*message)["text"].string().size() == large.size() + 4);
  }
  CHECK_FALSE(b->receive());
  sender.join();
}

TEST_CASE("a message may come in pieces, and several in one piece") {
  Peer peer;
  peer.put(R"({"type":)");
  CHECK(peer.channel->fill());
  CHECK_FALSE(peer.channel->next());
  peer.put("\"a\"}\n{\"type\":\"b\"}\n{\"ty");
  CHECK(peer.channel->fill());
  CHECK((*peer.channel->next())["type"] == Value("a"));
  CHECK((*peer.channel->next())["type"] == Value("b"));
  CHECK_FALSE(peer.channel->next());
  peer.close_end();
  CHECK_FALSE(peer.channel->fill());
}

TEST_CASE("a broken peer is an error, not a hang or a crash") {
  Peer peer;
  SECTION("no JSON") { peer.put("{]\n"); }
  SECTION("no object") { peer.put("[1]\n"); }
  SECTION("no type") { peer.put("{\"a\":1}\n"); }
  SECTION("a type that is no text") { peer.put("{\"type\":1}\n"); }
  SECTION("cut off") {
    peer.put("{\"type\":\"a\"");
    peer.close_end();
  }
  CHECK_THROWS_AS(peer.channel->receive(), Error);
}

TEST_CASE("a message without end is refused") {
  Peer peer;
  std::thread flood([&] {
    const std::string chunk(1 << 20, 'x');
    for (int i = 0; i < 40; ++i) peer.put(chunk);
  });
  CHECK_THROWS_AS(peer.channel->receive(), Error);
  peer.channel.reset();
  flood.join();
}

TEST_CASE("sending to a peer that is gone") {
  Peer peer;
  peer.close_end();
  CHECK_THROWS_AS(peer.channel->send(Value::Map{{"type", "a"}}), Error);
  send_error(*peer.channel, usage_error("nobody hears this"));
}

TEST_CASE("an error crosses with all its parts") {
  Error error = usage_error("expected a number, found \"x\"");
  error.at("digits.lua", 12).in("lr").in("optim").hint("a hint").traceback("stack:\n  a\n  b");
  const Error back = error_from(parse_json(to_json(error_value(error)), "error"));
  CHECK(std::string(back.what()) == error.what());
  CHECK(back.kind() == ErrorKind::usage);
  CHECK(back.line() == 12);
  CHECK(back.path() == "optim.lr");
  const Error of_bytes = recipe_error("found \"12 \xe9\"").hint("not \xa0");
  const Error readable = error_from(parse_json(to_json(error_value(of_bytes)), "error"));
  CHECK(readable.message() == "found \"12 \uFFFD\"");
  CHECK(readable.hint() == "not \uFFFD");
  CHECK_THROWS_AS(error_from(Value::Map{{"kind", 1}}), Error);
  CHECK_THROWS_AS(error_from(Value("text")), Error);
}

}  // namespace trainlab::channel_test
