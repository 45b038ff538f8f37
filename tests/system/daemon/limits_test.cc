// Measures the daemon's promises about start time, idle CPU use and memory. Runs alone. Bounds that
// need a quiet machine are generous enough for a busy one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "common/base/units.h"
#include "tests/support/files/jpeg_maker.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/process_cost.h"
#include "tests/support/programs/trainer.h"
#include "tests/support/programs/trainer_process.h"

namespace penstock::testing {
namespace {

using base::kMiB;
using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;
namespace fs = std::filesystem;

#if defined(PENSTOCK_ASAN) || defined(PENSTOCK_TSAN)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr int kImages = 120;

std::string Config(const std::string& pool, const std::string& folder) {
  return "server: {socket: SOCKET, group: '', state_dir: ''}\npool: {" + pool +
         "}\ndatasets: [{name: photographs, folder: " + folder + "}]\n";
}

constexpr double kReadySeconds = kSanitized ? 2 : 0.2;

// Measures from before the daemon is executed to its first answer. Other load can only add to this,
// so a slow start is tried again.
double SecondsToStart(const std::string& pool) {
  DaemonProcess daemon({.workers = 2, .config = Config(pool, Photographs(kImages))});
  double least = 60;
  for (int run = 0; run < 3 || (least > kReadySeconds && run < 30); ++run) {
    daemon.Kill(SIGKILL);
    const auto before = steady_clock::now();
    daemon.Start();
    least = std::min(least, duration<double>(steady_clock::now() - before).count());
  }
  return least;
}

TEST(LimitsTest, ItIsReadyWithin200MillisecondsWhateverThePool) {
  const double small = SecondsToStart("max: 16MiB");
  const double large = SecondsToStart("max: 1TiB, segment: 1GiB");

  std::printf("ready after %.0f ms with a pool of 16 MiB, %.0f ms with one of 1 TiB\n",
              small * 1000, large * 1000);
  EXPECT_LT(small, kReadySeconds);
  EXPECT_LT(large, kReadySeconds);
}

TEST(LimitsTest, WithSessionsOpenAndNothingTakenItUsesAHundredthOfACore) {
  if (kSanitized) GTEST_SKIP() << "sanitizers multiply processor time";
  DaemonProcess daemon({.workers = 2, .config = Config("max: 64MiB", Photographs(kImages))});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  std::vector<Session> sessions;
  for (uint64_t i = 0; i < 16; ++i) {
    SessionOptions options = SmallRows("photographs", 8);
    options.seed = i % 4;
    sessions.push_back(client.Open(options).OrDie());
  }
  ASSERT_TRUE(daemon.Eventually([&] {
    const v1::ListSessionsResponse all = daemon.Sessions();
    return std::all_of(all.sessions().begin(), all.sessions().end(),
                       [](const v1::SessionStatus& s) { return s.announced() == s.window(); });
  }));
  std::vector<pid_t> processes = daemon.WorkerPids();
  processes.push_back(daemon.pid());
  const auto used = [&] {
    nanoseconds sum{0};
    for (pid_t pid : processes) sum += CpuTimeOf(pid);
    return sum;
  };

  std::this_thread::sleep_for(milliseconds(500));  // lets the cost of these calls pass
  const nanoseconds before = used();
  const auto since = steady_clock::now();
  std::this_thread::sleep_for(milliseconds(3000));
  const double share = duration<double>(used() - before).count() /
                       duration<double>(steady_clock::now() - since).count();

  std::printf("idle with %zu sessions: %.2f %% of a core\n", sessions.size(), share * 100);
  EXPECT_LT(share, 0.01);
}

// Records the maximum of each process's own memory and of the shared memory that it touched.
class MemoryWatch {
 public:
  explicit MemoryWatch(std::vector<pid_t> pids) : pids_(std::move(pids)), most_(pids_.size()) {
    thread_ = std::thread([this] {
      for (; !done_; std::this_thread::sleep_for(milliseconds(2))) Look();
    });
  }
  ~MemoryWatch() { Stop(); }
  const std::vector<MemoryUse>& Stop() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
    return most_;
  }

 private:
  void Look() {
    for (size_t i = 0; i < pids_.size(); ++i) {
      const MemoryUse now = MemoryOf(pids_[i]);
      most_[i].own_bytes = std::max(most_[i].own_bytes, now.own_bytes);
      most_[i].shared_bytes = std::max(most_[i].shared_bytes, now.shared_bytes);
    }
  }

