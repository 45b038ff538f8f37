#include "server/doorway/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/posix/process.h"
#include "common/posix/socket.h"
#include "common/shm/doorway_wire.h"
#include "tests/support/message_of.h"
#include "tests/unit/doorway/visit.h"

namespace penstock::doorway {
namespace {

using ::testing::HasSubstr;

unsigned ModeOf(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
}

bool Exists(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0;
}

class AddressTest : public ::testing::Test {
 protected:
  TemporaryDirectory parent_;
  const std::string directory_ = parent_ / "own";
  const std::string path_ = directory_ + "/penstock.sock";
  const std::string our_group_ = absl::StrCat(::getegid());
};

TEST_F(AddressTest, ARelativePathIsRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(ClaimAddress("penstock.sock", "").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ClaimAddress("", "").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ClaimAddress("/run/penstock/", "").status()));
}

TEST_F(AddressTest, AnUnknownGroupIsRefusedWithARemedy) {
  const auto claim = ClaimAddress(path_, "no-such-group");

  EXPECT_TRUE(absl::IsInvalidArgument(claim.status()));
  EXPECT_THAT(MessageOf(claim.status()), HasSubstr("groupadd --system no-such-group"));
}

TEST_F(AddressTest, ADirectoryThatOthersMayWriteToIsRefused) {
  ASSERT_EQ(::mkdir(directory_.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(directory_.c_str(), 0770), 0);

  const auto claim = ClaimAddress(path_, "");

  EXPECT_TRUE(absl::IsPermissionDenied(claim.status()));
  EXPECT_THAT(MessageOf(claim.status()), HasSubstr("chmod go-w"));
}

TEST_F(AddressTest, ASymbolicLinkInPlaceOfTheDirectoryIsRefused) {
  ASSERT_EQ(::mkdir((parent_ / "elsewhere").c_str(), 0700), 0);
  ASSERT_EQ(::symlink("elsewhere", directory_.c_str()), 0);

  const auto claim = ClaimAddress(path_, "");

  EXPECT_TRUE(absl::IsPermissionDenied(claim.status()));
  EXPECT_THAT(MessageOf(claim.status()), HasSubstr("symbolic link"));
}

TEST_F(AddressTest, ADirectoryOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  ASSERT_EQ(::mkdir(directory_.c_str(), 0700), 0);
  ASSERT_EQ(::chown(directory_.c_str(), 12345, -1), 0);

  const auto claim = ClaimAddress(path_, "");

  EXPECT_TRUE(absl::IsPermissionDenied(claim.status()));
  EXPECT_THAT(MessageOf(claim.status()), HasSubstr("belongs to user 12345"));
}

TEST_F(AddressTest, ADirectoryThatTheGroupCannotEnterIsRefused) {
  ASSERT_EQ(::mkdir(directory_.c_str(), 0700), 0);

  const auto claim = ClaimAddress(path_, our_group_);

  EXPECT_TRUE(absl::IsFailedPrecondition(claim.status()));
  EXPECT_THAT(MessageOf(claim.status()), HasSubstr("chgrp"));
}

TEST_F(AddressTest, AMissingParentIsNotMade) {
  EXPECT_TRUE(absl::IsNotFound(ClaimAddress(parent_ / "a/b/penstock.sock", "").status()));
}

TEST_F(AddressTest, WhatIsNoSocketIsNeitherReplacedNorRemoved) {
  ASSERT_EQ(::mkdir(directory_.c_str(), 0700), 0);
  std::ofstream(path_) << "precious";

  EXPECT_TRUE(absl::IsAlreadyExists(ClaimAddress(path_, "").status()));
  EXPECT_TRUE(Exists(path_));
}

TEST_F(AddressTest, ASecondDaemonIsRefusedAndToldTheFirstOnesPid) {
  const auto first = ClaimAddress(path_, "");
  ASSERT_TRUE(first.ok()) << first.status();

  const std::string holder = absl::StrCat("(pid ", ::getpid(), ")");
  const pid_t other = Fork([&] {
    const absl::Status second = ClaimAddress(path_, "").status();
    EXPECT_TRUE(absl::IsAlreadyExists(second));
    EXPECT_THAT(MessageOf(second), HasSubstr(holder));
    return HasFailure() ? 1 : 0;
  });

  EXPECT_EQ(WaitForExit(other), 0);
  EXPECT_TRUE(posix::Connect(path_, posix::SocketKind::kStream).ok());
}

// As if a thread of it waited for a disk that hangs.
TEST_F(AddressTest, ADaemonOfWhichAThreadIsLeftIsToldFromOneThatServes) {
  const pid_t daemon = Fork([this]() -> int {
    const auto claim = ClaimAddress(path_, "");
    std::thread([] { ::sleep(60); }).detach();
    ::syscall(SYS_exit, claim.ok() ? 0 : 1);  // the first thread alone
    return 1;
  });
  for (int i = 0; i < 1000 && posix::StateOf(daemon) != 'Z'; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));

  const auto claim = ClaimAddress(path_, "");
  EXPECT_TRUE(absl::IsAlreadyExists(claim.status()));
  EXPECT_THAT(MessageOf(claim.status()),
              HasSubstr(absl::StrCat("(pid ", daemon, ") has not ended quite")));
  ::kill(daemon, SIGKILL);
  EXPECT_EQ(WaitForExit(daemon), -SIGKILL);
}

TEST_F(AddressTest, ADeadDaemonsSocketIsReplaced) {
  const pid_t daemon = Fork([this]() -> int {
    const auto claim = ClaimAddress(path_, "");
    ::_exit(claim.ok() ? 0 : 1);  // as if killed: nothing is tidied up
  });
  ASSERT_EQ(WaitForExit(daemon), 0);
  ASSERT_TRUE(Exists(path_));

  const auto claim = ClaimAddress(path_, "");

  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_TRUE(posix::Connect(path_, posix::SocketKind::kStream).ok());
}

TEST_F(AddressTest, ATrainerThatConnectsWhileADaemonBeginsMayComeAgain) {
  ASSERT_EQ(::mkdir(directory_.c_str(), 0700), 0);
  std::atomic<bool> done = false;
  std::thread daemons([&] {
    for (int i = 0; i < 2000; ++i) EXPECT_TRUE(ClaimAddress(path_, "").ok());
    done = true;
  });
  int refused = 0;
  while (!done) {
    const auto door =
        posix::Connect(absl::StrCat(path_, shm::kDoorwaySuffix), posix::SocketKind::kSeqPacket);
    const absl::Status status =
        door.ok() ? posix::Receive(*door, 64, std::chrono::seconds(5)).status() : door.status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    ++refused;
  }
  daemons.join();
  EXPECT_GT(refused, 0);
}

TEST_F(AddressTest, APrivateDaemonsDirectoryIsForItsUserAlone) {
  auto claim = ClaimAddress(path_, "");

  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_EQ(ModeOf(directory_), 0700u);
  EXPECT_TRUE(claim->TakeListener().valid());
}

TEST_F(AddressTest, ASharedDaemonsDirectoryAndSocketAreForTheGroup) {
  const auto claim = ClaimAddress(path_, our_group_);

  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_EQ(ModeOf(directory_), 0750u);
  EXPECT_EQ(ModeOf(path_), 0660u);
}

TEST_F(AddressTest, WhatAKilledDaemonLeftOfADirectoryIsMadeAnew) {
  ASSERT_EQ(::mkdir((directory_ + ".new").c_str(), 0700), 0);

  const auto claim = ClaimAddress(path_, our_group_);

  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_EQ(ModeOf(directory_), 0750u);
  EXPECT_FALSE(Exists(directory_ + ".new"));
}

TEST_F(AddressTest, TheLocksFileStaysEmptySoThatItsEndWaitsForNoDisk) {
  const auto claim = ClaimAddress(path_, "");
  ASSERT_TRUE(claim.ok()) << claim.status();

  EXPECT_EQ(std::filesystem::file_size(path_ + ".lock"), 0u);
}

TEST_F(AddressTest, ItsEndRemovesBothSocketsAndTheLock) {
  {
    auto claim = ClaimAddress(path_, "");
    ASSERT_TRUE(claim.ok()) << claim.status();
    const auto door = ListenForGroup(claim->door_path(), posix::SocketKind::kSeqPacket, {});
    ASSERT_TRUE(door.ok()) << door.status();
  }

  EXPECT_FALSE(Exists(path_));
  EXPECT_FALSE(Exists(path_ + ".door"));
  EXPECT_FALSE(Exists(path_ + ".lock"));
  EXPECT_TRUE(ClaimAddress(path_, "").ok());
}

}  // namespace
}  // namespace penstock::doorway
