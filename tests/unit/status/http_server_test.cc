// The server with pages that take their time, over Unix sockets instead of a network.
#include "server/status/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace penstock::status {
namespace {

using std::chrono::milliseconds;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class HttpServerTest : public ::testing::Test {
 protected:
  void Start(base::Duration answer_within = std::chrono::seconds(60)) {
    posix::Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
    address_.sun_family = AF_UNIX;
    EXPECT_EQ(::bind(listener.get(), Address(), sizeof(sa_family_t)), 0);  // the kernel names it
    EXPECT_EQ(::getsockname(listener.get(), Address(), &address_bytes_), 0);
    EXPECT_EQ(::listen(listener.get(), 8), 0);
    HttpServer::Routes routes;
    routes["/slow"] = [this](const HttpCounts&, const HttpRequest&) { return AnswerSlowly(); };
    routes["/quick"] = [](const HttpCounts&, const HttpRequest&) {
      return HttpPage{.body = std::make_shared<const std::string>("quick")};
    };
    HttpServer::Options options;
    options.limits.answer_within = answer_within;
    server_ = HttpServer::Start(std::move(listener), std::move(routes), options).value();
  }

  HttpPage AnswerSlowly() {
    ++asked_;
    if (!known_) return {.is_pending = true};
    return {.body = std::make_shared<const std::string>("slow")};
  }
  sockaddr* Address() { return reinterpret_cast<sockaddr*>(&address_); }

  posix::Fd Ask(const std::string& path) {
    posix::Fd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
    EXPECT_EQ(::connect(socket.get(), Address(), address_bytes_), 0);
    const std::string request = "GET " + path + " HTTP/1.1\r\n\r\n";
    EXPECT_EQ(::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    return socket;
  }
  // Waits until the server ends the connection.
  static std::string Hear(const posix::Fd& socket) {
    std::string heard;
    char bytes[4096];
    for (ssize_t got = 1; got > 0;) {
      got = ::recv(socket.get(), bytes, sizeof(bytes), 0);
      heard.append(bytes, static_cast<size_t>(std::max<ssize_t>(got, 0)));
    }
    return heard;
  }

  std::atomic<int> asked_ = 0;
  std::atomic<bool> known_ = false;
  sockaddr_un address_ = {};
  socklen_t address_bytes_ = sizeof(address_);
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, APendingPageHoldsUpNoOtherAndIsAskedForUntilItIsKnown) {
  Start();
  const posix::Fd waits = Ask("/slow");
  while (asked_ < 3) std::this_thread::yield();

  EXPECT_THAT(Hear(Ask("/quick")), EndsWith("quick"));
  known_ = true;

  EXPECT_THAT(Hear(waits), AllOf(StartsWith("HTTP/1.1 200 OK"), EndsWith("slow")));
  EXPECT_EQ(server_->counts().answered, 2u);
}

TEST_F(HttpServerTest, APageThatStaysPendingIsGivenUp) {
  Start(milliseconds(500));

  EXPECT_THAT(Hear(Ask("/slow")), IsEmpty());

  EXPECT_LT(asked_, 100);
  EXPECT_EQ(server_->counts().dropped, 1u);
}

TEST_F(HttpServerTest, APeerThatLeavesAPendingPageCostsNothing) {
  Start();
  Ask("/slow").Close();
  while (asked_ < 3) std::this_thread::yield();
  known_ = true;

  EXPECT_THAT(Hear(Ask("/quick")), EndsWith("quick"));
}

}  // namespace
}  // namespace penstock::status
