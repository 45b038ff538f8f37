// Sends HTTP/2 frames that cost the receiver more than the sender, as a user of the daemon's group,
// over four connections that never read.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/process_cost.h"
#include "tests/support/programs/raw_http2.h"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr uid_t kStranger = 54321;
constexpr gid_t kGroup = 54322;
constexpr int kConnections = 4;
constexpr size_t kBytes = 4 << 20;  // per connection, if the daemon accepts them
constexpr uint64_t kMayGrow = 16 << 20;
constexpr auto kFloodsFor = milliseconds(1500);

constexpr char kStatus[] = "/penstock.v1.AdminService/GetStatus";
constexpr char kOrder[] = "/penstock.v1.FeedService/SendOrder";

// Opens files and sockets as the stranger while it exists.
class AsStranger {
 public:
  AsStranger() { EXPECT_TRUE(setegid(kGroup) == 0 && seteuid(kStranger) == 0); }
  ~AsStranger() { EXPECT_TRUE(seteuid(0) == 0 && setegid(0) == 0); }
};

// The `n`th piece of a connection's flood, starting at 0.
using Piece = std::function<std::string(uint32_t n)>;

// Sends pieces until the time is over or `kBytes` are sent. Returns the number of bytes sent.
size_t Flood(int fd, const Piece& piece, steady_clock::time_point until) {
  std::string bytes = Http2Preface();
  uint32_t next = 0;
  size_t sent = 0;
  while (sent < kBytes && steady_clock::now() < until) {
    while (bytes.size() < 32 << 10) bytes += piece(next++);
    const ssize_t now = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (now < 0 && errno != EAGAIN) break;  // the daemon closed the connection
    if (now < 0) {
      pollfd entry{.fd = fd, .events = POLLOUT, .revents = 0};
      poll(&entry, 1, 20);
      continue;
    }
    sent += static_cast<size_t>(now);
    bytes.erase(0, static_cast<size_t>(now));
  }
  return sent;
}

class HostileFramesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    EXPECT_TRUE(daemon_.Ctl({"status"}).exit_code == 0);
  }

  uint64_t Memory() { return MemoryOf(daemon_.pid()).own_bytes; }

  // Checks the daemon's memory and response after a flood. With `reads`, the flooders also read
  // what the daemon sends.
  void ExpectHarmless(const std::string& what, const Piece& piece, bool reads = false) {
    std::vector<int> fds;
    {
      const AsStranger stranger;
      for (int i = 0; i < kConnections; ++i) fds.push_back(ConnectRaw(daemon_.address()));
    }
    const uint64_t before = Memory();
    uint64_t most = before;
    std::atomic<int> running = kConnections;
    std::atomic<size_t> sent = 0;
    std::vector<std::thread> threads;
    const auto until = steady_clock::now() + kFloodsFor;
    for (const int fd : fds) {
      ASSERT_GE(fd, 0);
      threads.emplace_back([&, fd] {
        sent += Flood(fd, piece, until);
        --running;
      });
      if (reads)
        threads.emplace_back([fd, &running] {
          char bytes[4096];
          while (running > 0)
            if (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) <= 0)
              std::this_thread::sleep_for(milliseconds(1));
        });
    }
    for (; running > 0; std::this_thread::sleep_for(milliseconds(5)))
      most = std::max(most, Memory());
    for (std::thread& thread : threads) thread.join();
    const auto asked = steady_clock::now();
    EXPECT_EQ(daemon_.Ctl({"status"}).exit_code, 0) << what;
    const std::chrono::duration<double> answered = steady_clock::now() - asked;
    most = std::max(most, Memory());
    std::printf("%s: %zu KiB went, the daemon grew by %zu KiB, status took %.2f s\n", what.c_str(),
                sent.load() >> 10, (most - before) >> 10, answered.count());
#if !defined(PENSTOCK_ASAN)
    EXPECT_LE(most, before + kMayGrow) << what;
