// Invalid sessions and configurations get a clear error, and do no damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace fs = std::filesystem;

class RefusalTest : public ::testing::Test {
 protected:
  // Expects that the session is refused with this code and message, and that a valid session still
  // works.
  void ExpectRefused(const SessionOptions& options, Code code,
                     const ::testing::Matcher<std::string>& message) {
    const Result<Session> refused = client_.Open(options);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.status().code(), code) << refused.status().ToString();
    EXPECT_THAT(refused.status().message(), message);
    EXPECT_EQ(daemon_.Status().sessions(), 0u);
    EXPECT_EQ(daemon_.Status().pool().reserved_bytes(), 0u);
    EXPECT_EQ(OneEpoch(daemon_.address(), SmallRows(Photographs(24), 8)).rows.size(), 24u);
  }

  TemporaryDirectory scratch_;
  DaemonProcess daemon_{{.workers = 1}};
  Client client_ = Client::Connect({.address = daemon_.address()}).OrDie();
};

TEST_F(RefusalTest, BatchSizeZero) {
  ExpectRefused(SmallRows(Photographs(24), 0), Code::kInvalidArgument,
                AllOf(HasSubstr("batch_size"), HasSubstr("got 0")));
}

TEST_F(RefusalTest, AMissingDataset) {
  ExpectRefused(SmallRows("/nonexistent/photographs", 4), Code::kNotFound,
                HasSubstr("/nonexistent/photographs"));
}

TEST_F(RefusalTest, AnEmptyDataset) {
  ExpectRefused(SmallRows(scratch_.path(), 4), Code::kNotFound, HasSubstr(scratch_.path()));
}

TEST_F(RefusalTest, APathThatClimbs) {
  ExpectRefused(SmallRows(Photographs(24) + "/../24", 4), Code::kPermissionDenied,
                HasSubstr("has a '..'"));
}

TEST_F(RefusalTest, ARankOutsideTheWorld) {
  SessionOptions options = SmallRows(Photographs(24), 4);
  options.rank = 2;
  options.world_size = 2;
  ExpectRefused(options, Code::kInvalidArgument, HasSubstr("rank"));
}

TEST_F(RefusalTest, AStateOfAnotherFeed) {
  SessionOptions options = SmallRows(Photographs(24), 4);
  {
    Session session = client_.Open(options).OrDie();
    (void)session.Next();
    options.state = session.state();
  }
  options.flip_probability = 0.25;
  ExpectRefused(options, Code::kFailedPrecondition, HasSubstr("fingerprint"));
}

TEST(UnreadableTest, ADatasetThatTheDaemonsUserMayNotReadIsNamed) {
  const bool root = geteuid() == 0;  // root may read everything, so the daemon needs another user
  TemporaryDirectory scratch;
  fs::permissions(scratch.path(), fs::perms(0755));
  const std::string closed = scratch.path() + "/closed", open = scratch.path() + "/open";
  fs::copy(Photographs(24), open, fs::copy_options::recursive);
  fs::copy(Photographs(24), closed, fs::copy_options::recursive);
  const std::string first_class = fs::directory_iterator(closed)->path();
  DaemonProcess daemon({.workers = 1, .user = {.user = root ? 65534u : 0u}});
  Client client = Client::Connect({.address = daemon.address()}).OrDie();

  for (const std::string& folder : {first_class, closed}) {
    fs::permissions(folder, fs::perms::none);
    const Result<Session> refused = client.Open(SmallRows(closed, 4));
    EXPECT_EQ(refused.status().code(), Code::kPermissionDenied) << refused.status().ToString();
    EXPECT_THAT(refused.status().message(), HasSubstr(folder));
  }

  EXPECT_EQ(OneEpoch(daemon.address(), SmallRows(open, 8)).rows.size(), 24u);
  fs::permissions(closed, fs::perms(0755));
  fs::permissions(first_class, fs::perms(0755));
}

// A daemon with its own configuration, whose datasets are in `root()`.
class ConfiguredTest : public ::testing::Test {
 protected:
  ConfiguredTest() {
    fs::create_directory(root());
    fs::copy(Photographs(24), root() + "/good", fs::copy_options::recursive);
  }

  std::string root() const { return scratch_.path() + "/root"; }
  std::string Config(const std::vector<std::string>& names) const {
    std::string text = "server: {socket: SOCKET, group: '', state_dir: ''}\npool: {max: 16MiB}\n" +
                       ("source: {roots: [" + root() + "]}\ndatasets:\n");
    for (const std::string& name : names)
      text += "  - {name: " + name + ", folder: " + root() + "/" + name + "}\n";
    return text;
  }
  static Status Refusal(const std::string& address, const SessionOptions& options) {
    Client client = Client::Connect({.address = address}).OrDie();
    return client.Open(options).status();
  }
  void ExpectGoodIsServed(DaemonProcess& daemon) {
    EXPECT_EQ(OneEpoch(daemon.address(), SmallRows("good", 8)).rows.size(), 24u);
  }

