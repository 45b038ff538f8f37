// Checks that the runner thread touches no file, and takes no lock under which another thread
// touches one. A library preloaded into the daemon watches the thread while the daemon does all
// kinds of work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kImages = 24;

std::string BytesOf(const fs::path& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

class RunnerTest : public ::testing::Test {
 protected:
  RunnerTest() {
    MakeData();
    setenv("PENSTOCK_TEST_RUNNER", folder_.At("findings").c_str(), 1);
    preload_.emplace(PENSTOCK_WATCHED_RUNNER);
    Start();
  }
  ~RunnerTest() override { unsetenv("PENSTOCK_TEST_RUNNER"); }

  void MakeData() {
    fs::copy(Photographs(kImages), folder_.At("images"), fs::copy_options::recursive);
    std::string tar, records;
    int number = 0;
    for (const auto& entry : fs::recursive_directory_iterator(Photographs(kImages))) {
      if (!entry.is_regular_file()) continue;
      const std::string bytes = BytesOf(entry.path());
      tar += TarFile(std::to_string(number) + ".jpg", bytes);
      records += ImageRecord(bytes, number++);
    }
    // Damaged samples make the daemon write the quarantine and look up the samples' names.
    for (const auto& entry : fs::directory_iterator(folder_.At("images")))
      std::ofstream(entry.path() / "damaged.jpg") << "no photograph";
    tar += TarFile("damaged.jpg", "no photograph");
    folder_.Write("x.tar", tar + TarEnd());
    folder_.Write("x.tfrecord", records);
    folder_.Write("x.npy", Npy("|u1", "(" + std::to_string(kImages) + ", 64, 64, 3)",
                               std::string(size_t{kImages} * 64 * 64 * 3, 'x')));
    folder_.Write("tokens.bin", std::string(4096, 'x'));
  }

  void ReplaceData() const {
    for (const char* name : {"x.tar", "x.tfrecord", "x.npy", "tokens.bin"}) {
      fs::copy_file(folder_.At(name), folder_.At("new"));
      fs::rename(folder_.At("new"), folder_.At(name));
    }
    const fs::path images = folder_.At("images");
    fs::remove(fs::directory_iterator(images)->path() / "damaged.jpg");
  }

  void Start() {
    port_ = FreePort();
    const auto path = [this](const std::string& name) { return folder_.At(name); };
    daemon_.emplace(DaemonProcess::Options{
        .workers = 2,
        .config = "server: {socket: SOCKET, group: '', state_dir: " + path("state") +
                  ", metrics_address: '127.0.0.1:" + std::to_string(port_) +
                  "'}\nworkers: {count: 2}\ndatasets:\n- {name: folder, "
                  "folder: " +
                  path("images") + "}\n- {name: tar, tar: {shards: ['" + path("x.tar") +
                  "']}}\n- {name: tfrecord, tfrecord: {shards: ['" + path("x.tfrecord") +
                  "']}}\n- {name: npy, npy: {arrays: [{name: image, file: " + path("x.npy") +
                  "}]}}\n- {name: tokens, tokens: {files: ['" + path("tokens.bin") +
                  "'], length: 64}}\n- {name: noise, synthetic: {samples: 64}}\n"});
  }

  SessionOptions OptionsOf(const std::string& dataset) const {
    if (dataset == "folder" || dataset == "tar" || dataset == "tfrecord")
      return SmallRows(dataset, 8);
    SessionOptions options;
    options.dataset = dataset;
    options.batch_size = 8;
    return options;
  }

  void AskEverything() {
    for (const std::vector<std::string>& each : std::vector<std::vector<std::string>>{
             {"status"}, {"sessions"}, {"workers"}, {"datasets"}, {"quarantine", "list"}})
      EXPECT_EQ(daemon_->Ctl(each).exit_code, 0) << each[0];
    EXPECT_THAT(Scrape(port_), HasSubstr("penstock_stalled_reads"));
  }

  void TakeAnEpoch(const std::string& dataset) {
    Client client = Client::Connect({.address = daemon_->address()}).OrDie();
    SessionOptions options = OptionsOf(dataset);
    options.epochs = 1;
    Session session = client.Open(options).OrDie();
    EXPECT_TRUE(session.Next(std::chrono::seconds(10)).ok()) << dataset;
    AskEverything();
    (void)session.Stats();
    Status end;
    do end = session.Next(std::chrono::seconds(10)).status();
    while (end.ok() || end.code() == Code::kEndOfEpoch);
    EXPECT_EQ(end.code(), Code::kEndOfData) << dataset << ": " << end.message();
  }

  std::string Findings() const { return BytesOf(folder_.At("findings")); }
  void ExpectNoFinding(const std::string& after) const {
    EXPECT_THAT(Findings(), HasSubstr("other touches files"));  // the library works
    EXPECT_THAT(Findings(), Not(HasSubstr("runner"))) << after;
  }

  std::optional<Preload> preload_;
  TempFolder folder_;
  uint16_t port_ = 0;
  std::optional<DaemonProcess> daemon_;
};

TEST_F(RunnerTest, TouchesNoFileOverAnEpochOfEveryKindWhateverIsAsked) {
  for (const char* kind : {"folder", "tar", "tfrecord", "npy", "tokens", "noise"}) {
    TakeAnEpoch(kind);
    ExpectNoFinding(kind);
  }
}

TEST_F(RunnerTest, TouchesNoFileForBadSamplesNorForWhoClearsThem) {
  TakeAnEpoch("folder");
  EXPECT_TRUE(daemon_->Eventually([&] { return daemon_->Quarantine().entries_size() > 0; }));
  EXPECT_TRUE(daemon_->Eventually([&] {
    return fs::exists(folder_.At("state/quarantine")) &&
           !fs::is_empty(folder_.At("state/quarantine"));
  }));
  EXPECT_EQ(daemon_->Ctl({"quarantine", "clear", "folder"}).exit_code, 0);

  ExpectNoFinding("bad samples");
}

// The last close of a file on a FUSE server waits for that server.
TEST_F(RunnerTest, ClosesNoFileOfADatasetThatWasReplacedWhileItWasInUse) {
  for (const char* kind : {"tar", "tfrecord", "npy", "tokens", "folder"}) {
    Client client = Client::Connect({.address = daemon_->address()}).OrDie();
    std::optional<Session> session = client.Open(OptionsOf(kind)).OrDie();
    EXPECT_TRUE(session->Next(std::chrono::seconds(10)).ok()) << kind;
    ReplaceData();
    TakeAnEpoch(kind);
    session.reset();
    EXPECT_TRUE(daemon_->Eventually([&] { return daemon_->Sessions().sessions().empty(); }));
    ExpectNoFinding(kind);
  }
}

TEST_F(RunnerTest, TouchesNoFileWhenWorkersDieTrainersAreGoneAndItEnds) {
  {
    TrainerProcess trainer(daemon_->address(), "tar", "hold");
    for (const pid_t worker : daemon_->WorkerPids()) kill(worker, SIGKILL);
    TakeAnEpoch("folder");
    trainer.Kill();
  }
  EXPECT_EQ(daemon_->Ctl({"trace", "--seconds", "0.2", "-o", folder_.At("trace")}).exit_code, 0);
  EXPECT_EQ(daemon_->Ctl({"workers", "--set", "3"}).exit_code, 0);
  EXPECT_EQ(daemon_->Ctl({"reload"}).exit_code, 0);
  EXPECT_EQ(daemon_->Kill(SIGTERM), 0);

  ExpectNoFinding("deaths and the end");
}

}  // namespace
}  // namespace penstock::testing
