// The small parts of the daemon: readiness, idle time and reloads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <string>
#include <vector>

#include "server/app/health.h"
#include "server/app/idle_time.h"
#include "server/app/reloads.h"

namespace penstock::app {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr base::TimePoint kLook{seconds(1000)};

TEST(IdleTimeTest, ItCountsFromTheFirstLookAndBeginsAnewWheneverTheDaemonIsNeeded) {
  IdleTime idle;

  EXPECT_EQ(idle.Update(false, kLook), seconds(0));
  EXPECT_EQ(idle.Update(false, kLook + seconds(5)), seconds(5));
  EXPECT_EQ(idle.Update(true, kLook + seconds(6)), seconds(0));
  EXPECT_EQ(idle.Update(false, kLook + seconds(8)), seconds(2));
}

class HealthTest : public ::testing::Test {
 protected:
  std::vector<bool> published_;
  Health health_{[this](bool serves) { published_.push_back(serves); }};
};

TEST_F(HealthTest, ItServesOnceItIsReady) {
  EXPECT_FALSE(health_.serves());

  health_.SetReady(true);
  health_.SetReady(true);

  EXPECT_THAT(published_, ElementsAre(true));
}

TEST_F(HealthTest, ADrainMayBeTakenBack) {
  health_.SetReady(true);
  health_.SetDraining(true);
  health_.SetDraining(false);

  EXPECT_THAT(published_, ElementsAre(true, false, true));
}

TEST_F(HealthTest, AFailureIsForGood) {
  health_.Fail();
  health_.SetReady(true);
  health_.SetDraining(true);
  health_.SetDraining(false);

  EXPECT_FALSE(health_.serves());
}

class ReloadsTest : public ::testing::Test {
 protected:
  static config::v1::Config Config(const std::string& dataset) {
    config::v1::Config config;
    auto& added = *config.add_datasets();
    added.set_name(dataset);
    added.set_folder("/data/" + dataset);
    return config;
  }
  Reloads Make() {
    return Reloads({.config = Config("a"),
                    .file = file_,
                    .read = [this]() -> absl::StatusOr<ConfigFile> {
                      if (!next_.ok()) return next_.status();
                      return ConfigFile{.config = *next_};
                    },
                    .check = [this](const ConfigFile&) { return check_; },
                    .apply = [this](const config::v1::Config&,
                                    DatasetOffer offer) { applied_.push_back(std::move(offer)); }});
  }
  void Ask(Reloads& reloads, const rpc::MeantFile& file = {}) {
    reloads.Ask(
        [this](const absl::StatusOr<v1::ReloadResponse>& answer) { answers_.push_back(answer); },
        {}, file);
  }

  std::string file_ = {};
  absl::StatusOr<config::v1::Config> next_ = Config("b");
  absl::Status check_;
  std::vector<DatasetOffer> applied_;
  std::vector<absl::StatusOr<v1::ReloadResponse>> answers_;
};

TEST_F(ReloadsTest, WhatChangedIsAppliedAndNamed) {
  Reloads reloads = Make();

  const auto changed = reloads.Reload({});

  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_THAT(*changed, ::testing::Not(IsEmpty()));
  ASSERT_THAT(applied_, SizeIs(1));
  EXPECT_EQ(applied_[0].datasets[0].name, "b");
  EXPECT_EQ(reloads.config().datasets(0).name(), "b");
  EXPECT_THAT(*reloads.Reload({}), IsEmpty());  // it already applies
}

TEST_F(ReloadsTest, AFileThatCannotBeReadChangesNothing) {
  next_ = absl::InvalidArgumentError("line 3 is wrong");
  Reloads reloads = Make();

  EXPECT_THAT(std::string(reloads.Reload({}).status().message()), HasSubstr("line 3"));
  EXPECT_THAT(applied_, IsEmpty());
}

TEST_F(ReloadsTest, AConfigurationThatDoesNotFitTheMachineChangesNothing) {
  check_ = absl::NotFoundError("no such root");
  Reloads reloads = Make();

  EXPECT_EQ(reloads.Reload({}).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(reloads.config().datasets(0).name(), "a");
}

TEST_F(ReloadsTest, WhatNeedsARestartRefusesAllOfIt) {
  next_->mutable_server()->set_socket("/run/other.sock");
  Reloads reloads = Make();

  EXPECT_THAT(std::string(reloads.Reload({}).status().message()),
              HasSubstr("cannot change while the daemon runs"));
  EXPECT_THAT(applied_, IsEmpty());
}

TEST_F(ReloadsTest, ThoseWhoAskAtOnceGetOneAnswer) {
  Reloads reloads = Make();
  Ask(reloads);
  Ask(reloads);
  EXPECT_THAT(answers_, IsEmpty());

  reloads.AnswerAll();
  reloads.AnswerAll();

  EXPECT_THAT(answers_, SizeIs(2));
  EXPECT_THAT(applied_, SizeIs(1));
}

TEST_F(ReloadsTest, WhoeverMeansAnotherFileIsRefusedWithBothPaths) {
  file_ = "/proc/self/exe";
  struct stat ours = {};
  ASSERT_EQ(::stat(file_.c_str(), &ours), 0);
  Reloads reloads = Make();

  Ask(reloads, {.path = "/etc/other.yaml", .device = ours.st_dev, .inode = ours.st_ino + 1});
  reloads.AnswerAll();
  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_EQ(answers_[0].status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(answers_[0].status().message()),
              HasSubstr("reads /proc/self/exe, not /etc/other.yaml"));
  EXPECT_THAT(applied_, IsEmpty());

  Ask(reloads, {.path = "/another/name", .device = ours.st_dev, .inode = ours.st_ino});
  Ask(reloads, {.path = "/etc/other.yaml"});
  Ask(reloads);
  reloads.AnswerAll();
  EXPECT_THAT(answers_, SizeIs(4));
  EXPECT_THAT(applied_, SizeIs(1));
}

TEST_F(ReloadsTest, AtTheEndThoseWhoAskedAreRefused) {
  Reloads reloads = Make();
  Ask(reloads);

  reloads.RefuseAll(absl::UnavailableError("the daemon is ending"));

  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_EQ(answers_[0].status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(applied_, IsEmpty());
}

TEST_F(ReloadsTest, APrivateDaemonHasNothingToReadAgain) {
  Reloads reloads({.config = {}, .file = {}, .read = nullptr, .check = nullptr, .apply = nullptr});

  EXPECT_FALSE(reloads.can_reload());
  EXPECT_EQ(reloads.Reload({}).status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace penstock::app
