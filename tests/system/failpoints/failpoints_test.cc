// Kills the daemon at each of its failpoints, under two trainers, and compares all that they get
// with an undisturbed run. A failpoint that is never reached is a failure.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/support/files/tar_maker.h"
#include "tests/support/files/temp_folder.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int kImages = 60;
constexpr uint64_t kEpochs = 2;
constexpr auto kMostARun = seconds(60);

std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// All failpoints, as the program itself lists them.
std::vector<std::string> AllFailpoints() {
  setenv("PENSTOCK_FAILPOINTS", "list", 1);
  const Ended listed = RunProgram("penstockd", {});
  unsetenv("PENSTOCK_FAILPOINTS");
  std::vector<std::string> names;
  std::istringstream lines(listed.output);
  for (std::string line; std::getline(lines, line);) names.push_back(line);
  return names;
}

// Photographs with a damaged one among them, as class folders and as a shard.
class FailpointsTest : public ::testing::Test {
 protected:
  FailpointsTest() {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    fs::copy(Photographs(kImages), folder_.At("photographs"), fs::copy_options::recursive);
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.At("photographs")))
      if (entry.is_regular_file()) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    fs::resize_file(files[7], 200);
    std::string shard;
    for (size_t i = 0; i < files.size(); ++i)
      shard += TarFile(absl::StrCat(10'000 + i, ".jpg"), ContentOf(files[i])) +
               TarFile(absl::StrCat(10'000 + i, ".cls"), "0");
    folder_.Write("shard.tar", shard + TarEnd());
  }

  std::string Config() const {
    return absl::StrCat(
        "server: {socket: SOCKET, group: '', state_dir: '", folder_.At("state"),
        "', drain_for: 20s}\nlimits: {max_quarantined: 50%}\ndatasets:\n  - {name: photographs, "
        "folder: '",
        folder_.At("photographs"), "'}\n  - {name: shards, tar: {shards: ['",
        folder_.At("shard.tar"), "']}}\n");
  }
  std::string log_path() const { return folder_.At("failpoints.log"); }

  // How often each failpoint acted.
  std::map<std::string, int> Acted() const {
    std::map<std::string, int> acted;
    std::ifstream log(log_path());
    std::string name, rest;
    while (log >> name && std::getline(log, rest)) ++acted[name];
    return acted;
  }

  struct Got {
    Delivered first, second;
  };
  // Runs both trainers to their ends, with the daemon's failpoints set so. In the middle of their
  // first epochs the daemon is asked to end; whenever it is gone, it is started anew.
  Got RunWith(const std::string& failpoints);

  TempFolder folder_;
};

struct Trainee {
  SessionOptions options;
  bool resumes_by_state = false;  // in a new client; else its session resumes by itself
  std::atomic<uint64_t> batches{0};
  std::atomic<bool> done{false};
  Delivered delivered = {};

  void Train(const std::string& address) {
    const auto until = steady_clock::now() + kMostARun;
    std::optional<State> state;
    while (!done && steady_clock::now() < until) {
      if (state) {  // its epochs count from where it resumes
        options.state = *state;
        options.epochs = kEpochs - std::min(state->epoch, kEpochs);
        if (options.epochs == 0) done = true;
      }
      auto client = Client::Connect({.address = address});
      auto session = client.ok() ? client->Open(options) : Result<Session>(client.status());
      if (!session.ok()) {
        std::this_thread::sleep_for(milliseconds(50));
        continue;
      }
      while (!done && steady_clock::now() < until) {
        const Status status = TakeBatches(*session, 1, delivered, milliseconds(5));
        if (status.ok()) ++batches;
        if (status.ok() || status.code() == Code::kEndOfEpoch) state = session->state();
        if (status.code() == Code::kEndOfData) done = true;
        if (status.code() != Code::kUnavailable) continue;
        std::this_thread::sleep_for(milliseconds(50));
        if (resumes_by_state) break;
      }
    }
  }
};

// Kills one of the daemon's workers, so that another is started.
void KillAWorkerOf(pid_t daemon) {
  std::error_code error;
  for (const auto& thread :
       fs::directory_iterator(absl::StrCat("/proc/", daemon, "/task"), error)) {
    std::ifstream children(thread.path() / "children");
    if (pid_t worker = 0; children >> worker) return void(kill(worker, SIGKILL));
  }
}

bool HasEnded(pid_t pid) {
  siginfo_t info = {};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}

// The orphans of daemons that were killed become children of this process.
std::string Leftovers(const std::string& state) {
  std::string left;
  for (int status = 0; waitpid(-1, &status, WNOHANG) > 0;) continue;
  std::ifstream children(absl::StrCat("/proc/self/task/", getpid(), "/children"));
  for (std::string pid; children >> pid;) left += ContentOf("/proc/" + pid + "/comm");
  for (const auto& entry : fs::recursive_directory_iterator(state))
    if (entry.path().string().find(".new.") != std::string::npos) left += entry.path().string();
  return left;
}

FailpointsTest::Got FailpointsTest::RunWith(const std::string& failpoints) {
  fs::remove(log_path());
  fs::remove_all(folder_.At("state"));
  setenv("PENSTOCK_FAILPOINTS", failpoints.c_str(), 1);
  setenv("PENSTOCK_FAILPOINTS_LOG", log_path().c_str(), 1);
  DaemonProcess daemon({.workers = 2, .config = Config(), .serves = false});
  std::vector<uint64_t> order(kImages);
  std::iota(order.begin(), order.end(), 0);
  std::reverse(order.begin(), order.end());
  Trainee first{.options = SmallRows("photographs", 8), .resumes_by_state = true};
  first.options.epochs = kEpochs;
  Trainee second{.options = SmallRows("shards", 5)};
  second.options.epochs = kEpochs;
  second.options.order = Order::kGiven;
  second.options.given = std::make_shared<const std::vector<uint64_t>>(std::move(order));
  std::thread one([&] { first.Train(daemon.address()); });
  std::thread other([&] { second.Train(daemon.address()); });
  bool asked = false, killed = false;
  const auto until = steady_clock::now() + kMostARun;
  while (!(first.done && second.done) && steady_clock::now() < until) {
    if (HasEnded(daemon.pid())) {
      daemon.Kill(0);
      unsetenv("PENSTOCK_FAILPOINTS");
      daemon.Start();
    } else if (!killed && first.batches >= 1 && second.batches >= 1) {
      killed = true;
      KillAWorkerOf(daemon.pid());
    } else if (!asked && first.batches >= 3 && second.batches >= 3) {
      asked = true;
      daemon.Signal(SIGTERM);
    }
    std::this_thread::sleep_for(milliseconds(5));
  }
  one.join();
  other.join();
  EXPECT_TRUE(first.done && second.done) << failpoints << ": the trainers did not come to an end";
  // What a kill left is seen to, at the latest, when a daemon opens the datasets again.
  if (daemon.Kill(SIGTERM) == -SIGKILL || !Leftovers(folder_.At("state")).empty()) {
    unsetenv("PENSTOCK_FAILPOINTS");
    daemon.Start();
    OneEpoch(daemon.address(), SmallRows("photographs", 8));
    OneEpoch(daemon.address(), SmallRows("shards", 5));
    daemon.Kill(SIGTERM);
  }
  unsetenv("PENSTOCK_FAILPOINTS");
  EXPECT_FALSE(fs::exists(daemon.address())) << failpoints << ": a socket is left";
  return {first.delivered, second.delivered};
}

// Which rows differ, for the message.
std::string Difference(const Delivered& got, const Delivered& expected) {
  std::string text = absl::StrCat(got.rows.size(), " rows of ", expected.rows.size(), ";");
  int shown = 0;
  for (const auto& [place, row] : expected.rows) {
    const auto found = got.rows.find(place);
    if (found != got.rows.end() && found->second == row) continue;
    if (++shown > 5) break;
    absl::StrAppend(&text, " epoch ", place.first, " position ", place.second, " is sample ",
                    found == got.rows.end() ? -1 : static_cast<int64_t>(found->second.sample),
                    ", not ", row.sample, ";");
  }
  return text;
}

TEST_F(FailpointsTest, WhereverTheDaemonIsKilledTrainersGetTheSame) {
  const std::vector<std::string> names = AllFailpoints();
  ASSERT_GE(names.size(), 20u);
  std::string counting;
  for (const std::string& name : names) absl::StrAppend(&counting, name, "=delay(0);");
  const Got expected = RunWith(counting);
  const std::map<std::string, int> reached = Acted();

  std::printf("%-36s %8s  %s\n", "failpoint", "reached", "killed there: the trainers got");
  for (const std::string& name : names) {
    const auto found = reached.find(name);
    if (found == reached.end()) {
      ADD_FAILURE() << name << " is never reached";
      std::printf("%-36s %8d\n", name.c_str(), 0);
      continue;
    }
    // Beyond those of the start; less if another run came there less often.
    Got got;
    bool killed = false;
    for (int before = found->second * 2 / 3; !killed; before /= 2) {
      const std::string skipped = before > 0 ? absl::StrCat(before, "*off->") : "";
      got = RunWith(absl::StrCat(name, "=", skipped, "1*kill"));
      killed = Acted().contains(name);
      if (before == 0) break;
    }
    const bool same = got.first == expected.first && got.second == expected.second;
    const uint64_t twice = got.first.twice + got.second.twice;
    const std::string left = Leftovers(folder_.At("state"));
    std::printf("%-36s %8d  %s%s\n", name.c_str(), found->second, !killed ? "(not killed) " : "",
                same && twice == 0 ? "the same" : "OTHER ROWS");
    std::fflush(stdout);
    EXPECT_TRUE(killed) << name;
    EXPECT_TRUE(same) << name << ": by state: " << Difference(got.first, expected.first)
                      << " in an order: " << Difference(got.second, expected.second);
    EXPECT_EQ(twice, 0u) << name;
    EXPECT_EQ(left, "") << name;
  }
}

}  // namespace
}  // namespace penstock::testing
