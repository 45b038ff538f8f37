// Labels that are given as texts.
#include "server/source/lists/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::source {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Labels Collect(const std::vector<std::string>& texts, LabelsAs as = LabelsAs::kAuto) {
  LabelCollector collector(as);
  for (const std::string& text : texts) {
    const absl::Status added = collector.Add(text);
    EXPECT_TRUE(added.ok()) << added;
  }
  return collector.Finish();
}

std::string Refusal(const std::vector<std::string>& texts, LabelsAs as = LabelsAs::kAuto) {
  LabelCollector collector(as);
  for (const std::string& text : texts)
    if (const absl::Status added = collector.Add(text); !added.ok())
      return std::string(added.message());
  return "not refused";
}

TEST(LabelsTest, TextsBecomeTheirPlacesInSortedOrder) {
  const Labels labels = Collect({"dog", "cat", "dog", "Ape"});

  EXPECT_THAT(labels.classes, ElementsAre("Ape", "cat", "dog"));
  EXPECT_THAT(labels.values, ElementsAre(2, 1, 2, 0));
}

TEST(LabelsTest, IntegersStayWhatTheyAre) {
  const Labels labels = Collect({"3", "0", "03"});

  EXPECT_THAT(labels.values, ElementsAre(3, 0, 3));
  EXPECT_THAT(labels.classes, ElementsAre("0", "1", "2", "3"));
}

TEST(LabelsTest, IntegersBeyondClassesHaveNone) {
  EXPECT_THAT(Collect({"-1", "4"}).classes, IsEmpty());
  EXPECT_THAT(Collect({"65536"}).classes, IsEmpty());
  EXPECT_EQ(Collect({"65535"}).classes.size(), 65'536u);
}

TEST(LabelsTest, NumbersAreNamesWhereTextsAreAskedFor) {
  const Labels labels = Collect({"10", "9", "x"}, LabelsAs::kTexts);

  EXPECT_THAT(labels.classes, ElementsAre("10", "9", "x"));
  EXPECT_THAT(labels.values, ElementsAre(0, 1, 2));
}

TEST(LabelsTest, MixedLabelsAreRefused) {
  EXPECT_THAT(Refusal({"1", "cat"}), HasSubstr("'cat' is not a 64-bit integer, but the first"));
  EXPECT_THAT(Refusal({"cat", "1"}), HasSubstr("'1' is a number, but the first label is the text"));
  EXPECT_THAT(Refusal({"0.5"}), HasSubstr("'0.5' is not a 64-bit integer; leave label= out"));
  EXPECT_THAT(Refusal({"9223372036854775808"}), HasSubstr("is not a 64-bit integer"));
  EXPECT_THAT(Refusal({"cat"}, LabelsAs::kNumbers), HasSubstr("'cat' is not a 64-bit integer"));
}

TEST(LabelsTest, EmptyAndInvalidTextsAreRefused) {
  EXPECT_THAT(Refusal({""}), HasSubstr("the label is empty"));
  EXPECT_THAT(Refusal({"a\xFF"}), HasSubstr("is not UTF-8"));
}

TEST(LabelsTest, StringsOfDigitsAreTextsIfTheFormatSaysSo) {
  LabelCollector collector(LabelsAs::kAuto);
  ASSERT_TRUE(collector.Add("7", true).ok());
  ASSERT_TRUE(collector.Add("10", true).ok());

  const Labels labels = collector.Finish();

  EXPECT_THAT(labels.classes, ElementsAre("10", "7"));
  EXPECT_THAT(labels.values, ElementsAre(1, 0));
}

}  // namespace
}  // namespace penstock::source
