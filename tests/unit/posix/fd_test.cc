#include "common/posix/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace penstock::posix {
namespace {

bool IsOpen(int number) { return ::fcntl(number, F_GETFD) >= 0; }

bool IsReadable(const Fd& fd) {
  pollfd entry{.fd = fd.get(), .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, 0) == 1;
}

TEST(FdTest, ADuplicateOfNothingIsRefused) { EXPECT_FALSE(Fd().Duplicate().ok()); }

TEST(FdTest, ItsEndClosesTheDescriptor) {
  int number;
  {
    const Fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    number = fd.get();
    ASSERT_TRUE(IsOpen(number));
  }

  EXPECT_FALSE(IsOpen(number));
}

TEST(FdTest, AssignmentClosesWhatWasThere) {
  Fd first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Fd second(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int closed = first.get(), kept = second.get();

  first = std::move(second);

  EXPECT_FALSE(IsOpen(closed));
  EXPECT_EQ(first.get(), kept);
  EXPECT_FALSE(second.valid());  // NOLINT(bugprone-use-after-move): moving empties it
}

TEST(FdTest, ADuplicateIsClosedOnExecAndOutlivesTheOriginal) {
  Fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));

  const auto copy = fd.Duplicate();
  fd.Close();

  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_EQ(::fcntl(copy->get(), F_GETFD), FD_CLOEXEC);
}

TEST(EventTest, DrainingAnEmptyEventDoesNotWait) {
  const auto event = MakeEvent();
  ASSERT_TRUE(event.ok());

  EXPECT_EQ(Drain(*event), 0u);

  EXPECT_FALSE(IsReadable(*event));
}

TEST(EventTest, DrainingDoesNotWaitAlsoWhereSomebodyMadeTheEventABlockingOne) {
  const auto event = MakeEvent();
  ASSERT_TRUE(event.ok());
  const auto theirs = event->Duplicate();
  ASSERT_TRUE(theirs.ok());
  ASSERT_EQ(::fcntl(theirs->get(), F_SETFL, 0), 0);

  Drain(*event);

  EXPECT_FALSE(IsReadable(*event));
}

TEST(EventTest, ManyRingsAreDrainedAtOnce) {
  const auto event = MakeEvent();
  ASSERT_TRUE(event.ok());

  NotifyEvent(*event);
  NotifyEvent(*event);
  EXPECT_TRUE(IsReadable(*event));
  EXPECT_EQ(Drain(*event), 2u);

  EXPECT_FALSE(IsReadable(*event));
}

TEST(NotifierTest, IsHeardFromARingToADrain) {
  const Notifier wakeup = MakeNotifier().value();
  EXPECT_FALSE(IsReadable(wakeup.receiver));

  Notify(wakeup.sender);
  Notify(wakeup.sender);
  EXPECT_TRUE(IsReadable(wakeup.receiver));

  DrainNotifications(wakeup.receiver);
  EXPECT_FALSE(IsReadable(wakeup.receiver));
  Notify(wakeup.sender);
  EXPECT_TRUE(IsReadable(wakeup.receiver));
}

TEST(NotifierTest, RingingNeverWaitsForOneThatDoesNotListenFillsItsEndOrIsGone) {
  Notifier wakeup = MakeNotifier().value();
  ASSERT_EQ(::fcntl(wakeup.receiver.get(), F_SETFL, 0), 0);
  const char noise[64] = {};
  while (::send(wakeup.receiver.get(), noise, sizeof(noise), MSG_DONTWAIT) > 0) {
  }

  for (int i = 0; i < 10'000; ++i) Notify(wakeup.sender);
  EXPECT_TRUE(IsReadable(wakeup.receiver));

  wakeup.receiver.Close();
  for (int i = 0; i < 100; ++i) Notify(wakeup.sender);
}

}  // namespace
}  // namespace penstock::posix
