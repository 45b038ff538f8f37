// What the daemon promises to leave open once its trainers are gone: nothing.
#include <gtest/gtest.h>

#include <thread>

#include "tests/support/daemon_process.h"
#include "tests/support/process_cost.h"
#include "tests/support/trainer.h"
#include "tests/support/trainer_process.h"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;

// What an allocator may map while 210 sessions come and go: far from one a session. The
// sanitizers' allocators keep freed memory aside, and map more for it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kAllocatorMappings = 64;
#else
constexpr size_t kAllocatorMappings = 16;
#endif

struct Holdings {
  size_t descriptors = 0, mappings = 0, children = 0;
};

// The daemon's and its workers', once nobody is connected any more.
Holdings HoldingsOf(DaemonProcess& daemon) {
  EXPECT_TRUE(daemon.Eventually([&] { return daemon.Status().sessions() == 0; }));
  std::this_thread::sleep_for(milliseconds(300));
  Holdings sum;
  std::vector<pid_t> processes = daemon.WorkerPids();
  processes.push_back(daemon.pid());
  for (pid_t pid : processes) {
    sum.descriptors += OpenDescriptorsOf(pid);
    sum.mappings += MappingsOf(pid);
    sum.children += ChildrenOf(pid).size();
  }
  return sum;
}

// Once nobody is there any more: what a trainer that was killed held is open a moment longer.
Holdings HoldingsAtRest(DaemonProcess& daemon) {
  constexpr int kAtMost = 50, kQuietReadings = 5;
  Holdings last = HoldingsOf(daemon);
  for (int reading = 0, quiet = 0; reading < kAtMost && quiet < kQuietReadings; ++reading) {
    std::this_thread::sleep_for(milliseconds(100));
    const Holdings now = HoldingsOf(daemon);
    quiet = now.descriptors == last.descriptors && daemon.Status().sessions() == 0 ? quiet + 1 : 0;
    last = now;
  }
  return last;
}

TEST(HoldingsTest, SessionsThatComeAndGoLeaveNothingOpen) {
  DaemonProcess daemon(
      {.workers = 2,
       .config = "server: {socket: SOCKET, group: '', state_dir: ''}\npool: {max: 64MiB}\n"
                 "datasets: [{name: photographs, folder: " +
                 Photographs(120) + "}]\n"});
  const auto come_and_go = [&](int times) {
    for (int i = 0; i < times; ++i) {
      Client client = Client::Connect({.address = daemon.address()}).OrDie();
      SessionOptions options = SmallRows("photographs", 8);
      options.seed = static_cast<uint64_t>(i);
      Session session = client.Open(options).OrDie();
      Delivered got;
      EXPECT_TRUE(TakeBatches(session, i % 3, got).ok());
      if (i % 2 == 0) {
        EXPECT_TRUE(session.Close().ok());
      }
    }
  };
  const auto be_killed = [&](int times) {
    for (int i = 0; i < times; ++i) TrainerProcess(daemon.address(), "photographs", "hold");
  };
  come_and_go(20);  // fills caches
  be_killed(1);
  const Holdings before = HoldingsAtRest(daemon);

  come_and_go(200);
  be_killed(10);

  const Holdings after = HoldingsAtRest(daemon);
  std::printf("descriptors %zu, then %zu; mappings %zu, then %zu; children %zu, then %zu\n",
              before.descriptors, after.descriptors, before.mappings, after.mappings,
              before.children, after.children);
  EXPECT_LE(after.descriptors, before.descriptors);
  EXPECT_EQ(after.children, before.children);
  EXPECT_LE(after.mappings, before.mappings + kAllocatorMappings);
}

}  // namespace
}  // namespace penstock::testing
