#include "common/posix/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::posix {
namespace {

TEST(GroupTest, AGroupThatIsNotThereIsNamed) {
  const auto group = FindGroup("no-such-group");

  EXPECT_EQ(group.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(group.status().message()), ::testing::HasSubstr("'no-such-group'"));
}

TEST(GroupTest, NamesAndNumbersAreGroups) {
  EXPECT_EQ(*FindGroup("root"), 0u);
  EXPECT_EQ(*FindGroup("4711"), 4711u);
}

}  // namespace
}  // namespace penstock::posix
