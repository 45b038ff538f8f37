// Checkpoints of photographs through a real daemon: they are found, they change no byte, and they
// outlive the daemon.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/support/files/temp_folder.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/http_get.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kImages = 120;
constexpr int kEpochs = 3;

SessionOptions CropsOf(uint64_t seed) {
  SessionOptions options = SmallRows("photographs", 8);
  options.random_crop = RandomResizedCrop{.height = 64, .width = 64, .scale_max = 0.3};
  options.seed = seed;
  return options;
}

class CheckpointsDaemonTest : public ::testing::Test {
 protected:
  CheckpointsDaemonTest() {
    fs::copy(Photographs(kImages), photographs_, fs::copy_options::recursive);
  }

  DaemonProcess::Options Options(const std::string& index_max) const {
    return {
        .workers = 2,
        .config = "server: {socket: SOCKET, group: '', state_dir: '" + folder_.At("state") +
                  "', metrics_address: '127.0.0.1:" + std::to_string(port_) +
                  "'}\npool: {max: 64MiB}\nworkers: {count: 2}\ndecode: {index_max: " + index_max +
                  "}\ndatasets: [{name: photographs, folder: " + photographs_ + "}]\n"};
  }
  double Value(const std::string& series) const { return ValueOf(Scrape(port_), series); }
  double Found() const { return Value("penstock_checkpoint_hits_total"); }

  // What several epochs deliver, each with other crops.
  static std::vector<Delivered> Epochs(const DaemonProcess& daemon) {
    std::vector<Delivered> epochs;
    for (uint64_t seed = 1; seed <= kEpochs; ++seed)
      epochs.push_back(OneEpoch(daemon.address(), CropsOf(seed)));
    return epochs;
  }
  std::vector<Delivered> WithoutCheckpoints() const {
    DaemonProcess daemon(Options("0B"));
    std::vector<Delivered> epochs = Epochs(daemon);
    EXPECT_EQ(Value("penstock_checkpoint_lookups_total"), 0);
    return epochs;
  }

  const uint16_t port_ = FreePort();
  TempFolder folder_;
  const std::string photographs_ = folder_.At("photographs");
};

TEST_F(CheckpointsDaemonTest, AreFoundFromTheSecondEpochOnAndChangeNoByte) {
  const std::vector<Delivered> expected = WithoutCheckpoints();
  DaemonProcess daemon(Options("1MiB"));
  EXPECT_TRUE(Epochs(daemon) == expected);
  EXPECT_EQ(Value("penstock_checkpoint_lookups_total"), kEpochs * kImages);
  EXPECT_GT(Found(), 1.5 * kImages);
  EXPECT_LE(Found(), (kEpochs - 1) * kImages);
  EXPECT_GT(Value("penstock_checkpoint_bytes"), 0);
  EXPECT_LE(Value("penstock_checkpoint_bytes"), Value("penstock_checkpoint_max_bytes"));
}

TEST_F(CheckpointsDaemonTest, AreFoundAgainAfterARestart) {
  DaemonProcess daemon(Options("1MiB"));
  const std::vector<Delivered> before = Epochs(daemon);
  EXPECT_EQ(daemon.Kill(SIGTERM), 0);
  ASSERT_FALSE(fs::is_empty(folder_.At("state/checkpoints")));

  daemon.Start();
  std::vector<Delivered> after = Epochs(daemon);
  EXPECT_TRUE(after == before);
  EXPECT_GT(Found(), (kEpochs - 1) * kImages);  // some already in the first epoch
}

TEST_F(CheckpointsDaemonTest, OfAFileThatWasReplacedAreNotUsed) {
  DaemonProcess daemon(Options("1MiB"));
  Epochs(daemon);
  daemon.Kill(SIGTERM);

  // The photographs change places, with sizes and times as before: the dataset seems to be the
  // same.
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(photographs_))
    if (entry.is_regular_file()) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  int swapped = 0;
  for (size_t i = 0; i + 1 < paths.size(); i += 2) {
    const auto read = [](const fs::path& path) {
      std::ifstream file(path, std::ios::binary);
      return std::string(std::istreambuf_iterator<char>(file), {});
    };
    const std::string first = read(paths[i]), second = read(paths[i + 1]);
    // Bytes behind the end of an image mean nothing.
    const size_t larger = first.size() > second.size() ? i : i + 1;
    const std::string& smaller = first.size() > second.size() ? second : first;
    const auto time = fs::last_write_time(paths[larger]);
    std::ofstream(paths[larger], std::ios::binary)
        << smaller << std::string(std::max(first.size(), second.size()) - smaller.size(), '\0');
    fs::last_write_time(paths[larger], time);
    ++swapped;
  }
  ASSERT_GT(swapped, 40);

  daemon.Start();
  const std::vector<Delivered> got = Epochs(daemon);
  daemon.Kill(SIGTERM);
  EXPECT_TRUE(got == WithoutCheckpoints());
}

TEST_F(CheckpointsDaemonTest, AKilledDaemonsFilesAreOfUseOrNone) {
  const std::vector<Delivered> expected = WithoutCheckpoints();
  DaemonProcess daemon(Options("1MiB"));
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(Epochs(daemon) == expected);
    daemon.Kill(SIGKILL);
    daemon.Start();
  }
}

}  // namespace
}  // namespace penstock::testing
