// A flood of the metrics' port beside a feed: what it costs the feed and the daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/support/daemon_process.h"
#include "tests/support/http_get.h"
#include "tests/support/process_cost.h"
#include "tests/support/trainer.h"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Connections one after the other, as fast as they are taken: some scrape, some say half a request,
// some nothing. Each of the last two is kept until twenty others came.
class Flood {
 public:
  Flood(uint16_t port, int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this, port, i] { Run(port, i); });
  }
  ~Flood() {
    stopping_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  uint64_t connections() const { return connections_; }

 private:
  void Run(uint16_t port, int kind) {
    std::vector<posix::Fd> kept(20);
    for (size_t i = 0; !stopping_; ++i) {
      if (kind % 2 == 0) {
        connections_ += Scrape(port, seconds(5)).empty() ? 0 : 1;
        continue;
      }
      posix::Fd& place = kept[i % kept.size()];
      place = ConnectTo(port, milliseconds(500));
      if (!place.valid()) continue;
      ++connections_;
      if (i % 2 == 0) (void)!::send(place.get(), "GET /met", 8, MSG_NOSIGNAL);
    }
  }

  std::atomic<bool> stopping_ = false;
  std::atomic<uint64_t> connections_ = 0;
  std::vector<std::thread> threads_;
};

class FloodTest : public ::testing::Test {
 protected:
  uint64_t SamplesIn(milliseconds time) {
    const auto samples = [&] { return daemon_.Status().samples_decoded(); };
    const uint64_t before = samples();
    const auto began = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(time);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    return static_cast<uint64_t>(static_cast<double>(samples() - before) / took.count());
  }

  const uint16_t port_ = FreePort();
  DaemonProcess daemon_{
      {.workers = 1,
       .config = "server: {socket: SOCKET, group: '', state_dir: '', metrics_address: '127.0.0.1:" +
                 std::to_string(port_) + "'}\npool: {max: 64MiB}\n" +
                 "datasets: [{name: photographs, folder: " + Photographs(240) + "}]\n"}};
};

// The goal is 95 %; on a busy machine four fifths are asked for. Medians of alternating times.
TEST_F(FloodTest, LeavesTheFeedItsRateAndTheDaemonItsMemory) {
  std::atomic<bool> stopping = false;
  std::thread trainer([&] {
    Client client = Client::Connect({.address = daemon_.address()}).OrDie();
    SessionOptions options = SmallRows("photographs", 8);
    options.epochs = 1'000'000;
    Session session = client.Open(options).OrDie();
    while (!stopping) {
      const Result<Batch> batch = session.Next(seconds(30));
      if (!batch.ok() && batch.status().code() != Code::kEndOfEpoch) break;
    }
  });
  SamplesIn(seconds(2));
  [[maybe_unused]] const uint64_t memory = MemoryOf(daemon_.pid()).own_bytes;

  std::vector<double> ratios;
  uint64_t connections = 0;
  std::chrono::nanoseconds cpu{};
  for (int i = 0; i < 5; ++i) {
    const auto quiet_cpu = CpuTimeOf(daemon_.pid());
    const uint64_t quiet = SamplesIn(milliseconds(1500));
    const auto between = CpuTimeOf(daemon_.pid());
    const Flood flood(port_, 8);
    const uint64_t flooded = SamplesIn(milliseconds(1500));
    cpu += (CpuTimeOf(daemon_.pid()) - between) - (between - quiet_cpu);
    connections += flood.connections();
    ratios.push_back(static_cast<double>(flooded) / static_cast<double>(quiet));
  }
  stopping = true;
  trainer.join();
  std::sort(ratios.begin(), ratios.end());
  std::printf("flooded: %.3f of the rate (%.3f to %.3f), %lu connections, %.1f %% of a core more\n",
              ratios[2], ratios[0], ratios[4], static_cast<unsigned long>(connections),
              std::chrono::duration<double>(cpu).count() / 7.5 * 100);

  EXPECT_GE(ratios[2], 0.8);
  EXPECT_GE(connections, 500u);
#if !defined(__SANITIZE_ADDRESS__)  // which keeps what was freed
  EXPECT_LE(MemoryOf(daemon_.pid()).own_bytes, memory + (8 << 20));
#endif
  EXPECT_EQ(ValueOf(Scrape(port_, seconds(30)), "penstock_ready"), 1);
}

// As several Prometheus servers would, but more of them.
TEST_F(FloodTest, TenScrapesASecondCostNextToNothing) {
  SamplesIn(seconds(1));
  const auto before = CpuTimeOf(daemon_.pid());
  for (int i = 0; i < 50; ++i) {
    EXPECT_NE(Scrape(port_), "");
    std::this_thread::sleep_for(milliseconds(100));
  }
  const double share =
      std::chrono::duration<double>(CpuTimeOf(daemon_.pid()) - before).count() / 5.0;
  std::printf("ten scrapes a second: %.2f %% of a core\n", share * 100);

  EXPECT_LE(share, 0.03);
}

}  // namespace
}  // namespace penstock::testing
