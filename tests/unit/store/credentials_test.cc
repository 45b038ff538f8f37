#include "server/store/client/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files/temp_folder.h"

namespace penstock::store {
namespace {

using ::testing::HasSubstr;

class StoreCredentialsTest : public ::testing::Test {
 protected:
  penstock::testing::TempFolder folder_;
};

TEST_F(StoreCredentialsTest, VariablesComeFirst) {
  const auto found = *FindStoreKeys({{"AWS_ACCESS_KEY_ID", "id"},
                                     {"AWS_SECRET_ACCESS_KEY", "secret"},
                                     {"AWS_SESSION_TOKEN", "token"},
                                     {"AWS_PROFILE", "other"}});
  EXPECT_EQ(found->key_id, "id");
  EXPECT_EQ(found->secret, "secret");
  EXPECT_EQ(found->token, "token");
  EXPECT_EQ(found->from, "AWS_ACCESS_KEY_ID");
}

TEST_F(StoreCredentialsTest, OneKeyOfTwoIsAMistake) {
  for (const char* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"})
    EXPECT_TRUE(absl::IsFailedPrecondition(FindStoreKeys({{name, "x"}}).status())) << name;
}

TEST_F(StoreCredentialsTest, ThenTheProfileOfTheFile) {
  folder_.Write(".aws/credentials",
                "# mine\n[default]\naws_access_key_id = a\naws_secret_access_key=b=c\n"
                "[other]\nAWS_ACCESS_KEY_ID=d\naws_secret_access_key = e\n");
  const std::string home = folder_.At("");
  const auto first = *FindStoreKeys({{"HOME", home}});
  EXPECT_EQ(first->key_id + first->secret, "ab=c");
  const auto other = *FindStoreKeys({{"HOME", home}, {"AWS_PROFILE", "other"}});
  EXPECT_EQ(other->key_id + other->secret, "de");
  EXPECT_THAT(
      std::string(FindStoreKeys({{"HOME", home}, {"AWS_PROFILE", "none"}}).status().message()),
      HasSubstr("no aws_access_key_id in the profile 'none'"));
}

TEST_F(StoreCredentialsTest, WithoutAnyRequestsAreAnonymous) {
  EXPECT_EQ(*FindStoreKeys({}), nullptr);
  EXPECT_EQ(*FindStoreKeys({{"HOME", folder_.At("")}}), nullptr);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      FindStoreKeys({{"HOME", folder_.At("")}, {"AWS_PROFILE", "x"}}).status()));
}

TEST_F(StoreCredentialsTest, AProfileIsASectionOfEitherName) {
  EXPECT_EQ(ReadProfile("[profile x]\na=1\n[y]\na=2", "x").at("a"), "1");
  EXPECT_EQ(ReadProfile("a=0\n[x]\n; no\nb = \n", "x").at("b"), "");
  EXPECT_TRUE(ReadProfile("[x", "x").empty());
}

}  // namespace
}  // namespace penstock::store
