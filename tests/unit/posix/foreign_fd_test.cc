#include "common/posix/foreign_fd.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <utility>

#include "common/posix/socket.h"
#include "tests/support/programs/lingering_socket.h"

namespace penstock::posix {
namespace {

using std::chrono::steady_clock;

std::pair<Fd, Fd> MakePair() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

// Puts the only descriptors of `count` sockets, each of which takes a minute to close, into the
// socket's queue.
void PassLingering(const Fd& socket, int count) {
  for (int i = 0; i < count; ++i) {
    const Fd lingering = testing::LingeringSocket(std::chrono::seconds(60));
    const int number = lingering.get();
    const std::byte byte{};
    ASSERT_TRUE(Send(socket, {&byte, 1}, {&number, 1}).ok());
  }
}

TEST(ForeignFdTest, ClosingDoesNotWaitForWhatLiesInItsQueue) {
  auto [ours, theirs] = MakePair();
  PassLingering(theirs, 20);
  ForeignFd foreign = MakeForeign(std::move(ours));

  const auto began = steady_clock::now();
  foreign.reset();

  EXPECT_LT(steady_clock::now() - began, std::chrono::seconds(2));
}

TEST(ForeignFdTest, DroppingDescriptorsDoesNotWaitUnderALimit) {
  const auto [ours, theirs] = MakePair();
  PassLingering(theirs, 3);

  const auto began = steady_clock::now();
  for (int i = 0; i < 3; ++i) {
    const LingerLimit limit;
    const auto message = Receive(ours, 16, base::Duration::zero(), Descriptors::kDrop);
    ASSERT_TRUE(message.ok()) << message.status();
    EXPECT_TRUE(message->fds.empty());
  }

  EXPECT_LT(steady_clock::now() - began, std::chrono::seconds(2));
}

TEST(ForeignFdTest, AFileOfOursThatLingersClosesSoonUnderALimit) {
  Fd lingering = testing::LingeringSocket(std::chrono::seconds(60));
  const auto began = steady_clock::now();
  {
    const LingerLimit limit;
    lingering.Close();
  }
  EXPECT_LT(steady_clock::now() - began, std::chrono::seconds(2));
}

}  // namespace
}  // namespace penstock::posix
