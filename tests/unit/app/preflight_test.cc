// The small parts of the preflight. tests/system/daemon/preflight_test.cc walks through it as a
// whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "server/app/preflight/folder_check.h"
#include "server/app/preflight/replaced_daemon.h"
#include "server/app/preflight/state_lock.h"
#include "tests/support/files/temp_folder.h"
#include "tests/support/message_of.h"

namespace penstock::app {
namespace {

using ::testing::HasSubstr;
using testing::TempFolder;

constexpr doorway::ClaimPurpose kTrial = {.is_trial = true};

TEST(StateLockTest, ASecondDaemonIsRefusedUntilTheFirstHasEnded) {
  const TempFolder folder;
  const std::string state = folder.At("below/state");
  {
    const auto first = StateLock::Take(state);
    ASSERT_TRUE(first.ok()) << first.status();

    const absl::Status second = StateLock::Take(state).status();
    EXPECT_TRUE(absl::IsAlreadyExists(second)) << second;
    EXPECT_THAT(MessageOf(second), HasSubstr(absl::StrCat("a daemon (pid ", ::getpid(), ")")));
    EXPECT_TRUE(absl::IsAlreadyExists(StateLock::Take(state, kTrial).status()));
  }
  EXPECT_TRUE(StateLock::Take(state).ok());
}

TEST(StateLockTest, AFileInTheFoldersPlaceIsRefusedByATrialToo) {
  TempFolder folder;
  folder.Write("state", "x");

  for (const doorway::ClaimPurpose& purpose : {doorway::ClaimPurpose{}, kTrial}) {
    const absl::Status status = StateLock::Take(folder.At("state"), purpose).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(MessageOf(status), HasSubstr("is not a folder"));
  }
}

TEST(FolderCheckTest, WhereOthersCanReplaceWhatTheDaemonKeepsIsSaid) {
  using std::filesystem::perms;
  TempFolder folder;
  const std::string state = folder.At("state");
  EXPECT_TRUE(LookForOtherWriters(state).ok());  // the daemon makes it

  folder.MakeFolder("state");
  std::filesystem::permissions(state, perms(0770));
  EXPECT_TRUE(LookForOtherWriters(state).ok());
  std::filesystem::permissions(state, perms(01777));
  EXPECT_TRUE(LookForOtherWriters(state).ok());
  std::filesystem::permissions(state, perms(0777));
  EXPECT_THAT(MessageOf(LookForOtherWriters(state)), HasSubstr("(mode 0777); chmod o-w it"));
  std::filesystem::permissions(state, perms(0755));
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(state.c_str(), 4711, 4711), 0);
  EXPECT_THAT(MessageOf(LookForOtherWriters(state)), HasSubstr("belongs to user 4711"));
}

TEST(StateLockTest, ATrialMakesNothingAndCountsAsFreeWhatTheReplacedDaemonHolds) {
  const TempFolder folder;
  EXPECT_TRUE(StateLock::Take(folder.At("state"), kTrial).ok());
  EXPECT_FALSE(std::filesystem::exists(folder.At("state")));

  const auto held = StateLock::Take(folder.At("state"));
  EXPECT_TRUE(StateLock::Take(folder.At("state"), {.is_trial = true, .replaced = ::getpid()}).ok());
  EXPECT_FALSE(StateLock::Take(folder.At("state"), {.is_trial = true, .replaced = 1}).ok());
}

// As on a full disk.
TEST(StateLockTest, TheHolderIsKnownThoughItCouldNotWriteItsPid) {
  const TempFolder folder;
  const auto held = StateLock::Take(folder.At("state"));
  std::filesystem::resize_file(folder.At("state/lock"), 0);

  EXPECT_TRUE(StateLock::Take(folder.At("state"), {.is_trial = true, .replaced = ::getpid()}).ok());
  EXPECT_THAT(MessageOf(StateLock::Take(folder.At("state"), kTrial).status()),
              HasSubstr(absl::StrCat("a daemon (pid ", ::getpid(), ")")));
}

TEST(StateLockTest, AFolderThatCannotBeWrittenPreventsNothing) {
  TempFolder folder;
  folder.Write("file", "");

  EXPECT_TRUE(StateLock::Take(folder.At("file/state")).ok());
}

TEST(ReplacedDaemonTest, ItsUserAndMemoryAreRead) {
  TempFolder root;
  root.MakeFolder("proc/17");
  root.Write("proc/17/status", "Name:\tpenstockd\nUid:\t7\t8\t9\t10\nRssShmem:\t   64 kB\n");

  const ReplacedDaemon daemon = LookAtReplaced(17, root.path());

  EXPECT_EQ(daemon.user, 7u);
  EXPECT_EQ(daemon.pool_bytes, 64u << 10);
  EXPECT_FALSE(LookAtReplaced(18, root.path()).user);
  EXPECT_EQ(LookAtReplaced(0).pid, 0);
}

TEST(ReplacedDaemonTest, APortIsItsIfItsUserListensThere) {
  TempFolder root;
  root.MakeFolder("proc/net");
  root.Write(
      "proc/net/tcp",
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
      "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000   7  0\n"
      "   1: 0100007F:1F91 00000000:0000 01 00000000:00000000 00:00000000 00000000   7  0\n"
      "   2: 0100007F:1F92 00000000:0000 0A 00000000:00000000 00:00000000 00000000   8  0\n");
  const ReplacedDaemon daemon = {.pid = 17, .user = 7};
  const auto listens = [&](uint16_t port) {
    return ListensAt(daemon, {.host = "127.0.0.1", .port = port}, root.path());
  };

  EXPECT_TRUE(listens(8080));
  EXPECT_FALSE(listens(8081)) << "a connection, not a listener";
  EXPECT_FALSE(listens(8082)) << "another user's";
  EXPECT_FALSE(ListensAt({.pid = 17}, {.host = "127.0.0.1", .port = 8080}, root.path()));
}

}  // namespace
}  // namespace penstock::app
