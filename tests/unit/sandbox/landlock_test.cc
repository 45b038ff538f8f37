#include "common/sandbox/landlock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/landlock.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "common/sandbox/sandbox.h"
#include "tests/unit/sandbox/in_child.h"

namespace penstock::sandbox {
namespace {

TEST(LandlockTest, EachVersionKnowsWhatItsHeaderNames) {
  EXPECT_EQ(MakeLandlockRights(0).files, 0u);
  EXPECT_EQ(MakeLandlockRights(1).files, (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1);
  EXPECT_EQ(MakeLandlockRights(2).files, (LANDLOCK_ACCESS_FS_REFER << 1) - 1);
  EXPECT_EQ(MakeLandlockRights(3).files, 0x7fffu);
  EXPECT_EQ(MakeLandlockRights(3).network, 0u);
  EXPECT_EQ(MakeLandlockRights(4).network, 3u);
  EXPECT_EQ(MakeLandlockRights(5).files, 0xffffu);
  EXPECT_EQ(MakeLandlockRights(5).scopes, 0u);
  EXPECT_EQ(MakeLandlockRights(6).scopes, 3u);
}

TEST(LandlockTest, AnUnknownVersionHasTheRightsOfTheNewestOne) {
  EXPECT_EQ(MakeLandlockRights(1000).files, MakeLandlockRights(6).files);
  EXPECT_EQ(MakeLandlockRights(1000).scopes, MakeLandlockRights(6).scopes);
}

// Without the call filter, so that Landlock itself must refuse.
TEST(LandlockTest, ADomainWithoutRulesRefusesFilesAndSignals) {
  if (::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) < 1)
    GTEST_SKIP() << "this kernel has no Landlock";
  const auto inside = [](auto run) {
    return InChild([&] {
      GiveUpPrivileges();
      const int version = EnterLandlock();
      if (version < 1) return 100;
      errno = 0;
      return run(version) ? 0 : 1;
    });
  };

  EXPECT_EQ(inside([](int) { return ::open("/", O_RDONLY) < 0 && errno == EACCES; }), 0);
  EXPECT_EQ(inside([](int) { return ::open("/tmp/x", O_CREAT | O_WRONLY, 0600) < 0; }), 0);
  EXPECT_EQ(inside([](int version) {
              return version < 6 || (::kill(::getppid(), 0) < 0 && errno == EPERM);
            }),
            0);
}

}  // namespace
}  // namespace penstock::sandbox
