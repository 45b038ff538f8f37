// Gathers facts about the machine that runs the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/ctl/check/finding.h"
#include "common/posix/socket.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

v1::GetStatusResponse Serving() {
  v1::GetStatusResponse status;
  status.set_serving(true);
  status.set_version("1.2.3");
  status.mutable_pool()->set_max_bytes(100);
  status.mutable_pool()->set_segment_bytes(40);
  return status;
}

class GatherTest : public ::testing::Test {
 protected:
  testing::TempFolder folder_;
  std::string address_ = folder_.At("socket");
};

TEST_F(GatherTest, ThisMachineIsLookedAtWithoutADaemon) {
  const Facts facts = GatherFacts("/nowhere/penstock.sock", "");

  EXPECT_GE(facts.self.machine.Cores(), 1u);
  EXPECT_GT(facts.self.machine.available_bytes, 0u);
  EXPECT_TRUE(facts.memfd.ok()) << facts.memfd;
  EXPECT_TRUE(facts.pidfd.ok()) << facts.pidfd;
  EXPECT_TRUE(absl::IsNotFound(facts.daemon.status()));
  EXPECT_FALSE(facts.socket.has_value());
  EXPECT_FALSE(GradeFacts(facts).empty());
}

TEST_F(GatherTest, AConfigurationThatDoesNotExistIsAProblem) {
  const Facts facts = GatherFacts("/nowhere/penstock.sock", "/nowhere/penstock.yaml");

  EXPECT_FALSE(facts.config->second.ok());
}

TEST_F(GatherTest, ASocketWhereNobodyListensAnyMoreIsSeen) {
  { const auto gone = posix::Listen(address_, posix::SocketKind::kStream); }

  const Facts facts = GatherFacts(address_, "");

  EXPECT_TRUE(absl::IsNotFound(facts.daemon.status()));
  EXPECT_EQ(facts.socket->path, address_);
}

TEST_F(GatherTest, ASocketInAFolderThatWeMayNotEnterIsToldByTheFolder) {
  const auto listener = posix::Listen(address_, posix::SocketKind::kStream);
  ::chmod(folder_.path().c_str(), 0700);
  const testing::WithoutPrivileges nobody;
  if (::geteuid() != 65534) GTEST_SKIP() << "only root can make a folder that is another's";

  const Facts facts = GatherFacts(address_, "");

  EXPECT_TRUE(absl::IsPermissionDenied(facts.daemon.status())) << facts.daemon.status();
  EXPECT_EQ(facts.socket->path, folder_.path());
  EXPECT_EQ(facts.socket->mode, 0700u);
}

TEST_F(GatherTest, WhoListensIsTheKernelsWord) {
  const auto listener = posix::Listen(address_, posix::SocketKind::kStream);

  Facts facts = GatherFacts(address_, "");

  ASSERT_TRUE(facts.daemon.ok()) << facts.daemon.status();
  EXPECT_EQ(facts.daemon->user, ::geteuid());
  EXPECT_EQ(facts.daemon->process->pid, ::getpid());
  EXPECT_EQ(facts.process().pid, ::getpid());
  EXPECT_TRUE(facts.directory.ok()) << facts.directory;
  EXPECT_TRUE(facts.socket->caller_is_owner);
}

TEST_F(GatherTest, WhatTheDaemonAnswersIsAdded) {
  const auto listener = posix::Listen(address_, posix::SocketKind::kStream);
  Facts facts = GatherFacts(address_, "");
  v1::ListDatasetsResponse datasets;
  for (const std::string& path : {folder_.path(), folder_.At("none"), std::string("synthetic:1")}) {
    datasets.add_datasets()->set_path(path);
    datasets.mutable_datasets()->rbegin()->set_name("photos");
  }

  AddAnswers(Serving(), datasets, facts);

  EXPECT_TRUE(facts.daemon->serving.ok());
  EXPECT_EQ(facts.daemon->version, "1.2.3");
  ASSERT_THAT(facts.roots, SizeIs(3));
  EXPECT_TRUE(facts.roots[0].walk.ok()) << facts.roots[0].walk;
  EXPECT_NE(facts.roots[0].file_system, "");
  EXPECT_TRUE(absl::IsNotFound(facts.roots[1].walk)) << facts.roots[1].walk;
  EXPECT_EQ(facts.roots[2].place, "");
  EXPECT_THAT(GradeRoots(facts), SizeIs(2));
}

TEST_F(GatherTest, WhatTheDaemonSeesCountsAndNotWhatWeSee) {
  const auto listener = posix::Listen(address_, posix::SocketKind::kStream);
  Facts facts = GatherFacts(address_, "");
  v1::ListDatasetsResponse datasets;
  const auto add = [&](const std::string& path, v1::DatasetPlace::Sight sight) {
    v1::DatasetStatus& dataset = *datasets.add_datasets();
    dataset.set_path(path);
    dataset.mutable_place()->set_path(path);
    dataset.mutable_place()->set_sight(sight);
    dataset.mutable_place()->set_file_system("nfs");
  };
  add(folder_.path(), v1::DatasetPlace::SIGHT_CLOSED);
  add(folder_.At("none"), v1::DatasetPlace::SIGHT_READABLE);
  add("/silent", v1::DatasetPlace::SIGHT_SILENT);

  AddAnswers(Serving(), datasets, facts);

  ASSERT_THAT(facts.roots, SizeIs(3));
  EXPECT_TRUE(absl::IsPermissionDenied(facts.roots[0].walk));
  EXPECT_TRUE(facts.roots[1].walk.ok());
  EXPECT_TRUE(absl::IsDeadlineExceeded(facts.roots[2].walk));
  for (const Root& root : facts.roots) {
    EXPECT_TRUE(root.as_daemon);
    EXPECT_EQ(root.file_system, "nfs");
  }
}

TEST_F(GatherTest, ADaemonThatDoesNotAnswerOrServeSaysWhy) {
  const auto listener = posix::Listen(address_, posix::SocketKind::kStream);
  Facts facts = GatherFacts(address_, "");

  AddAnswers(absl::DeadlineExceededError("hangs"), absl::DeadlineExceededError("hangs"), facts);
  EXPECT_EQ(facts.daemon->serving.message(), "hangs");

  v1::GetStatusResponse status = Serving();
  status.set_serving(false);
  status.set_reason("GPU lost");
  AddAnswers(status, v1::ListDatasetsResponse(), facts);
  EXPECT_THAT(std::string(facts.daemon->serving.message()), HasSubstr("GPU lost"));
}

TEST_F(GatherTest, WithoutADaemonAnswersGoNowhere) {
  Facts facts = GatherFacts("/nowhere/penstock.sock", "");

  AddAnswers(Serving(), v1::ListDatasetsResponse(), facts);

  EXPECT_FALSE(facts.daemon.ok());
}

}  // namespace
}  // namespace penstock::ctl
