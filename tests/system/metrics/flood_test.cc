// Measures what a flood of the metrics port costs the daemon and a feed.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "tests/support/programs/busy_trainer.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/http_get.h"
#include "tests/support/programs/process_cost.h"
#include "tests/support/rounds.h"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Opens connections as fast as the daemon accepts them. Some threads scrape; the others send half a
// request or nothing, and keep each connection until they have opened twenty more.
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
  const uint16_t port_ = FreePort();
  DaemonProcess daemon_{
      {.workers = 1,
       .config = "server: {socket: SOCKET, group: '', state_dir: '', metrics_address: '127.0.0.1:" +
                 std::to_string(port_) + "'}\npool: {max: 64MiB}\n" +
                 "datasets: [{name: photographs, folder: " + Photographs(240) + "}]\n"}};
};

// The goal is 95 %. The test asserts 80 %, because the machine may be busy.
TEST_F(FloodTest, LeavesTheFeedItsRateAndTheDaemonItsMemory) {
  constexpr double kRateKept = 0.8;
  const BusyTrainer trainer(daemon_.address());
  trainer.RateFor(seconds(1));
  [[maybe_unused]] const uint64_t memory = MemoryOf(daemon_.pid()).own_bytes;
  uint64_t connections = 0;
  std::chrono::nanoseconds cpu{};

  const Rounds rounds = MeasureRounds(kRateKept, [&] {
    const auto begun = CpuTimeOf(daemon_.pid());
    const double quiet = trainer.RateFor(milliseconds(1500));
    const auto between = CpuTimeOf(daemon_.pid());
    const Flood flood(port_, 8);
    const double flooded = trainer.RateFor(milliseconds(1500));
    cpu += (CpuTimeOf(daemon_.pid()) - between) - (between - begun);
    connections += flood.connections();
    return flooded / quiet;
  });

  std::printf("flooded: %.3f of the rate (%.3f to %.3f), %lu connections, %.1f %% of a core more\n",
              rounds.median(), rounds.sorted.front(), rounds.sorted.back(),
              static_cast<unsigned long>(connections),
              std::chrono::duration<double>(cpu).count() /
                  (1.5 * static_cast<double>(rounds.sorted.size())) * 100);
  EXPECT_GE(rounds.median(), kRateKept);
  EXPECT_GE(connections, 300u);
#if !defined(PENSTOCK_ASAN)  // ASan keeps freed memory
  EXPECT_LE(MemoryOf(daemon_.pid()).own_bytes, memory + (8 << 20));
#endif
  EXPECT_EQ(ValueOf(Scrape(port_, seconds(30)), "penstock_ready"), 1);
}

// More scrapes than several Prometheus servers make.
TEST_F(FloodTest, TenScrapesASecondCostNextToNothing) {
  std::this_thread::sleep_for(seconds(1));
  const auto before = CpuTimeOf(daemon_.pid());
  for (int i = 0; i < 30; ++i) {
    EXPECT_NE(Scrape(port_), "");
    std::this_thread::sleep_for(milliseconds(100));
  }
  const double share =
      std::chrono::duration<double>(CpuTimeOf(daemon_.pid()) - before).count() / 3.0;
  std::printf("ten scrapes a second: %.2f %% of a core\n", share * 100);

  EXPECT_LE(share, 0.03);
}

}  // namespace
}  // namespace penstock::testing
