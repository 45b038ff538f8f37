#include "common/jpeg/engines.h"

#include <gtest/gtest.h>

namespace penstock::jpeg {
namespace {

JpegHeaderFacts Photograph() {
  return {.frame_marker = 0xC0,
          .bits = 8,
          .width = 500,
          .height = 375,
          .components = 3,
          .components_of_first_scan = 3,
          .horizontal = {2, 1, 1},
          .vertical = {2, 1, 1},
          .ycbcr = true};
}

TEST(EnginesTest, TakeBaselinePhotographsWithEverySamplingOfTwo) {
  JpegHeaderFacts facts = Photograph();
  for (const uint8_t h : {1, 2}) {
    for (const uint8_t v : {1, 2}) {
      facts.horizontal[0] = h;
      facts.vertical[0] = v;
      EXPECT_EQ(JudgeForEngines(facts), EngineVerdict::kTaken);
    }
  }
  facts.width = 501;
  EXPECT_EQ(JudgeForEngines(facts), EngineVerdict::kTaken);
}

TEST(EnginesTest, RefuseWhatIsNotBaseline) {
  for (const uint8_t marker : {0xC1, 0xC2, 0xC3, 0xC9}) {
    JpegHeaderFacts facts = Photograph();
    facts.frame_marker = marker;
    EXPECT_EQ(JudgeForEngines(facts), EngineVerdict::kNotBaseline);
  }
  JpegHeaderFacts facts = Photograph();
  facts.bits = 12;
  EXPECT_EQ(JudgeForEngines(facts), EngineVerdict::kNotEightBits);
}

TEST(EnginesTest, RefuseOtherColors) {
  JpegHeaderFacts facts = Photograph();
  facts.ycbcr = false;
  EXPECT_EQ(JudgeForEngines(facts), EngineVerdict::kColors);
  facts = Photograph();
  facts.components = 4;
  EXPECT_EQ(JudgeForEngines(facts), EngineVerdict::kColors);
}

TEST(EnginesTest, RefuseSeveralScans) {
  JpegHeaderFacts facts = Photograph();
  facts.components_of_first_scan = 1;
  EXPECT_EQ(JudgeForEngines(facts), EngineVerdict::kScans);
}

TEST(EnginesTest, RefuseOtherSamplings) {
  JpegHeaderFacts facts = Photograph();
  facts.horizontal[0] = 4;
  EXPECT_EQ(JudgeForEngines(facts), EngineVerdict::kSampling);
  facts = Photograph();
  facts.vertical[2] = 2;
  EXPECT_EQ(JudgeForEngines(facts), EngineVerdict::kSampling);
}

TEST(EnginesTest, RefuseSizesBeyondTheirLimits) {
  JpegHeaderFacts facts = Photograph();
  facts.width = kMaxEngineSide + 1;
  EXPECT_EQ(JudgeForEngines(facts), EngineVerdict::kSize);
  facts = Photograph();
  facts.height = kMinEngineSide - 1;
  EXPECT_EQ(JudgeForEngines(facts), EngineVerdict::kSize);
  facts.height = 0;
  EXPECT_EQ(JudgeForEngines(facts), EngineVerdict::kSize);
}

}  // namespace
}  // namespace penstock::jpeg