  TemporaryDirectory scratch_;
};

TEST_F(ConfiguredTest, AnUnknownDatasetIsRefusedWithTheKnownOnes) {
  DaemonProcess daemon({.workers = 1, .config = Config({"good", "other"})});

  const Status unknown = Refusal(daemon.address(), SmallRows("flowers", 8));

  EXPECT_EQ(unknown.code(), Code::kNotFound) << unknown.ToString();
  EXPECT_THAT(unknown.message(), HasSubstr("no dataset 'flowers' that user"));
  EXPECT_THAT(unknown.message(), HasSubstr("may open; known are: good, other;"));
  ExpectGoodIsServed(daemon);
}

TEST_F(ConfiguredTest, APathIsRefusedAlsoOneThatIsADatasets) {
  DaemonProcess daemon({.workers = 1, .config = Config({"good"})});

  const Status path = Refusal(daemon.address(), SmallRows(root() + "/good", 8));

  EXPECT_EQ(path.code(), Code::kPermissionDenied) << path.ToString();
  EXPECT_THAT(path.message(), HasSubstr("only by name"));
  ExpectGoodIsServed(daemon);
}

TEST_F(ConfiguredTest, WhatLiesOutsideOfTheRootsIsRefusedWhereverALinkHidesIt) {
  const std::string outside = scratch_.path() + "/outside";
  fs::copy(Photographs(24), outside, fs::copy_options::recursive);
  fs::create_symlink(outside, root() + "/linked");
  fs::copy(Photographs(24), root() + "/class", fs::copy_options::recursive);
  fs::create_symlink(fs::directory_iterator(outside)->path(), root() + "/class/zebra");
  fs::copy(Photographs(24), root() + "/sample", fs::copy_options::recursive);
  const auto photograph = *++fs::recursive_directory_iterator(outside);
  fs::create_symlink(photograph.path(),
                     fs::directory_iterator(root() + "/sample")->path() / "zebra.jpg");
  DaemonProcess daemon({.workers = 1, .config = Config({"good", "linked", "class", "sample"})});

  for (const std::string name : {"linked", "class", "sample"}) {
    const Status refused = Refusal(daemon.address(), SmallRows(name, 8));
    EXPECT_EQ(refused.code(), Code::kPermissionDenied) << name << ": " << refused.ToString();
    EXPECT_THAT(refused.message(), AllOf(HasSubstr("root"), HasSubstr(outside))) << name;
  }
  ExpectGoodIsServed(daemon);
}

TEST_F(ConfiguredTest, WithoutRootsADatasetsOwnFolderIsOne) {
  const std::string config = "server: {socket: SOCKET, group: '', state_dir: ''}\ndatasets:\n" +
                             ("  - {name: good, folder: " + root() + "/good}\n");
  DaemonProcess daemon({.workers = 1, .config = config});

  ExpectGoodIsServed(daemon);
  fs::create_symlink("/etc", root() + "/good/zebra");
  EXPECT_EQ(Refusal(daemon.address(), SmallRows("good", 8)).code(), Code::kPermissionDenied);
}

TEST_F(ConfiguredTest, AWindowLargerThanThePoolIsRefusedWithTheNumbers) {
  DaemonProcess daemon({.workers = 1, .config = Config({"good"})});
  SessionOptions options = SmallRows("good", 32);
  options.random_crop = RandomResizedCrop{.height = 224, .width = 224};  // 4.6 MiB per batch
  options.window = 4;

  const Status refused = Refusal(daemon.address(), options);

  EXPECT_EQ(refused.code(), Code::kResourceExhausted) << refused.ToString();
  EXPECT_THAT(refused.message(), AllOf(HasSubstr("window needs 4 more slots of 4.6 MiB"),
                                       HasSubstr("pool's 16.0 MiB")));
  EXPECT_EQ(daemon.Status().pool().reserved_bytes(), 0u);
  options.window = 3;
  EXPECT_EQ(OneEpoch(daemon.address(), options).rows.size(), 24u);
}

TEST_F(ConfiguredTest, OneSessionMoreThanFitsIsRefusedAndTheOthersGoOn) {
  DaemonProcess daemon({.workers = 1, .config = Config({"good"})});
  SessionOptions options = SmallRows("good", 32);
  options.random_crop = RandomResizedCrop{.height = 224, .width = 224};
  options.window = 2;
  Client client = Client::Connect({.address = daemon.address()}).OrDie();
  Session first = client.Open(options).OrDie();

  const Status refused = client.Open(options).status();

  EXPECT_EQ(refused.code(), Code::kResourceExhausted) << refused.ToString();
  Delivered got;
  EXPECT_EQ(TakeBatches(first, 10, got).code(), Code::kEndOfEpoch);
  EXPECT_EQ(got.rows.size(), 24u);
}

