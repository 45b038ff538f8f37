#include "tests/bench/harness/report.h"

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

namespace penstock::bench {
namespace {

using google::protobuf::Struct;
using ::testing::HasSubstr;
using ::testing::Not;

const Machine kMachine = {.cores = 2, .simd = "avx2", .load = 0.5};

Result SomeResult() {
  Result result{.suite = "decode", .data = "3 \"photographs\"", .rounds = 9};
  result.comparisons = {{.name = "rows",
                         .against = "bare",
                         .unit = "images/s",
                         .figure = 800,
                         .reference = 1000,
                         .goal_ratio = 0.88},
                        {.name = "rows", .against = "peer", .figure = 800, .reference = 400}};
  result.facts = {{.name = "calls", .value = 0, .unit = "calls", .at_most = 0},
                  {.name = "control", .value = 1, .unit = "calls"}};
  result.notes = {"something was left out"};
  return result;
}

Struct Parsed(const std::string& json) {
  Struct object;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &object).ok()) << json;
  return object;
}

TEST(ComparisonTest, TheRatioIsWhatIsReachedWhicheverWayIsBetter) {
  EXPECT_EQ((Comparison{.better = Better::kHigher, .figure = 90, .reference = 100}).Ratio(), 0.9);
  EXPECT_EQ((Comparison{.better = Better::kLower, .figure = 100, .reference = 90}).Ratio(), 0.9);
}

TEST(FactTest, AGoalOfNoneAtAllIsMissedByOne) {
  EXPECT_FALSE((Fact{.value = 1, .at_most = 0}).Reached());
  EXPECT_TRUE((Fact{.value = 0, .at_most = 0}).Reached());
  EXPECT_TRUE((Fact{.value = 1}).Reached());
}

TEST(ReportTest, PeopleReadFigureCeilingRatioAndWhatItRanOn) {
  const std::string text = ToText(SomeResult(), kMachine);

  EXPECT_THAT(text, HasSubstr("decode, on 2 cores (avx2; load 0.50), medians of 9 rounds"));
  EXPECT_THAT(text, HasSubstr("rows: 800 images/s\n    bare: 1000 images/s\n    ratio 0.800"));
  EXPECT_THAT(text, HasSubstr("goal 0.88: MISSED"));
  EXPECT_THAT(text, HasSubstr("calls: 0 calls (goal: at most 0: reached)"));
  EXPECT_THAT(text, HasSubstr("note: something was left out"));
}

TEST(ReportTest, ProgramsReadTheSameAsOneLineOfJson) {
  const std::string json = ToJson(SomeResult(), kMachine);

  EXPECT_THAT(json, Not(HasSubstr("\n")));
  const auto fields = Parsed(json).fields();
  EXPECT_EQ(fields.at("suite").string_value(), "decode");
  EXPECT_EQ(fields.at("data").string_value(), "3 \"photographs\"");
  EXPECT_EQ(fields.at("cores").number_value(), 2);
  EXPECT_EQ(fields.at("simd").string_value(), "avx2");
  EXPECT_EQ(fields.at("rounds").number_value(), 9);
  EXPECT_EQ(fields.at("notes").list_value().values_size(), 1);
  const auto& comparisons = fields.at("comparisons").list_value();
  const auto& first = comparisons.values(0).struct_value().fields();
  EXPECT_EQ(first.at("figure").number_value(), 800);
  EXPECT_EQ(first.at("reference").number_value(), 1000);
  EXPECT_EQ(first.at("ratio").number_value(), 0.8);
  EXPECT_FALSE(first.at("reached").bool_value());
  const auto& facts = fields.at("facts").list_value();
  EXPECT_TRUE(facts.values(0).struct_value().fields().at("reached").bool_value());
}

TEST(ReportTest, WithoutAGoalNothingIsReachedOrMissed) {
  const auto fields = Parsed(ToJson(SomeResult(), kMachine)).fields();

  for (const char* list : {"comparisons", "facts"}) {
    const auto& last = fields.at(list).list_value().values(1).struct_value().fields();
    EXPECT_EQ(last.count("reached"), 0u) << list;
  }
}

}  // namespace
}  // namespace penstock::bench
