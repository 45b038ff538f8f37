#include "common/shm/spsc_ring.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "common/posix/memory.h"

namespace penstock::shm {
namespace {

// Larger than a cache line, so that a torn copy would be detected.
struct Entry {
  uint64_t number;
  uint64_t copies[15];
};

using Ring = SpscRing<Entry, 8>;

Entry Make(uint64_t number) {
  Entry entry{.number = number, .copies = {}};
  for (uint64_t& copy : entry.copies) copy = number;
  return entry;
}

bool Whole(const Entry& entry, uint64_t number) {
  if (entry.number != number) return false;
  for (const uint64_t copy : entry.copies) {
    if (copy != number) return false;
  }
  return true;
}

// PushAll and its counterpart yield the processor when they must wait, because the tests run on few
// cores.
void PushAll(Ring& ring, uint64_t count) {
  RingProducer producer(ring);
  for (uint64_t i = 0; i < count;) {
    if (producer.Push(Make(i)) == RingOutcome::kDone) {
      ++i;
    } else {
      ::sched_yield();
    }
  }
}

uint64_t PopWhole(Ring& ring, uint64_t count) {
  RingConsumer consumer(ring);
  uint64_t whole = 0;
  Entry entry;
  for (uint64_t i = 0; i < count;) {
    const RingOutcome outcome = consumer.Pop(entry);
    if (outcome == RingOutcome::kBroken) return whole;
    if (outcome == RingOutcome::kWait) {
      ::sched_yield();
    } else if (Whole(entry, i++)) {
      ++whole;
    }
  }
  return whole;
}

class SpscRingTest : public ::testing::Test {
 protected:
  std::unique_ptr<Ring> ring_ = std::make_unique<Ring>();
  RingProducer<Entry, 8> producer_{*ring_};
  RingConsumer<Entry, 8> consumer_{*ring_};
  Entry entry_{};
};

TEST_F(SpscRingTest, AnEmptyRingGivesNothing) {
  EXPECT_EQ(consumer_.Pop(entry_), RingOutcome::kWait);
}

TEST_F(SpscRingTest, AFullRingTakesNothingUntilSomethingIsPopped) {
  for (uint64_t i = 0; i < 8; ++i) ASSERT_EQ(producer_.Push(Make(i)), RingOutcome::kDone);

  EXPECT_EQ(producer_.Push(Make(8)), RingOutcome::kWait);
  ASSERT_EQ(consumer_.Pop(entry_), RingOutcome::kDone);
  EXPECT_EQ(producer_.Push(Make(8)), RingOutcome::kDone);

  EXPECT_TRUE(Whole(entry_, 0));
}

TEST_F(SpscRingTest, AConsumerThatClaimsToHaveTakenMoreThanThereWasIsBroken) {
  for (uint64_t i = 0; i < 8; ++i) producer_.Push(Make(i));
  ring_->popped.store(9);

  EXPECT_EQ(producer_.Push(Make(8)), RingOutcome::kBroken);
}

TEST_F(SpscRingTest, AConsumerThatGoesBackIsBroken) {
  for (uint64_t i = 0; i < 8; ++i) producer_.Push(Make(i));
  for (int i = 0; i < 4; ++i) consumer_.Pop(entry_);
  for (uint64_t i = 8; i < 12; ++i) ASSERT_EQ(producer_.Push(Make(i)), RingOutcome::kDone);
  ring_->popped.store(1);

  EXPECT_EQ(producer_.Push(Make(12)), RingOutcome::kBroken);
}

TEST_F(SpscRingTest, AProducerThatClaimsMoreThanFitsIsBroken) {
  ring_->pushed.store(9);

  EXPECT_EQ(consumer_.Pop(entry_), RingOutcome::kBroken);
}

TEST_F(SpscRingTest, AProducerThatGoesBackIsBroken) {
  producer_.Push(Make(0));
  consumer_.Pop(entry_);
  ring_->pushed.store(0);

  EXPECT_EQ(consumer_.Pop(entry_), RingOutcome::kBroken);
}

TEST_F(SpscRingTest, WhatThePeerWritesIntoOurCounterDoesNotMatter) {
  producer_.Push(Make(0));
  ring_->popped.store(0);
  ASSERT_EQ(consumer_.Pop(entry_), RingOutcome::kDone);
  ring_->popped.store(77);
  ring_->pushed.store(1);

  EXPECT_EQ(consumer_.Pop(entry_), RingOutcome::kWait);
  EXPECT_EQ(consumer_.popped(), 1u);
}

TEST_F(SpscRingTest, EntriesComeWholeAndInOrderFromAnotherThread) {
  constexpr uint64_t kCount = 100'000;
  std::thread producer([this] { PushAll(*ring_, kCount); });

  const uint64_t whole = PopWhole(*ring_, kCount);

  producer.join();
  EXPECT_EQ(whole, kCount);
}

TEST(SpscRingProcessTest, EntriesComeWholeAndInOrderFromAnotherProcess) {
  constexpr uint64_t kCount = 50'000;
  const auto memory = posix::MakeMemory("ring", sizeof(Ring));
  ASSERT_TRUE(memory.ok());
  const pid_t producer = ::fork();
  if (producer == 0) {
    const auto theirs = posix::Mapping::Map(*memory, sizeof(Ring), posix::Access::kReadWrite);
    PushAll(*reinterpret_cast<Ring*>(theirs->data()), kCount);
    ::_exit(0);
  }
  const auto ours = posix::Mapping::Map(*memory, sizeof(Ring), posix::Access::kReadWrite);
  ASSERT_TRUE(ours.ok());

  const uint64_t whole = PopWhole(*reinterpret_cast<Ring*>(ours->data()), kCount);

  EXPECT_EQ(whole, kCount);
  EXPECT_EQ(::waitpid(producer, nullptr, 0), producer);
}

}  // namespace
}  // namespace penstock::shm
