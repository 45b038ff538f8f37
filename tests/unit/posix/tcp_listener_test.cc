#include "common/posix/tcp_listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace penstock::posix {
namespace {

using ::testing::HasSubstr;

uint16_t PortOf(const Fd& socket) {
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ntohs(address.sin_port);
}

TEST(TcpListenerTest, APortInUseIsSaid) {
  const auto first = ListenTcp({.host = "127.0.0.1", .port = 0}, 1);
  ASSERT_TRUE(first.ok()) << first.status();

  const absl::Status second = ListenTcp({.host = "127.0.0.1", .port = PortOf(*first)}, 1).status();

  EXPECT_TRUE(absl::IsFailedPrecondition(second)) << second;
  EXPECT_THAT(std::string(second.message()), HasSubstr("the port is in use; 'ss -ltnp' shows"));
}

TEST(TcpListenerTest, AnAddressOfAnotherMachineIsSaid) {
  // RFC 5737: an address that nobody has.
  const absl::Status status = ListenTcp({.host = "192.0.2.1", .port = 7}, 1).status();

  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("listening on 192.0.2.1:7: this machine does not have that address"));
}

TEST(TcpListenerTest, TheSameAddressIsFreeAgainOnceItsListenerIsGone) {
  auto first = ListenTcp({.host = "127.0.0.1", .port = 0}, 1);
  ASSERT_TRUE(first.ok()) << first.status();
  const uint16_t port = PortOf(*first);

  first->Close();

  EXPECT_TRUE(ListenTcp({.host = "127.0.0.1", .port = port}, 1).ok());
}

}  // namespace
}  // namespace penstock::posix
