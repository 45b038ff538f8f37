#include "server/store/credentials/key_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::store {
namespace {

using ::testing::HasSubstr;

TEST(FlatJsonTest, TextsNumbersAndWordsAreReadAndNullIsLeftOut) {
  const auto members = ReadFlatJson(
      " {\"a\" : \"x\\\"\\\\\\/\\n\\u0041\", \"b\":12.5e3,\n\"c\":true,\"d\":null, \"e\":\"\"} ");

  ASSERT_TRUE(members.ok());
  EXPECT_EQ(*members, (std::map<std::string, std::string>{
                          {"a", "x\"\\/\nA"}, {"b", "12.5e3"}, {"c", "true"}, {"e", ""}}));
  EXPECT_TRUE(ReadFlatJson("{}")->empty());
}

TEST(FlatJsonTest, WhateverElseIsRefusedWithoutItsText) {
  for (const char* text :
       {"", "hunter2", "[]", "{", "{\"a\"}", "{\"a\":}", "{\"a\":\"b\"", "{\"a\":\"b\"} x",
        "{\"a\":{}}", "{\"a\":[1]}", "{\"a\":hunter2}", "{\"a\":\"b\",}", "{\"a\":\"\\x\"}",
        "{\"a\":\"\\u00e9\"}", "{\"a\":\"b\",\"a\":\"c\"}", "{\"a\":\"b\nc\"}", "{\"a\":\"\\"}) {
    const auto members = ReadFlatJson(text);
    EXPECT_TRUE(absl::IsDataLoss(members.status())) << text;
    EXPECT_THAT(std::string(members.status().message()), Not(HasSubstr("hunter2")));
  }
}

TEST(KeyAnswersTest, KeysOfAServerHaveAnEnd) {
  const auto keys = ReadJsonKeys(
      "{\"Code\":\"Success\",\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\",\"Token\":\"c\","
      "\"Expiration\":\"2026-01-31T10:00:00Z\"}",
      "it");

  ASSERT_TRUE(keys.ok()) << keys.status();
  EXPECT_EQ((*keys)->key_id + (*keys)->secret + (*keys)->token, "abc");
  EXPECT_EQ(std::chrono::system_clock::to_time_t(*(*keys)->end), 1769853600);
}

TEST(KeyAnswersTest, AnswersWithoutKeysAreErrorsWithoutTheirText) {
  const auto refusal = [](const char* text) {
    return std::string(ReadJsonKeys(text, "it").status().ToString());
  };
  EXPECT_THAT(refusal("{\"Code\":\"AssumeRoleUnauthorizedAccess\"}"),
              HasSubstr("UNAVAILABLE: it: no keys: AssumeRoleUnauthorizedAccess"));
  EXPECT_THAT(refusal("{\"AccessKeyId\":\"hunter2\"}"), HasSubstr("it: the answer holds no keys"));
  const char* const kLines =
      "{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"hunter2\\r\\nx: y\",\"Token\":\"\"}";
  EXPECT_THAT(refusal(kLines), HasSubstr("characters of no key"));
  EXPECT_THAT(refusal(kLines), Not(HasSubstr("hunter2")));
  EXPECT_THAT(refusal("{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\",\"Expiration\":\"soon\"}"),
              HasSubstr("unexpected time of the keys' end: 'soon'"));
}

TEST(KeyAnswersTest, StsAnswersInXml) {
  const auto keys = ReadStsKeys(
      "<R><Credentials><AccessKeyId> a </AccessKeyId><SecretAccessKey>b&amp;b</SecretAccessKey>"
      "<SessionToken>c==</SessionToken><Expiration>2026-01-31T10:00:00.123Z</Expiration>"
      "</Credentials></R>",
      "it");

  ASSERT_TRUE(keys.ok()) << keys.status();
  EXPECT_EQ((*keys)->key_id + (*keys)->secret + (*keys)->token, "ab&bc==");
  EXPECT_TRUE((*keys)->end.has_value());
  EXPECT_FALSE(ReadStsKeys("<html>no</html>", "it").ok());
}

}  // namespace
}  // namespace penstock::store