#endif
    for (const int fd : fds) close(fd);
  }

  DaemonProcess daemon_{{.workers = 1,
                         .config = "server: {socket: SOCKET, group: '" + std::to_string(kGroup) +
                                   "', state_dir: ''}\npool: {max: 64MiB}\n"
                                   "datasets: [{name: photographs, folder: " +
                                   Photographs(16) + "}]\n"}};
};

TEST_F(HostileFramesTest, PingsAreNotKept) {
  ExpectHarmless("pings", [](uint32_t) { return Http2Ping(); });
  ExpectHarmless(
      "pings of those who read", [](uint32_t) { return Http2Ping(); }, true);
  ExpectHarmless("answers to pings", [](uint32_t) { return Http2Ping(true); });
}

TEST_F(HostileFramesTest, SettingsAreNotKept) {
  const std::string one = {0, 4, 0, 0, 1, 0};  // a window size
  ExpectHarmless("settings", [&](uint32_t) { return Http2Frame(4, 0, 0, one); });
}

TEST_F(HostileFramesTest, WindowUpdatesAndPrioritiesAreNotKept) {
  ExpectHarmless("window updates",
                 [](uint32_t) { return Http2Frame(8, 0, 0, std::string("\0\0\0\1", 4)); });
  ExpectHarmless("priorities", [](uint32_t n) {
    return Http2Frame(2, 0, 2 * n + 1, std::string("\0\0\0\0\7", 5));
  });
  ExpectHarmless("frames of unknown kinds", [](uint32_t) { return Http2Frame(77, 0, 0, ""); });
}

TEST_F(HostileFramesTest, CallsThatAreGivenUpAtOnceAreNotKept) {
  const std::string headers = GrpcHeaders(kStatus);
  const auto call = [&](uint32_t n) {
    return Http2Frame(1, 4, 2 * n + 1, headers) +
           Http2Frame(3, 0, 2 * n + 1, std::string("\0\0\0\x8", 4));
  };
  ExpectHarmless("calls given up", call);
  ExpectHarmless("calls given up, by those who read", call, true);
  ExpectHarmless("resets of no call", [](uint32_t n) {
    return Http2Frame(3, 0, 2 * n + 1, std::string("\0\0\0\x8", 4));
  });
}

TEST_F(HostileFramesTest, HeadersWithoutAnEndAreNotKept) {
  const std::string header =
      std::string(1, '\0') + "\x04" + "name" + "\x64" + std::string(100, 'v');
  ExpectHarmless("continuations", [&](uint32_t n) {
    return n == 0 ? Http2Frame(1, 0, 1, GrpcHeaders(kStatus)) : Http2Frame(9, 0, 1, header);
  });
  ExpectHarmless("empty continuations", [&](uint32_t n) {
    return n == 0 ? Http2Frame(1, 0, 1, GrpcHeaders(kStatus)) : Http2Frame(9, 0, 1, "");
  });
}

// Sends a message of one mebibyte a byte at a time.
TEST_F(HostileFramesTest, MessagesInPiecesOfAByteAreNotKept) {
  constexpr uint32_t kCalls = 15;
  ExpectHarmless("pieces of a byte", [](uint32_t n) {
    if (n < kCalls) {
      return Http2Frame(1, 4, 2 * n + 1, GrpcHeaders(kOrder)) +
             Http2Frame(0, 0, 2 * n + 1, std::string("\0\0\x0f\0\0", 5));
    }
    return Http2Frame(0, 0, 2 * (n % kCalls) + 1, "x");
  });
}

TEST_F(HostileFramesTest, AnswersThatNobodyReadsAreNotKept) {
  const std::string headers = GrpcHeaders(kStatus);
  ExpectHarmless("answers", [&](uint32_t n) {
    return Http2Frame(1, 4, 2 * n + 1, headers) + Http2Frame(0, 1, 2 * n + 1, std::string(5, '\0'));
  });
}

}  // namespace
}  // namespace penstock::testing
