// A dataset with storage trouble beside a healthy one: shared by the tests of this folder.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/files/array_maker.h"
#include "tests/support/files/record_maker.h"
#include "tests/support/files/tar_maker.h"
#include "tests/support/files/temp_folder.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/http_get.h"
#include "tests/support/programs/preload.h"
#include "tests/support/programs/trainer.h"
#include "tests/support/programs/trainer_process.h"

namespace penstock::testing {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

inline constexpr int kImages = 64;  // of the dataset in trouble
inline constexpr uint64_t kHealthyImages = 80;
inline constexpr uint64_t kEpochs = 50;  // of the healthy dataset; they take seconds
inline constexpr uid_t kStranger = 54321;
inline constexpr gid_t kGroup = 54322;
// The asserted bounds are generous, because other processes may use the machine.
inline constexpr double kGenerous = 1.5;
inline constexpr seconds kAllowance(1);

inline double Since(steady_clock::time_point begun) {
  return std::chrono::duration<double>(steady_clock::now() - begun).count();
}

inline std::string BytesOf(const fs::path& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

class StallTest : public ::testing::Test {
 protected:
  StallTest() {
    MakeData();
    setenv("PENSTOCK_TEST_FOLDER", folder_.At("a").c_str(), 1);
    preload_.emplace(PENSTOCK_HANGING_READS);
  }
  ~StallTest() override {
    ComeBack();
    fs::remove(folder_.At("state.away"));
  }

  // Writes the same photographs as each kind of dataset, and an array.
  void MakeData() {
    folder_.MakeFolder("a");
    fs::copy(Photographs(kImages), folder_.At("a/folder"), fs::copy_options::recursive);
    fs::copy(Photographs(kHealthyImages), folder_.At("b"), fs::copy_options::recursive);
    std::string tar, records;
    int number = 0;
    for (const auto& entry : fs::recursive_directory_iterator(Photographs(kImages))) {
      if (!entry.is_regular_file()) continue;
      const std::string bytes = BytesOf(entry.path());
      tar += TarFile(std::to_string(number) + ".jpg", bytes);
      records += ImageRecord(bytes, number++);
    }
    folder_.Write("a/x.tar", tar + TarEnd());
    folder_.Write("a/x.tfrecord", records);
    folder_.Write("a/x.npy", Npy("|u1", "(" + std::to_string(kImages) + ", 64, 64, 3)",
                                 std::string(size_t{kImages} * 64 * 64 * 3, 'x')));
  }

  void Start(const std::string& retry_for = "60s") {
    port_ = FreePort();
    const auto path = [this](const std::string& name) { return folder_.At(name); };
    daemon_.emplace(DaemonProcess::Options{
        .workers = 2,
        .config = "server: {socket: SOCKET, group: '" + std::to_string(kGroup) + "', state_dir: '" +
                  state_dir_ + "', metrics_address: '127.0.0.1:" + std::to_string(port_) +
                  "'}\nworkers: {count: 2}\n" + more_config_ + "source: {retry_for: " + retry_for +
                  ", carriers: 1}\ndatasets:\n- {name: b, folder: " + path("b") +
                  "}\n- {name: folder, folder: " + path("a/folder") +
                  "}\n- {name: tar, tar: {shards: ['" + path("a/x.tar") +
                  "']}}\n- {name: tfrecord, tfrecord: {shards: ['" + path("a/x.tfrecord") +
                  "']}}\n- {name: npy, npy: {arrays: [{name: image, file: " + path("a/x.npy") +
                  "}]}}\n"});
  }

  void GoAway() { std::ofstream(folder_.At("a.away")) << "away"; }
  void Break() { std::ofstream(folder_.At("a.broken")) << "broken"; }
  void ComeBack() {
    fs::remove(folder_.At("a.away"));
    fs::remove(folder_.At("a.broken"));
  }
  bool SomeReadHangs() const { return fs::exists(folder_.At("a.hung")); }
  bool RunnerRead() const { return fs::exists(folder_.At("a.runner")); }

  Client Connect() { return Client::Connect({.address = daemon_->address()}).OrDie(); }
  SessionOptions OptionsOf(const std::string& dataset) const {
    SessionOptions options = SmallRows(dataset, 8);
    if (dataset == "npy") {
      options.random_crop.reset();
      options.flip_probability = 0;
    }
    options.epochs = 0;
    return options;
  }

  // Returns how long the healthy dataset takes, or 30 s if it takes longer.
  double TimeHealthy() {
    const auto begun = steady_clock::now();
    SessionOptions options = OptionsOf("b");
    options.epochs = kEpochs;
    Client client = Connect();
    Session session = client.Open(options).OrDie();
    uint64_t rows = 0;
    Status end;
    while (Since(begun) < 30 &&
           (end.ok() || end.code() == Code::kEndOfEpoch || end.code() == Code::kDeadlineExceeded)) {
      const Result<Batch> batch = session.Next(milliseconds(500));
      if (batch.ok()) rows += batch->valid_rows();
      end = batch.status();
    }
    EXPECT_EQ(end.code(), Code::kEndOfData) << end.message();
    EXPECT_EQ(rows, kEpochs * kHealthyImages);
    return Since(begun);
  }

  void ExpectToAnswer() {
    auto begun = steady_clock::now();
    const Ended status = daemon_->Ctl({"status"});
    const double by_ctl = Since(begun);
    EXPECT_EQ(status.exit_code, 0) << status.output;
    begun = steady_clock::now();
    daemon_->Sessions();
    const double sessions = Since(begun);
    begun = steady_clock::now();
    EXPECT_THAT(Scrape(port_), ::testing::HasSubstr("penstock_stalled_reads"));
    const double metrics = Since(begun);
    std::printf("penstockctl status %.0f ms, sessions %.0f ms, metrics %.0f ms\n", 1e3 * by_ctl,
                1e3 * sessions, 1e3 * metrics);
    EXPECT_LT(std::max({by_ctl, sessions, metrics}), 2.0);
  }

  // Compares the healthy dataset's time beside the other one with its time alone.
  void ExpectNoHarm(const std::string& what, double alone) {
    const double beside = TimeHealthy();
    std::printf("%s: the healthy one took %.2f s alone, %.2f s beside it: %.3f\n", what.c_str(),
                alone, beside, beside / alone);
    EXPECT_LT(beside, kGenerous * alone + kAllowance.count()) << what;
    ExpectToAnswer();
  }

  void MoveClasses(const std::string& from, const std::string& to) {
    folder_.MakeFolder(to);
    std::vector<fs::path> classes;
    for (const auto& entry : fs::directory_iterator(folder_.At(from)))
      classes.push_back(entry.path());
    for (const fs::path& path : classes)
      fs::rename(path, fs::path(folder_.At(to)) / path.filename());
  }

  std::string StateOfOther(const std::string& dataset) {
    const v1::ListSessionsResponse all = daemon_->Sessions();
    for (const v1::SessionStatus& session : all.sessions())
      if (session.dataset() == dataset) return session.state();
    return "";
  }

  void ExpectState(const std::string& dataset, const std::string& reason) {
    EXPECT_TRUE(daemon_->Eventually([&] {
      const std::string state = StateOfOther(dataset);
      return state.starts_with("source stalled for") && state.find(reason) != std::string::npos;
    })) << StateOfOther(dataset);
  }

  std::optional<Preload> preload_;
  TempFolder folder_;
  std::string state_dir_;    // empty: none
  std::string more_config_;  // whole lines
  uint16_t port_ = 0;
  std::optional<DaemonProcess> daemon_;
};

// Takes batches in its own thread until End() or the end of the session.
class Taker {
 public:
  explicit Taker(Session session) : session_(std::move(session)), thread_([this] { Run(); }) {}
  ~Taker() { (void)End(); }
  Status End() {
    ending_ = true;
    if (thread_.joinable()) thread_.join();
    return end_;
  }
  Status WaitForEnd() {
    if (thread_.joinable()) thread_.join();
    return end_;
  }
  uint64_t batches() const { return batches_; }
  // The batches that it took. Valid after End() or WaitForEnd().
  const Delivered& delivered() const { return delivered_; }

 private:
  void Run() {
    while (!ending_) {
      const Result<Batch> batch = session_.Next(milliseconds(50));
      if (batch.ok()) Note(*batch, delivered_), ++batches_;
      end_ = batch.status();
      if (!end_.ok() && end_.code() != Code::kEndOfEpoch && end_.code() != Code::kDeadlineExceeded)
        return;
    }
  }
  Session session_;
  Delivered delivered_;
  std::atomic<bool> ending_ = false;
  std::atomic<uint64_t> batches_ = 0;
  Status end_;
  std::thread thread_;
};

}  // namespace penstock::testing