  const std::vector<pid_t> pids_;
  std::vector<MemoryUse> most_;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

// Makes photographs of 12 megapixels, as from cameras: baseline, without chroma subsampling, which
// is the worst case.
void MakeLargePhotographs(const std::string& folder, int count) {
  const std::vector<std::byte> file = MakeJpeg(4000, 3000);
  fs::create_directories(folder + "/large");
  const std::string first = folder + "/large/0.jpg";
  std::ofstream(first, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  for (int i = 1; i < count; ++i)
    fs::create_hard_link(first, folder + "/large/" + std::to_string(i) + ".jpg");
}

TEST(LimitsTest, MemoryIsThePool64MiBAnd32MiBAWorkerBesideItsInput) {
  if (kSanitized) GTEST_SKIP() << "sanitizers multiply memory";
  constexpr uint64_t kInputBytes = 32 * kMiB;  // twice limits.max_sample
  constexpr uint64_t kPoolBytes = 64 * kMiB;
  constexpr uint64_t kPagesBytes = kMiB;  // sessions' control pages, workers' rings
  TemporaryDirectory data;
  MakeLargePhotographs(data.path(), 24);
  DaemonProcess daemon({.workers = 2, .config = Config("max: 64MiB", data.path())});
  std::vector<pid_t> processes = daemon.WorkerPids();
  ASSERT_EQ(processes.size(), 2u);
  processes.push_back(daemon.pid());
  SessionOptions options = SmallRows("photographs", 8);
  options.random_crop = RandomResizedCrop{.height = 224, .width = 224};

  MemoryWatch watch(processes);
  EXPECT_EQ(OneEpoch(daemon.address(), options).rows.size(), 24u);
  const std::vector<MemoryUse> most = watch.Stop();

  for (const MemoryUse& worker : {most[0], most[1]}) {
    std::printf("a worker: %.1f MiB of its own, %.1f MiB shared\n",
                static_cast<double>(worker.own_bytes) / kMiB,
                static_cast<double>(worker.shared_bytes) / kMiB);
    EXPECT_LE(worker.own_bytes, 32 * kMiB);
    EXPECT_LE(worker.shared_bytes, kPoolBytes + kInputBytes + kPagesBytes);
  }
  std::printf("the daemon: %.1f MiB of its own, %.1f MiB shared\n",
              static_cast<double>(most[2].own_bytes) / kMiB,
              static_cast<double>(most[2].shared_bytes) / kMiB);
  EXPECT_LE(most[2].own_bytes, 64 * kMiB);
  EXPECT_LE(most[2].shared_bytes, kPoolBytes + 2 * kInputBytes + kPagesBytes);
  EXPECT_LE(daemon.Status().pool().segment_bytes(), kPoolBytes);
}

// Links a few photographs under many names, which makes a large dataset cheaply.
constexpr uint64_t kLinks = 100'000, kLinksAClass = 1000, kNameBytes = 10;

void LinkManySamples(const std::string& folder) {
  std::vector<std::string> photographs;
  for (const auto& entry : fs::recursive_directory_iterator(Photographs(kImages)))
    if (entry.is_regular_file()) photographs.push_back(entry.path());
  for (uint64_t i = 0; i < kLinks; ++i) {
    const std::string of_class = folder + "/" + std::to_string(i / kLinksAClass);
    if (i % kLinksAClass == 0) fs::create_directory(of_class);
    const std::string name = std::to_string(100'000 + i) + ".jpg";
    fs::create_hard_link(photographs[i % photographs.size()], of_class + "/" + name);
  }
}

void TakeFromFeeds(DaemonProcess& daemon, const std::string& folder, uint64_t feeds) {
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  std::vector<Session> sessions;
  for (uint64_t seed = 0; seed < feeds; ++seed) {
    SessionOptions options = SmallRows(folder, 8);
    options.seed = seed;
    sessions.push_back(client.Open(options).OrDie());
    Delivered got;
    EXPECT_TRUE(TakeBatches(sessions.back(), 2, got).ok());
  }
}

// Returns the daemon's own memory after four feeds of a dataset, with the manifest cached.
uint64_t OwnBytesWithFourFeeds(const std::string& folder) {
  DaemonProcess daemon({.workers = 1});
  TakeFromFeeds(daemon, folder, 1);
  daemon.Kill(SIGTERM);
  daemon.Start();
  TakeFromFeeds(daemon, folder, 4);
  return MemoryOf(daemon.pid()).own_bytes;
}

TEST(LimitsTest, MemoryGrowsWithTheDatasetByItsManifestAloneAndThatIsThereOnce) {
  if (kSanitized) GTEST_SKIP() << "sanitizers multiply memory";
  TemporaryDirectory data;
  LinkManySamples(data.path());

  const uint64_t small = OwnBytesWithFourFeeds(Photographs(kImages));
  const uint64_t large = OwnBytesWithFourFeeds(data.path());

  const double a_sample = (static_cast<double>(large) - static_cast<double>(small)) / kLinks;
  std::printf("a sample of %lu more costs %.1f bytes of memory\n", kLinks, a_sample);
  // Each photograph that was decoded may have left checkpoints in a block of its own.
  constexpr uint64_t kDecoded = 4 * 12 * 8, kBlockBytes = 8 * 1026;
  EXPECT_LE(large, small + kLinks * (16 + kNameBytes) + kDecoded * kBlockBytes + kMiB);
}

}  // namespace
}  // namespace penstock::testing
