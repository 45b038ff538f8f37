// The tokens of each sample, compared with a model that copies them one by one.
#include "server/source/arrays/token_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::source {
namespace {

using ::testing::ElementsAre;

// Names each token by its file and byte: "1@4".
std::vector<std::string> TokensOf(const TokenWindows& windows, uint64_t sample) {
  std::vector<std::string> tokens;
  const uint32_t count = windows.ForEachPart(sample, [&](const Stretch& part) {
    for (uint64_t i = 0; i < part.tokens; ++i)
      tokens.push_back(std::to_string(part.file) + "@" +
                       std::to_string(part.byte + i * windows.shape().token_bytes));
  });
  EXPECT_EQ(count, tokens.size());
  return tokens;
}

using TokenWindowsDeathTest = ::testing::Test;

TEST(TokenWindowsDeathTest, ASampleBeyondTheLastIsNeverLookedUp) {
  TokenWindows windows({.length = 2, .stride = 2, .token_bytes = 2}, Ends::kLeftOut);
  EXPECT_DEATH(TokensOf(windows, 0), "cannot happen");
  windows.Add({.file = 0, .byte = 0, .tokens = 5});
  windows.EndSequence();

  EXPECT_DEATH(TokensOf(windows, 2), "cannot happen");
}

TEST(TokenWindowsTest, FewerTokensThanAWindowAreNoSample) {
  TokenWindows windows({.length = 4, .stride = 4, .token_bytes = 2}, Ends::kLeftOut);

  windows.Add({.file = 0, .byte = 0, .tokens = 4});

  EXPECT_EQ(windows.EndSequence(), 0u);
  EXPECT_EQ(windows.samples(), 0u);
}

TEST(TokenWindowsTest, AWindowIsItsLengthAndOneMoreAndTheNextBeginsAStrideLater) {
  TokenWindows windows({.length = 2, .stride = 2, .token_bytes = 2}, Ends::kLeftOut);
  windows.Add({.file = 3, .byte = 1024, .tokens = 6});

  EXPECT_EQ(windows.EndSequence(), 2u);

  EXPECT_THAT(TokensOf(windows, 0), ElementsAre("3@1024", "3@1026", "3@1028"));
  EXPECT_THAT(TokensOf(windows, 1), ElementsAre("3@1028", "3@1030", "3@1032"));
}

TEST(TokenWindowsTest, WindowsMayOverlapOrLeaveGaps) {
  for (const auto& [stride, samples] : {std::pair<uint64_t, uint64_t>{1, 8}, {7, 2}, {8, 1}}) {
    TokenWindows windows({.length = 2, .stride = stride, .token_bytes = 1}, Ends::kLeftOut);
    windows.Add({.file = 0, .byte = 0, .tokens = 10});
    windows.EndSequence();
    EXPECT_EQ(windows.samples(), samples);
    EXPECT_EQ(TokensOf(windows, samples - 1)[0], "0@" + std::to_string((samples - 1) * stride));
  }
}

TEST(TokenWindowsTest, NoWindowHasTokensOfTwoSequences) {
  TokenWindows windows({.length = 2, .stride = 2, .token_bytes = 1}, Ends::kLeftOut);
  for (const uint32_t file : {0, 1, 2}) {
    windows.Add({.file = file, .byte = 0, .tokens = file == 1 ? uint64_t{2} : uint64_t{4}});
    windows.EndSequence();
  }

  EXPECT_EQ(windows.samples(), 2u);
  EXPECT_THAT(TokensOf(windows, 0), ElementsAre("0@0", "0@1", "0@2"));
  EXPECT_THAT(TokensOf(windows, 1), ElementsAre("2@0", "2@1", "2@2"));
}

TEST(TokenWindowsTest, ASequenceGoesOnWhereverItsStretchesLie) {
  TokenWindows windows({.length = 3, .stride = 3, .token_bytes = 2}, Ends::kLeftOut);
  windows.Add({.file = 0, .byte = 100, .tokens = 2});
  windows.Add({.file = 0, .byte = 0, .tokens = 0});
  windows.Add({.file = 0, .byte = 10, .tokens = 1});
  windows.Add({.file = 1, .byte = 12, .tokens = 4});
  windows.EndSequence();

  EXPECT_EQ(windows.samples(), 2u);
  EXPECT_THAT(TokensOf(windows, 0), ElementsAre("0@100", "0@102", "0@10", "1@12"));
  EXPECT_THAT(TokensOf(windows, 1), ElementsAre("1@12", "1@14", "1@16", "1@18"));
}

TEST(TokenWindowsTest, StretchesThatContinueEachOtherAreOneAlsoAcrossSequences) {
  TokenWindows windows({.length = 1, .stride = 1, .token_bytes = 2}, Ends::kShort);
  for (uint64_t i = 0; i < 1000; ++i) {
    windows.Add({.file = 0, .byte = 4 * i, .tokens = 2});
    windows.EndSequence();
  }

  EXPECT_EQ(windows.samples(), 1000u);
  EXPECT_LE(windows.MemoryBytes(), 1024 * 16 + 16u * 2);
  EXPECT_THAT(TokensOf(windows, 999), ElementsAre("0@3996", "0@3998"));
}

TEST(TokenWindowsTest, WhereWindowsMayBeShortEveryTokenIsSomewhereATarget) {
  for (uint64_t tokens = 0; tokens < 20; ++tokens)
    for (uint64_t stride = 1; stride <= 4; ++stride) {
      TokenWindows windows({.length = 4, .stride = stride, .token_bytes = 1}, Ends::kShort);
      windows.Add({.file = 0, .byte = 0, .tokens = tokens});
      windows.EndSequence();
      uint64_t targets = 0;  // the number of targets covered so far
      for (uint64_t sample = 0; sample < windows.samples(); ++sample) {
        const std::vector<std::string> window = TokensOf(windows, sample);
        ASSERT_GE(window.size(), 2u);
        ASSERT_LE(window.size(), 5u);
        ASSERT_LT(targets, sample * stride + window.size() - 1) << "it brings nothing new";
        ASSERT_LE(sample * stride, targets);
        targets = sample * stride + window.size() - 1;
      }
      ASSERT_EQ(targets, tokens < 2 ? 0 : tokens - 1) << tokens << " by " << stride;
    }
}

TEST(TokenWindowsTest, AStrideBeyondTheLengthNeverBeginsAtTheLastToken) {
  TokenWindows windows({.length = 2, .stride = 5, .token_bytes = 1}, Ends::kShort);
  windows.Add({.file = 0, .byte = 0, .tokens = 6});
  windows.EndSequence();
  EXPECT_EQ(windows.samples(), 1u);

  windows.Add({.file = 1, .byte = 0, .tokens = 7});
  windows.EndSequence();

  EXPECT_EQ(windows.samples(), 3u);
  EXPECT_THAT(TokensOf(windows, 2), ElementsAre("1@5", "1@6"));
}

}  // namespace
}  // namespace penstock::source
