#include "server/store/credentials/profiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files/temp_folder.h"

namespace penstock::store {
namespace {

using ::testing::HasSubstr;

class ProfilesTest : public ::testing::Test {
 protected:
  // "ID SECRET TOKEN", or why not.
  std::string Keys(Environment environment) {
    environment.try_emplace("HOME", folder_.At(""));
    const auto profile = FindProfile(environment);
    if (!profile.ok()) return std::string(profile.status().message());
    const auto keys = ReadProfileKeys(*profile);
    if (!keys.ok()) return std::string(keys.status().message());
    if (*keys == nullptr) return "none";
    return (*keys)->key_id + " " + (*keys)->secret + " " + (*keys)->token;
  }

  penstock::testing::TempFolder folder_;
};

TEST_F(ProfilesTest, AProfileIsASectionOfEitherName) {
  EXPECT_EQ(ReadProfile("[profile x]\na=1\n[y]\na=2", "x").at("a"), "1");
  EXPECT_EQ(ReadProfile("a=0\n[x]\n; no\nb = \n", "x").at("b"), "");
  EXPECT_TRUE(ReadProfile("[x", "x").empty());
}

TEST_F(ProfilesTest, WhatIsBelowASettingIsNotOneOfTheProfile) {
  const auto settings = ReadProfile("[x]\ns3 =\n  region = below\n\tb = 1\nregion = own\n", "x");

  EXPECT_EQ(settings.at("region"), "own");
  EXPECT_FALSE(settings.contains("b"));
  EXPECT_EQ(ReadProfile("[x]\n  region = indented\n", "x").at("region"), "indented");
}

TEST_F(ProfilesTest, KeysAreThoseOfTheProfileThatIsNamedOrOfTheDefault) {
  folder_.Write(".aws/credentials",
                "# mine\n[default]\naws_access_key_id = a\naws_secret_access_key=b=c\n"
                "[other]\nAWS_ACCESS_KEY_ID=d\naws_secret_access_key = e\naws_session_token=f\n");

  EXPECT_EQ(Keys({}), "a b=c ");
  EXPECT_EQ(Keys({{"AWS_PROFILE", "other"}}), "d e f");
  EXPECT_THAT(Keys({{"AWS_PROFILE", "none"}}), HasSubstr("there is no profile 'none' in '"));
}

TEST_F(ProfilesTest, AByteOrderMarkIsSkippedAndAFileThatIsNoneOfProfilesIsNamed) {
  const std::string keys = "[default]\naws_access_key_id = a\naws_secret_access_key = b\n";
  folder_.Write(".aws/credentials", "\xEF\xBB\xBF" + keys);
  EXPECT_EQ(Keys({}), "a b ");
  folder_.Write(".aws/credentials", "aws_access_key_id = a\n");
  EXPECT_THAT(Keys({}), HasSubstr(".aws/credentials' could not be understood"));
  folder_.Write(".aws/credentials", std::string("\xFF\xFE[\0d\0", 6));
  EXPECT_THAT(Keys({}), HasSubstr("it holds zero bytes"));
  folder_.Write(".aws/credentials", "# nothing yet\n");
  EXPECT_EQ(Keys({}), "none");
}

TEST_F(ProfilesTest, BothFilesTogetherMakeAProfileAndTheKeysFileComesFirst) {
  folder_.Write("keys", "[x]\naws_access_key_id = a\naws_secret_access_key = b\n");
  folder_.Write("config", "[profile x]\nregion = eu-west-1\naws_access_key_id = other\n");
  const Environment environment = {{"AWS_SHARED_CREDENTIALS_FILE", folder_.At("keys")},
                                   {"AWS_CONFIG_FILE", folder_.At("config")},
                                   {"AWS_PROFILE", "x"}};

  EXPECT_EQ(Keys(environment), "a b ");
  EXPECT_EQ(FindProfile(environment)->Get("region"), "eu-west-1");
}

TEST_F(ProfilesTest, WithoutFilesThereAreNone) {
  EXPECT_EQ(Keys({}), "none");
  EXPECT_EQ(Keys({{"HOME", ""}}), "none");
  EXPECT_THAT(Keys({{"AWS_PROFILE", "x"}}), HasSubstr("there is no profile 'x'"));
  EXPECT_THAT(Keys({{"AWS_SHARED_CREDENTIALS_FILE", folder_.At("absent")}}),
              HasSubstr("absent' cannot be read"));
}

TEST_F(ProfilesTest, OneKeyOfTwoIsAMistake) {
  folder_.Write(".aws/credentials",
                "[a]\naws_access_key_id = hunter2\n[b]\naws_secret_access_key = hunter2\n");

  EXPECT_THAT(Keys({{"AWS_PROFILE", "a"}}), HasSubstr("has no aws_secret_access_key"));
  EXPECT_THAT(Keys({{"AWS_PROFILE", "b"}}), HasSubstr("has no aws_access_key_id"));
  EXPECT_THAT(Keys({{"AWS_PROFILE", "b"}}), Not(HasSubstr("hunter2")));
}

TEST_F(ProfilesTest, WaysThatArentKnownAreRefusedWithWhatToDo) {
  folder_.Write(".aws/config",
                "[profile role]\nrole_arn = arn\nsource_profile = default\n"
                "[profile sso]\nsso_session = mine\n[profile old-sso]\nsso_start_url = https://x\n"
                "[profile program]\ncredential_process = /bin/x\n");

  EXPECT_THAT(Keys({{"AWS_PROFILE", "role"}}), HasSubstr("(source_profile or credential_source)"));
  EXPECT_THAT(Keys({{"AWS_PROFILE", "sso"}}), HasSubstr("signs in by SSO"));
  EXPECT_THAT(Keys({{"AWS_PROFILE", "old-sso"}}), HasSubstr("signs in by SSO"));
  EXPECT_THAT(Keys({{"AWS_PROFILE", "program"}}), HasSubstr("aws configure export-credentials"));
}

}  // namespace
}  // namespace penstock::store
