#include "common/shm/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::shm {
namespace {

using ::testing::HasSubstr;

// A later release's daemon, whose predecessor used version 4.
constexpr ProtocolWindow kDaemon = {.oldest = 4, .newest = 5};

std::string Words(const absl::Status& status) { return std::string(status.message()); }

TEST(ProtocolTest, AClientBeforeThePreviousReleaseIsToldToUpgradeItself) {
  const absl::Status status = CheckClient(3, kDaemon);

  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(Words(status), HasSubstr("the client speaks protocol version 3, this daemon versions "
                                       "4 to 5; upgrade the client library"));
}

TEST(ProtocolTest, AClientNewerThanTheDaemonIsToldToUpgradeTheDaemon) {
  EXPECT_THAT(Words(CheckClient(6, kDaemon)), HasSubstr("upgrade the daemon (penstockd)"));
}

TEST(ProtocolTest, AClientTellsOfADaemonWhichOfThemToUpgrade) {
  EXPECT_THAT(
      Words(CheckDaemon(kDaemon, 3)),
      HasSubstr("the daemon speaks protocol versions 4 to 5, this client version 3; upgrade "
                "the client library"));
  EXPECT_THAT(Words(CheckDaemon(kDaemon, 6)), HasSubstr("upgrade the daemon"));
}

TEST(ProtocolTest, ADaemonThatTellsNoOldestVersionServesItsOwnAlone) {
  EXPECT_TRUE(CheckDaemon({.oldest = 0, .newest = 5}, 5).ok());
  EXPECT_FALSE(CheckDaemon({.oldest = 0, .newest = 5}, 4).ok());
}

TEST(ProtocolTest, TheOwnAndThePreviousReleasesVersionAreServed) {
  for (const uint32_t version : {4u, 5u}) {
    EXPECT_TRUE(CheckClient(version, kDaemon).ok()) << version;
    EXPECT_TRUE(CheckDaemon(kDaemon, version).ok()) << version;
  }
}

}  // namespace
}  // namespace penstock::shm
