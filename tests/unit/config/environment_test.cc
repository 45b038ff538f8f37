// What a private daemon takes from its environment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "server/app/config/config.h"

namespace penstock::app {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(PrivateEnvironmentTest, ItsUserSaysForHowLongReadsAreTriedAgain) {
  const auto retry_for = [](const char* text) {
    ::setenv("PENSTOCK_RETRY_FOR", text, 1);
    const auto config = PrivateConfig("/run/user/7/penstock");
    ::unsetenv("PENSTOCK_RETRY_FOR");
    return config.ok() ? std::to_string(config->source().retry_for_ms())
                       : std::string(config.status().message());
  };
  EXPECT_EQ(retry_for(""), "60000");
  EXPECT_EQ(retry_for("10m"), "600000");
  EXPECT_THAT(retry_for("soon"), StartsWith("PENSTOCK_RETRY_FOR: "));
  EXPECT_THAT(retry_for("25h"), HasSubstr("source.retry_for: got 25h, wanted 0ms to 24h"));
}

}  // namespace
}  // namespace penstock::app
