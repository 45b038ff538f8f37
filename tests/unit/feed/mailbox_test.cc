#include "server/feed/engine/mailbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

namespace penstock::feed {
namespace {

bool IsNotified(const Mailbox& mailbox) {
  pollfd entry{.fd = mailbox.event().get(), .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, 0) == 1;
}

class MailboxTest : public ::testing::Test {
 protected:
  Mailbox::Job Note(int number) {
    return [this, number] { done_.push_back(number); };
  }
  void RunAll() {
    for (const Mailbox::Job& job : mailbox_.Take()) job();
  }

  std::vector<int> done_;
  Mailbox mailbox_{posix::MakeEvent().value(), 2};
};

TEST_F(MailboxTest, AFullBoxRefusesAndRunsOnlyWhatItTook) {
  EXPECT_TRUE(mailbox_.Post(Note(1)));
  EXPECT_TRUE(mailbox_.Post(Note(2)));

  EXPECT_FALSE(mailbox_.Post(Note(3)));

  RunAll();
  EXPECT_THAT(done_, ::testing::ElementsAre(1, 2));
}

TEST_F(MailboxTest, WhatMustNotBeLostFitsAFullBoxAndKeepsItsTurn) {
  mailbox_.Post(Note(1));
  mailbox_.Post(Note(2));

  EXPECT_TRUE(mailbox_.Deliver(Note(3)));

  RunAll();
  EXPECT_THAT(done_, ::testing::ElementsAre(1, 2, 3));
}

TEST_F(MailboxTest, AClosedBoxTakesNothingAndKeepsWhatItHad) {
  mailbox_.Post(Note(1));

  mailbox_.Close();

  EXPECT_FALSE(mailbox_.Post(Note(2)));
  EXPECT_FALSE(mailbox_.Deliver(Note(3)));
  RunAll();
  EXPECT_THAT(done_, ::testing::ElementsAre(1));
}

TEST_F(MailboxTest, ABoxThatWasEmptiedTakesAgain) {
  mailbox_.Post(Note(1));
  mailbox_.Post(Note(2));
  RunAll();

  EXPECT_TRUE(mailbox_.Post(Note(3)));

  RunAll();
  EXPECT_THAT(done_, ::testing::ElementsAre(1, 2, 3));
}

TEST_F(MailboxTest, WhatIsTakenInRingsAndWhatIsRefusedDoesNot) {
  EXPECT_FALSE(IsNotified(mailbox_));
  mailbox_.Close();
  mailbox_.Post(Note(1));
  EXPECT_FALSE(IsNotified(mailbox_));

  Mailbox open{posix::MakeEvent().value(), 1};
  open.Post(Note(1));

  EXPECT_TRUE(IsNotified(open));
}

TEST_F(MailboxTest, OfManyThreadsEachJobIsRunOnce) {
  Mailbox mailbox{posix::MakeEvent().value(), 1 << 20};
  int run = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int job = 0; job < 1000; ++job) mailbox.Post([&run] { ++run; });
    });
  }
  for (int taken = 0; taken < 4000;) {
    for (const Mailbox::Job& job : mailbox.Take()) {
      job();
      ++taken;
    }
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(run, 4000);
}

}  // namespace
}  // namespace penstock::feed
