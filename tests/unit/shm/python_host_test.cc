#include "common/shm/python_host.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "common/posix/memory.h"

namespace penstock::shm {
namespace {

class PythonHostTest : public ::testing::Test {
 protected:
  PythonHostPage& Map(posix::Mapping& mapping) const {
    mapping = *posix::Mapping::Map(memory_, sizeof(PythonHostPage), posix::Access::kReadWrite);
    return *reinterpret_cast<PythonHostPage*>(mapping.data());
  }

  const posix::Fd memory_ = *posix::MakeMemory("host", sizeof(PythonHostPage));
  posix::Mapping ours_;
  PythonHostPage& page_ = Map(ours_);
};

TEST_F(PythonHostTest, APageOfZerosWantsNothingAndReportsNothing) {
  EXPECT_EQ(page_.failed.load(), 0u);
  for (const PythonPlace& place : page_.places) {
    EXPECT_EQ(place.wanted_starts.load(), place.starts.load());
    EXPECT_EQ(place.kill.load(), 0u);
    EXPECT_EQ(place.ended.load(), place.starts.load());
  }
}

// What the daemon wants of neighbouring places shares no cache line with what the host reports.
TEST_F(PythonHostTest, TheTwoSidesWriteToDifferentCacheLines) {
  const auto line = [&](const void* field) {
    return (static_cast<const std::byte*>(field) - ours_.data()) / 64;
  };
  for (uint32_t i = 0; i < kMaxPythonWorkers; ++i) {
    const PythonPlace& place = page_.places[i];
    EXPECT_EQ(line(&place.wanted_starts), line(&place.kill));
    EXPECT_LT(line(&place.kill), line(&place.starts));
    if (i == 0) continue;
    const PythonPlace& before = page_.places[i - 1];
    EXPECT_LT(line(before.words + sizeof(before.words) - 1), line(&place.wanted_starts));
  }
}

TEST_F(PythonHostTest, WhatAHostReportedIsWholeOnceItSaysThatTheStartEnded) {
  const pid_t host = ::fork();
  if (host == 0) {
    posix::Mapping mapping;
    PythonPlace& place = Map(mapping).places[kMaxPythonWorkers - 1];
    while (place.wanted_starts.load(std::memory_order_acquire) == 0) ::sched_yield();
    place.pid.store(4711);
    place.starts.store(1, std::memory_order_release);
    place.exit_status = 9;
    std::strcpy(place.words, "out of memory");
    place.ended.store(1, std::memory_order_release);
    ::_exit(0);
  }
  PythonPlace& place = page_.places[kMaxPythonWorkers - 1];

  place.wanted_starts.store(1, std::memory_order_release);
  while (place.ended.load(std::memory_order_acquire) == 0 && ::waitpid(host, nullptr, WNOHANG) == 0)
    ::sched_yield();

  ::waitpid(host, nullptr, 0);  // fails if it was reaped above
  EXPECT_EQ(place.ended.load(), 1u);
  EXPECT_EQ(place.pid.load(), 4711);
  EXPECT_EQ(WTERMSIG(place.exit_status), SIGKILL);
  EXPECT_STREQ(place.words, "out of memory");
}

}  // namespace
}  // namespace penstock::shm
