// Messages of TFRecord files.
#include "server/unpack/example.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files/record_maker.h"

namespace penstock::unpack {
namespace {

using penstock::testing::BytesFeature;
using penstock::testing::ExampleOf;
using penstock::testing::FeatureOf;
using penstock::testing::FloatsFeature;
using penstock::testing::IntsFeature;
using penstock::testing::LittleEndian;
using penstock::testing::WireField;
using penstock::testing::WireVarint;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string Show(const std::string& text) {
  ExampleInMemory example(Bytes(text));
  const auto features = ParseExample(example);
  if (!features.ok()) return std::string(features.status().message());
  std::string all;
  for (const Feature& feature : *features)
    all += feature.name + ":" + std::to_string(static_cast<int>(feature.kind)) + " ";
  return all;
}

TEST(ExampleTest, WhatIsNoMessageIsRefusedWithItsPlace) {
  const std::string good = ExampleOf(IntsFeature("a", {1}));

  EXPECT_THAT(Show(good.substr(0, good.size() - 1)), HasSubstr("at byte 0: a field is longer"));
  EXPECT_THAT(Show("\x0A"), HasSubstr("a number is truncated"));
  EXPECT_THAT(Show(std::string(11, '\xFF')), HasSubstr("a number is too long"));
  EXPECT_THAT(Show(std::string("\x00\x01", 2)), HasSubstr("a field without a number"));
  EXPECT_THAT(Show("\x0B"), HasSubstr("an unknown wire type"));  // a group
  EXPECT_THAT(Show(ExampleOf("\x0A\x7F")), HasSubstr("at byte 2"));
  EXPECT_THAT(Show(ExampleOf(BytesFeature(std::string(300, 'n'), {"x"}))),
              HasSubstr("name has more than 256"));
  std::string many;
  for (int i = 0; i < 1025; ++i) many += IntsFeature(std::to_string(i), {i});
  EXPECT_THAT(Show(ExampleOf(many)), HasSubstr("more than 1024 features"));
}

TEST(ExampleTest, FeaturesHaveNamesAndKindsAndWhatIsUnknownIsPassedOver) {
  const std::string unknown = WireField(9, "future") + WireVarint(10 << 3) + WireVarint(77) +
                              WireVarint(11 << 3 | 1) + std::string(8, 'x') +
                              WireVarint(12 << 3 | 5) + std::string(4, 'x');

  EXPECT_EQ(Show(""), "");
  EXPECT_EQ(Show(unknown + ExampleOf(IntsFeature("i", {1}) + unknown + FloatsFeature("f", {1}) +
                                     BytesFeature("b", {"x"}) +
                                     WireField(1, WireField(1, "none") + unknown))),
            "i:3 f:2 b:1 none:0 ");
}

TEST(ExampleTest, OfTwoFeaturesOfOneNameTheLastOneCounts) {
  EXPECT_EQ(Show(ExampleOf(IntsFeature("a", {1}) + IntsFeature("b", {1})) +
                 ExampleOf(FloatsFeature("a", {1}))),
            "a:2 b:3 ");
}

class FeatureTest : public ::testing::Test {
 protected:
  // The example's only feature.
  Feature Only(const std::string& feature) {
    text_ = ExampleOf(feature);
    example_.emplace(Bytes(text_));
    return ParseExample(*example_).value().at(0);
  }
  std::vector<int64_t> Ints(const Feature& feature, size_t most = 9) {
    std::vector<int64_t> values(most);
    const auto count = ReadInts(*example_, feature, values);
    EXPECT_EQ(*CountValues(*example_, feature), *count);
    values.resize(std::min<size_t>(most, *count));
    return values;
  }
  std::string text_;
  std::optional<ExampleInMemory> example_;
};

TEST_F(FeatureTest, NumbersThatAreCutOffOrOfAnotherKindAreRefused) {
  std::vector<float> floats(9);
  std::vector<int64_t> ints(9);

  const Feature cut = Only(FeatureOf("f", 2, WireField(1, "123456")));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadFloats(*example_, cut, floats).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(CountValues(*example_, cut).status()));
  const Feature open = Only(FeatureOf("i", 3, WireField(1, "\xFF")));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadInts(*example_, open, ints).status()));
  const Feature other = Only(FeatureOf("i", 3, WireVarint(1 << 3 | 5) + "1234"));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadInts(*example_, other, ints).status()));
}

TEST_F(FeatureTest, IntsAreReadPackedOrNotAndNegativeOnesToo) {
  EXPECT_THAT(Ints(Only(IntsFeature("i", {7, -1, INT64_MIN, INT64_MAX}))),
              ElementsAre(7, -1, INT64_MIN, INT64_MAX));
  const std::string one = WireVarint(1 << 3) + WireVarint(300);
  EXPECT_THAT(Ints(Only(FeatureOf("i", 3, one + WireField(1, "\x05\x06") + one))),
              ElementsAre(300, 5, 6, 300));
  EXPECT_THAT(Ints(Only(IntsFeature("i", {}))), ElementsAre());
  EXPECT_THAT(Ints(Only(IntsFeature("i", {1, 2, 3})), 2), ElementsAre(1, 2));
}

TEST_F(FeatureTest, FloatsAreReadPackedOrNot) {
  std::vector<float> values(9);
  const std::string one = WireVarint(1 << 3 | 5) + LittleEndian(0.5f);
  const Feature feature =
      Only(FeatureOf("f", 2, WireField(1, LittleEndian(1.5f) + LittleEndian(-2.0f)) + one));

  EXPECT_EQ(*ReadFloats(*example_, feature, values), 3u);
  EXPECT_EQ(*CountValues(*example_, feature), 3u);

  values.resize(3);
  EXPECT_THAT(values, ElementsAre(1.5f, -2.0f, 0.5f));
}

TEST_F(FeatureTest, AByteStringIsFoundWhereItIsTheOnlyOne) {
  const Feature handshake = Only(BytesFeature("b", {"hello"}));
  const auto only = OnlyString(*example_, handshake);
  ASSERT_TRUE(only.ok() && *only);
  EXPECT_EQ(text_.substr((*only)->offset, (*only)->bytes), "hello");

  const Feature two = Only(BytesFeature("b", {"a", "b"}));
  EXPECT_FALSE(OnlyString(*example_, two)->has_value());
  EXPECT_EQ(*CountValues(*example_, two), 2u);
  const Feature none = Only(BytesFeature("b", {}));
  EXPECT_FALSE(OnlyString(*example_, none)->has_value());
}

}  // namespace
}  // namespace penstock::unpack
