#include "common/jpeg/engines.h"

#include <gtest/gtest.h>

#include "tests/support/gpu_decode/photograph_facts.h"

namespace penstock::jpeg {
namespace {

using testing::kPhotographFacts;

TEST(EnginesTest, TakeBaselinePhotographsWithEverySamplingOfTwo) {
  JpegHeaderFacts facts = kPhotographFacts;
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
    JpegHeaderFacts facts = kPhotographFacts;
    facts.frame_marker = marker;
    EXPECT_EQ(JudgeForEngines(facts), EngineVerdict::kNotBaseline);
  }
  JpegHeaderFacts facts = kPhotographFacts;
  facts.bits = 12;
  EXPECT_EQ(JudgeForEngines(facts), EngineVerdict::kNotEightBits);
}

TEST(EnginesTest, RefuseOtherColors) {
  JpegHeaderFacts facts = kPhotographFacts;
  facts.ycbcr = false;
  EXPECT_EQ(JudgeForEngines(facts), EngineVerdict::kColors);
  facts = kPhotographFacts;
  facts.components = 4;
  EXPECT_EQ(JudgeForEngines(facts), EngineVerdict::kColors);
}

TEST(EnginesTest, RefuseSeveralScans) {
  JpegHeaderFacts facts = kPhotographFacts;
  facts.components_of_first_scan = 1;
  EXPECT_EQ(JudgeForEngines(facts), EngineVerdict::kScans);
}

TEST(EnginesTest, RefuseOtherSamplings) {
  JpegHeaderFacts facts = kPhotographFacts;
  facts.horizontal[0] = 4;
  EXPECT_EQ(JudgeForEngines(facts), EngineVerdict::kSampling);
  facts = kPhotographFacts;
  facts.vertical[2] = 2;
  EXPECT_EQ(JudgeForEngines(facts), EngineVerdict::kSampling);
}

TEST(EnginesTest, RefuseSizesBeyondTheirLimits) {
  JpegHeaderFacts facts = kPhotographFacts;
  facts.width = kMaxEngineSide + 1;
  EXPECT_EQ(JudgeForEngines(facts), EngineVerdict::kSize);
  facts = kPhotographFacts;
  facts.height = kMinEngineSide - 1;
  EXPECT_EQ(JudgeForEngines(facts), EngineVerdict::kSize);
  facts.height = 0;
  EXPECT_EQ(JudgeForEngines(facts), EngineVerdict::kSize);
}

}  // namespace
}  // namespace penstock::jpeg
