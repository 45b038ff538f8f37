// Runs a daemon under random faults for PENSTOCK_SOAK_SECONDS and compares every row. At the end,
// the daemon must hold the same resources as at the start, and the test prints their drift per
// hour.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/programs/preload.h"
#include "tests/support/programs/trainer_process.h"
#include "tests/system/hostile/neighbours.h"

namespace penstock::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kPhotographs = 64;

SessionOptions Centered(const std::string& dataset, uint64_t epochs) {
  SessionOptions options;
  options.dataset = dataset;
  options.batch_size = 8;
  options.seed = 7;
  options.center_crop = ResizeCenterCrop{.resize = 40, .height = 32, .width = 32};
  options.epochs = epochs;
  return options;
}

using Rows = std::map<uint64_t, Delivered::Row>;

// Trains continuously, compares each row, and opens a new session when one ends.
class Trainer {
 public:
  Trainer(std::string address, std::string dataset, const Rows& expected)
      : address_(std::move(address)), dataset_(std::move(dataset)), expected_(expected) {
    thread_ = std::thread([this] {
      while (!stopping_) TrainOnce();
    });
  }
  ~Trainer() {
    stopping_ = true;
    thread_.join();
  }

  uint64_t batches() const { return batches_; }
  uint64_t wrong() const { return wrong_; }
  uint64_t opened() const { return opened_; }
  // Returns the waits for batches since the last call in milliseconds, sorted in ascending order.
  std::vector<double> TakeWaits() {
    const std::lock_guard lock(mutex_);
    std::vector<double> waits = std::exchange(waits_, {});
    std::sort(waits.begin(), waits.end());
    return waits;
  }

 private:
  void TrainOnce() {
    std::this_thread::sleep_for(milliseconds(20));
    Result<Client> client = Client::Connect({.address = address_});
    if (!client.ok()) return;
    Result<Session> session = client->Open(Centered(dataset_, 1'000'000));
    if (!session.ok()) return;
    ++opened_;
    while (!stopping_) {
      const auto began = steady_clock::now();
      const Result<Batch> batch = session->Next(std::chrono::seconds(5));
      if (batch.status().code() == Code::kEndOfEpoch) continue;
      if (!batch.ok()) return;
      Check(*batch, session->samples() == kPhotographs);
      const std::lock_guard lock(mutex_);
      waits_.push_back(duration<double, std::milli>(steady_clock::now() - began).count());
    }
  }

  // While a file was missing, the dataset had fewer samples with different numbers. A session
  // opened then cannot be checked by sample number, so each row must only equal some expected row.
  void Check(const Batch& batch, bool whole) {
    Delivered got;
    Note(batch, got);
    for (const auto& [place, row] : got.rows) {
      const auto found =
          std::find_if(expected_.begin(), expected_.end(), [&, row = row](const auto& each) {
            return each.second.pixels == row.pixels && each.second.label == row.label &&
                   (!whole || each.first == row.sample);
          });
      if (found == expected_.end()) ++wrong_;
    }
    ++batches_;
  }

  const std::string address_, dataset_;
  const Rows& expected_;
  std::atomic<bool> stopping_ = false;
  std::atomic<uint64_t> batches_ = 0, wrong_ = 0, opened_ = 0;
  std::mutex mutex_;
  std::vector<double> waits_;
  std::thread thread_;
};

// Computes how much a value grows per hour, by linear regression.
class Drift {
 public:
  void Add(double hours, double value) { points_.emplace_back(hours, value); }
  double PerHour() const {
    double x = 0, y = 0, xx = 0, xy = 0;
    for (const auto& [hours, value] : points_)
      x += hours, y += value, xx += hours * hours, xy += hours * value;
    const auto n = static_cast<double>(points_.size());
    const double spread = n * xx - x * x;
    return spread <= 0 ? 0 : (n * xy - x * y) / spread;
  }
  double mean() const {
    double sum = 0;
    for (const auto& [hours, value] : points_) sum += value;
    return points_.empty() ? 0 : sum / static_cast<double>(points_.size());
  }

 private:
  std::vector<std::pair<double, double>> points_;
};

class SoakTest : public ::testing::Test {
 protected:
  SoakTest() : random_(ChosenSeed()) {
    fs::copy(Photographs(kPhotographs), shaky_, fs::copy_options::recursive);
    setenv("PENSTOCK_TEST_FOLDER", shaky_.c_str(), 1);
    const Preload hangs(PENSTOCK_HANGING_READS);
    const std::string workers =
        "workers: {sample_timeout: 5s, max_restarts: 1000}\nlimits: {max_quarantined: 100%}\n";
    daemon_ = std::make_unique<DaemonProcess>(DaemonProcess::Options{
        .workers = 2,
        .config = "server: {socket: SOCKET, group: '', state_dir: ''}\npool: {max: 128MiB}\n" +
                  workers + "datasets: [{name: photographs, folder: " + Photographs(kPhotographs) +
                  "}, {name: shaky, folder: " + shaky_ + "}]\n"});
    const Delivered once = OneEpoch(daemon_->address(), Centered("photographs", 1));
    for (const auto& [place, row] : once.rows) expected_.emplace(row.sample, row);
  }

  uint64_t Pick(uint64_t limit) { return random_() % limit; }
  void Wait(uint64_t least, uint64_t most) {
    std::this_thread::sleep_for(milliseconds(least + Pick(most - least)));
  }