TEST_F(ConfiguredTest, AWrongConfigurationEndsTheDaemonWithFileLineAndWhatWasExpected) {
  const std::string path = scratch_.path() + "/penstock.yaml";
  std::ofstream(path) << "pool:\n  max: 4\n";
  const std::string words = path + ":2: pool.max: got '4', wanted a size";

  for (const char* argument : {"--config", "--check-config"}) {
    const Ended ended = RunProgram("penstockd", {argument, path});
    EXPECT_EQ(ended.exit_code, 2);
    EXPECT_THAT(ended.output, AllOf(StartsWith("penstockd: " + words), EndsWith("\n")));
    EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 1) << ended.output;
  }
}

TEST_F(ConfiguredTest, AMissingRootEndsTheStartWithItsKeyAndWhatToDo) {
  const std::string path = scratch_.path() + "/penstock.yaml";
  const std::string server = "server: {socket: " + scratch_.path() + "/run/s, group: ''}\n";
  const std::string good = "{name: good, folder: " + root() + "/good}";
  for (const auto& [key, text] : std::vector<std::pair<std::string, std::string>>{
           {"source.roots[1]: /none/at/all: ",
            "source: {roots: [" + root() + ", /none/at/all]}\ndatasets: [" + good + "]\n"},
           {"datasets[1].folder: /none/at/all: ",
            "datasets: [" + good + ", {name: gone, folder: /none/at/all}]\n"}}) {
    std::ofstream(path) << server + text;
    const Ended ended = RunProgram("penstockd", {"--config", path});
    EXPECT_EQ(ended.exit_code, 2);
    EXPECT_THAT(ended.output,
                HasSubstr(key + "No such file or directory; mount it, or correct the config"));
    EXPECT_FALSE(fs::exists(scratch_.path() + "/run/s"));

    const Ended checked = RunProgram("penstockd", {"--check-config", path});
    EXPECT_EQ(checked.exit_code, 2);
    EXPECT_THAT(checked.output, HasSubstr(key));
    const Ended found = RunProgram("penstockctl", {"check", "--config", path});
    EXPECT_EQ(found.exit_code, 1);
    EXPECT_THAT(found.output, HasSubstr(key));
  }
}

TEST_F(ConfiguredTest, TheCheckFindsADaemonThatServesAndItsDatasets) {
  DaemonProcess daemon({.workers = 1, .config = Config({"good", "gone"})});

  const Ended checked = daemon.Ctl({"check"});

  EXPECT_EQ(checked.exit_code, 1);
  EXPECT_THAT(checked.output, HasSubstr("serving at " + daemon.address()));
  EXPECT_THAT(checked.output, ContainsRegex("ok +dataset good +" + root() + "/good"));
  EXPECT_THAT(checked.output, ContainsRegex("problem +dataset gone +" + root() + "/gone: No such"));
}

TEST_F(ConfiguredTest, BelowARootThatIsThereADatasetMayBeMissingAndTheOthersAreServed) {
  DaemonProcess daemon({.workers = 1, .config = Config({"good", "gone"})});

  const Status refused = Refusal(daemon.address(), SmallRows("gone", 8));

  EXPECT_EQ(refused.code(), Code::kNotFound) << refused.ToString();
  EXPECT_THAT(refused.message(), HasSubstr(root() + "/gone"));
  ExpectGoodIsServed(daemon);
}

TEST_F(ConfiguredTest, AReloadToAMissingRootIsRefusedAndTheOldOnesAreServed) {
  const std::string config = "server: {socket: SOCKET, group: '', state_dir: ''}\ndatasets:\n" +
                             ("  - {name: good, folder: " + root() + "/good}\n");
  DaemonProcess daemon({.workers = 1, .config = config});

  daemon.Rewrite(config + "  - {name: gone, folder: /none/at/all}\n");
  const Ended reload = daemon.Ctl({"reload"});

  EXPECT_EQ(reload.exit_code, 1);
  EXPECT_THAT(reload.output, HasSubstr("datasets[1].folder: /none/at/all: No such file"));
  ExpectGoodIsServed(daemon);
}

TEST_F(ConfiguredTest, AGroupThatDoesNotExistIsNamed) {
  const std::string path = scratch_.path() + "/penstock.yaml";
  for (const std::string& text :
       {"server: {socket: " + scratch_.path() + "/run/s, group: nobodys}\n",
        "server: {socket: " + scratch_.path() +
            "/run/s, group: ''}\ndatasets: [{name: a, folder: /a, "
            "groups: [nobodys]}]\n"}) {
    std::ofstream(path) << text;
    const Ended ended = RunProgram("penstockd", {"--config", path});
    EXPECT_EQ(ended.exit_code, 2);
    EXPECT_THAT(ended.output, HasSubstr("there is no group 'nobodys'"));
    EXPECT_FALSE(fs::exists(scratch_.path() + "/run/s"));
  }
}

}  // namespace
}  // namespace penstock::testing
