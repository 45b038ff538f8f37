// The daemon keeps nothing open once its trainers are gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/process_cost.h"
#include "tests/support/programs/trainer.h"
#include "tests/support/programs/trainer_process.h"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::Le;
using ::testing::SizeIs;

// Allowed growth over 211 sessions, far less than one per session. gRPC's thread stacks come and
// go, with two mappings each, and the allocator keeps memory.
constexpr size_t kMemoryMappings = 64;
// Allowed growth of descriptors and of mappings of files and shared memory, which gRPC may keep for
// itself.
constexpr size_t kNamed = 4;

struct Holdings {
  std::vector<std::string> descriptors, mapped;  // names, sorted
  size_t memory_mappings = 0, children = 0;
};

// Counts those of the daemon and its workers, once no session is left.
Holdings HoldingsOf(DaemonProcess& daemon) {
  EXPECT_TRUE(daemon.Eventually([&] { return daemon.Status().sessions() == 0; }, 30));
  std::this_thread::sleep_for(milliseconds(300));
  Holdings sum;
  std::vector<pid_t> processes = daemon.WorkerPids();
  processes.push_back(daemon.pid());
  for (pid_t pid : processes) {
    std::ranges::copy(DescriptorsOf(pid), std::back_inserter(sum.descriptors));
    std::ranges::copy(MappingsOf(pid), std::back_inserter(sum.mapped));
    sum.children += ChildrenOf(pid).size();
  }
  sum.memory_mappings = std::erase(sum.mapped, "");
  std::ranges::sort(sum.descriptors);
  std::ranges::sort(sum.mapped);
  return sum;
}

// Repeats until the values settle, because the daemon frees a killed trainer's resources a moment
// later.
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

// Returns the names that occur more often than before.
std::vector<std::string> New(const std::vector<std::string>& before,
                             const std::vector<std::string>& after) {
  std::vector<std::string> names;
  std::ranges::set_difference(after, before, std::back_inserter(names));
  return names;
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
  std::printf("descriptors %zu, then %zu; mappings of memory %zu, then %zu; others %zu, then %zu\n",
              before.descriptors.size(), after.descriptors.size(), before.memory_mappings,
              after.memory_mappings, before.mapped.size(), after.mapped.size());
  EXPECT_THAT(New(before.descriptors, after.descriptors), SizeIs(Le(kNamed)));
  EXPECT_THAT(New(before.mapped, after.mapped), SizeIs(Le(kNamed)));
  EXPECT_LE(after.memory_mappings, before.memory_mappings + kMemoryMappings);
  EXPECT_EQ(after.children, before.children);
}

}  // namespace
}  // namespace penstock::testing
