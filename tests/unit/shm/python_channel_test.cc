#include "common/shm/python_channel.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "common/posix/fd.h"
#include "common/posix/memory.h"
#include "common/shm/sleep.h"

namespace penstock::shm {
namespace {

TEST(RowInHandTest, ARowIsOfItsBatchAloneAlsoOnceSequencesPassFourBillion) {
  constexpr uint64_t kLarge = (uint64_t{7} << 32) + 12;

  EXPECT_EQ(RowInHand(PackRow(5, 31), 5, UINT32_MAX), 31u);
  EXPECT_EQ(RowInHand(PackRow(5, 31), 6, UINT32_MAX), UINT32_MAX);
  EXPECT_EQ(RowInHand(PackRow(kLarge, 4'000'000'000), kLarge, 0), 4'000'000'000u);
  EXPECT_EQ(RowInHand(0, 1, 77), 77u);  // a new channel is zeros
}

TEST(SleepTest, OnlyASideThatFellAsleepIsToBeNotifiedAndOnce) {
  std::atomic<uint32_t> asleep = 0;

  EXPECT_FALSE(EndSleep(asleep));
  FallAsleep(asleep);
  FallAsleep(asleep);
  EXPECT_TRUE(EndSleep(asleep));
  EXPECT_FALSE(EndSleep(asleep));
}

MakeRequest RequestFor(uint64_t sequence) {
  MakeRequest request{};
  request.sequence = sequence;
  request.kind = MakeKind::kMake;
  request.rows = static_cast<uint32_t>(sequence % 7);
  request.slot_offset = sequence << 20;
  request.most = ~sequence;
  request.data_offset = static_cast<uint32_t>(sequence);
  return request;
}

// One side of a channel, as the daemon and a worker use it.
template <typename Pushed, typename Popped>
class Side {
 public:
  using Out = SpscRing<Pushed, kPythonRingCapacity>;
  using In = SpscRing<Popped, kPythonRingCapacity>;
  Side(Out& out, In& in, std::atomic<uint32_t>& own_sleep, std::atomic<uint32_t>& their_sleep,
       const posix::Fd& own_event, const posix::Fd& their_event)
      : out_(out),
        in_(in),
        own_sleep_(own_sleep),
        their_sleep_(their_sleep),
        own_event_(own_event),
        their_event_(their_event) {}

  bool Push(const Pushed& entry) {
    if (out_.Push(entry) != RingOutcome::kDone) return false;
    if (EndSleep(their_sleep_)) posix::NotifyEvent(their_event_);
    return true;
  }

  // Sleeps until something is there. Returns whether it came within five seconds.
  bool Await(Popped& entry) {
    for (;;) {
      if (in_.Pop(entry) == RingOutcome::kDone) return true;
      FallAsleep(own_sleep_);
      if (in_.Pop(entry) == RingOutcome::kDone) return true;
      pollfd event{.fd = own_event_.get(), .events = POLLIN, .revents = 0};
      if (::poll(&event, 1, 5000) != 1) return false;
      posix::Drain(own_event_);
    }
  }

 private:
  RingProducer<Pushed, kPythonRingCapacity> out_;
  RingConsumer<Popped, kPythonRingCapacity> in_;
  std::atomic<uint32_t>&own_sleep_, &their_sleep_;
  const posix::Fd &own_event_, &their_event_;
};

// Answers `count` requests; returns how many came whole and in order.
uint64_t Work(PythonChannel& channel, const posix::Fd& work, const posix::Fd& done,
              uint64_t count) {
  Side<MakeAnswer, MakeRequest> worker(channel.answers, channel.requests, channel.worker_asleep,
                                       channel.daemon_asleep, work, done);
  MakeRequest request;
  for (uint64_t n = 1; n <= count; ++n) {
    if (!worker.Await(request)) return n - 1;
    const MakeRequest expected = RequestFor(n);
    if (std::memcmp(&request, &expected, sizeof(request)) != 0) return n - 1;
    channel.started.store(n, std::memory_order_release);
    MakeAnswer answer{};
    answer.sequence = n;
    answer.outcome = MakeOutcome::kDone;
    answer.bytes = 3 * n;
    if (!worker.Push(answer)) return n - 1;
  }
  return count;
}

TEST(PythonChannelTest, AWorkerAnswersEachRequestInOrderAndNeitherSideSleepsOn) {
  constexpr uint64_t kBatches = 2000;
  const posix::Fd memory = *posix::MakeMemory("channel", sizeof(PythonChannel));
  const posix::Fd work = *posix::MakeEvent(), done = *posix::MakeEvent();
  const auto map = [&] {
    return *posix::Mapping::Map(memory, sizeof(PythonChannel), posix::Access::kReadWrite);
  };
  const pid_t child = ::fork();
  if (child == 0) {
    const posix::Mapping theirs = map();
    auto& channel = *reinterpret_cast<PythonChannel*>(theirs.data());
    ::_exit(Work(channel, work, done, kBatches) == kBatches ? 0 : 1);
  }
  const posix::Mapping ours = map();
  auto& channel = *reinterpret_cast<PythonChannel*>(ours.data());
  Side<MakeRequest, MakeAnswer> daemon(channel.requests, channel.answers, channel.daemon_asleep,
                                       channel.worker_asleep, done, work);

  uint64_t answered = 0;
  MakeAnswer answer;
  for (uint64_t n = 1; n <= kBatches && daemon.Push(RequestFor(n)); ++n) {
    if (!daemon.Await(answer) || answer.sequence != n || answer.bytes != 3 * n) break;
    ++answered;
  }

  EXPECT_EQ(answered, kBatches);
  EXPECT_EQ(channel.started.load(), kBatches);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(PythonChannelTest, ItHoldsTwoBatchesAndTheRoomForEach) {
  const auto channel = std::make_unique<PythonChannel>();
  RingProducer<MakeRequest, kPythonRingCapacity> requests(channel->requests);

  for (uint64_t n = 1; n <= 4; ++n) EXPECT_EQ(requests.Push(RequestFor(n)), RingOutcome::kDone);
  EXPECT_EQ(requests.Push(RequestFor(5)), RingOutcome::kWait);
}

}  // namespace
}  // namespace penstock::shm