  std::string Fault() {
    switch (Pick(7)) {
      case 0:
        killed_ = std::make_unique<TrainerProcess>(daemon_->address(), "photographs", "flood");
        Wait(10, 200);
        killed_.reset();
        return "trainer killed";
      case 1: {
        const std::vector<pid_t> workers = ChildrenOf(daemon_->pid());
        if (!workers.empty()) kill(workers[Pick(workers.size())], SIGKILL);
        return "worker killed";
      }
      case 2:
        daemon_->Signal(SIGHUP);
        return "reload";
      case 3:
        daemon_->Ctl({"workers", "--set", std::to_string(1 + Pick(3))});
        return "number of workers";
      case 4:
        daemon_->Ctl({"drain", "--deadline", "100ms"});
        daemon_->Ctl({"drain", "--cancel"});
        return "drain and serve again";
      case 5: {
        std::vector<fs::path> files;
        for (const auto& entry : fs::recursive_directory_iterator(shaky_))
          if (entry.is_regular_file()) files.push_back(entry.path());
        const fs::path file = files[Pick(files.size())], away = shaky_ + ".gone";
        fs::rename(file, away);
        Wait(100, 400);
        fs::rename(away, file);
        return "file vanished and came back";
      }
      default:
        std::fclose(std::fopen((shaky_ + ".away").c_str(), "w"));
        Wait(100, 600);
        fs::remove(shaky_ + ".away");
        return "storage stalled";
    }
  }

  TemporaryDirectory data_;
  const std::string shaky_ = data_.path() + "/shaky";
  std::mt19937_64 random_;
  std::unique_ptr<DaemonProcess> daemon_;
  std::unique_ptr<TrainerProcess> killed_;
  Rows expected_;
};

TEST_F(SoakTest, UnderRandomFaultsEveryRowIsRightAndNothingDrifts) {
  const char* given = std::getenv("PENSTOCK_SOAK_SECONDS");
  const double length = given == nullptr ? 6 : std::atof(given);
  ASSERT_EQ(expected_.size(), size_t{kPhotographs});
  const pid_t pid = daemon_->pid();
  const Holdings before = HoldingsOf(pid);
  std::map<std::string, int> faults;
  Drift memory, descriptors, threads, rate, wait;
  uint64_t of_steady = 0, of_shaky = 0, wrong = 0, opened = 0;
  {
    Trainer steady(daemon_->address(), "photographs", expected_);
    Trainer shaky(daemon_->address(), "shaky", expected_);
    const auto began = steady_clock::now();
    auto sampled = began;
    uint64_t batches = 0;
    const auto elapsed = [&] { return duration<double>(steady_clock::now() - began).count(); };
    while (elapsed() < length) {
      Wait(50, 500);
      ++faults[Fault()];
      const double since = duration<double>(steady_clock::now() - sampled).count();
      if (since < 1) continue;
      sampled = steady_clock::now();
      const Holdings now = HoldingsOf(pid);
      const double hours = elapsed() / 3600;
      memory.Add(hours, static_cast<double>(now.private_bytes) / (1 << 20));
      descriptors.Add(hours, static_cast<double>(now.descriptors));
      threads.Add(hours, static_cast<double>(now.threads));
      rate.Add(hours, static_cast<double>(steady.batches() - batches) / since);
      batches = steady.batches();
      const std::vector<double> waits = steady.TakeWaits();
      if (!waits.empty()) wait.Add(hours, waits[waits.size() * 99 / 100]);
    }
    of_steady = steady.batches();
    of_shaky = shaky.batches();
    wrong = steady.wrong() + shaky.wrong();
    opened = steady.opened() + shaky.opened();
  }
  std::printf("%.0f s:", length);
  for (const auto& [fault, count] : faults) std::printf(" %d x %s;", count, fault.c_str());
  std::printf("\n%lu + %lu batches, %lu rows wrong, %lu sessions\n",
              static_cast<unsigned long>(of_steady), static_cast<unsigned long>(of_shaky),
              static_cast<unsigned long>(wrong), static_cast<unsigned long>(opened));
  const auto show = [](const char* what, const Drift& drift) {
    std::printf("%-28s mean %9.2f, drift %+9.2f an hour\n", what, drift.mean(), drift.PerHour());
  };
  show("private memory, MiB", memory);
  show("descriptors", descriptors);
  show("threads", threads);
  show("batches a second", rate);
  show("99th percentile of waits, ms", wait);

  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(of_steady, 0u);
  EXPECT_GT(of_shaky, 0u);
  EXPECT_EQ(daemon_->pid(), pid);
  EXPECT_TRUE(daemon_->Eventually([&] { return daemon_->Status().serving(); }));
  // The pool keeps 64 idle segments of two descriptors each, and the catalogue keeps some folders
  // open.
  Holdings after;
  EXPECT_TRUE(daemon_->Eventually(
      [&] {
        after = HoldingsOf(pid);
        return after.descriptors <= before.descriptors + 170 && after.threads <= before.threads + 8;
      },
      20));
  EXPECT_TRUE(daemon_->Eventually([&] { return daemon_->Sessions().sessions_size() == 0; }));
  std::map<std::string, int> kinds;
  for (const std::string& each : DescriptorsOf(pid)) ++kinds[each];
  for (const auto& [kind, count] : kinds)
    if (count > 3) std::printf("%4d %s\n", count, kind.c_str());
  std::printf("before: %s\nafter:  %s\n", before.ToString().c_str(), after.ToString().c_str());
#if !defined(PENSTOCK_ASAN)  // ASan keeps freed memory
  EXPECT_LE(after.private_bytes, before.private_bytes + (24u << 20));
#endif
  EXPECT_EQ(daemon_->Kill(SIGTERM), 0);
}

}  // namespace
}  // namespace penstock::testing
