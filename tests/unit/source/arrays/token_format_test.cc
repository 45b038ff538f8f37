// Token files: raw, llm.c's, and one-dimensional arrays.
#include "server/source/arrays/token_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/source/arrays/token_check.h"
#include "tests/support/files/array_maker.h"

namespace penstock::source {
namespace {

using base::DType;
using penstock::testing::CountUp;
using penstock::testing::LittleEndian;
using penstock::testing::LlmC;
using penstock::testing::Npy;
using ::testing::AllOf;
using ::testing::HasSubstr;

absl::StatusOr<TokenExtent> Find(TokenFormat format, const std::string& bytes,
                                 DType raw = DType::kUInt16) {
  return FindTokens(
      format,
      {.begin = std::as_bytes(std::span(bytes)).first(std::min(bytes.size(), kTokenBeginning)),
       .bytes = bytes.size(),
       .path = "/data/x.bin"},
      raw);
}

std::string TokensRefusal(TokenFormat format, const std::string& bytes,
                          DType raw = DType::kUInt16) {
  const auto extent = Find(format, bytes, raw);
  if (extent.ok()) return "not refused";
  EXPECT_EQ(extent.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(extent.status().message());
}

TokenFormat RecogniseFormat(const std::string& bytes) {
  return source::RecogniseFormat(std::as_bytes(std::span(bytes)));
}

TEST(RawTokensTest, AnEmptyFileIsRefused) {
  EXPECT_THAT(TokensRefusal(TokenFormat::kRaw, ""),
              AllOf(HasSubstr("'/data/x.bin'"), HasSubstr("it is empty")));
}

TEST(RawTokensTest, AFileThatEndsInTheMiddleOfATokenIsRefusedWithThePlace) {
  EXPECT_THAT(TokensRefusal(TokenFormat::kRaw, "abc"), HasSubstr("ends at byte 3, in the middle"));
  EXPECT_THAT(TokensRefusal(TokenFormat::kRaw, "abcdef", DType::kUInt32),
              HasSubstr("type uint32 have 4 bytes"));
}

TEST(RawTokensTest, AllBytesAreTokens) {
  const auto extent = Find(TokenFormat::kRaw, "abcdef");

  ASSERT_TRUE(extent.ok());
  EXPECT_EQ(extent->offset, 0u);
  EXPECT_EQ(extent->tokens, 3u);
}

TEST(LlmCTest, AHeaderThatEndsTooEarlyIsTruncated) {
  EXPECT_THAT(TokensRefusal(TokenFormat::kLlmC, LlmC(CountUp<uint16_t>(3)).substr(0, 1023)),
              HasSubstr("has 1024 bytes, the file 1023"));
}

TEST(LlmCTest, AnythingElseIsRefusedWithWhatIsKnown) {
  EXPECT_THAT(TokensRefusal(TokenFormat::kLlmC, LlmC(CountUp<uint16_t>(3), 20251013)),
              AllOf(HasSubstr("are 20251013 and 1"), HasSubstr("20240520 with version 1")));
  EXPECT_THAT(TokensRefusal(TokenFormat::kLlmC, LlmC(CountUp<uint16_t>(3), 20240520, 2)),
              HasSubstr("are 20240520 and 2"));
  EXPECT_THAT(TokensRefusal(TokenFormat::kLlmC, LlmC(CountUp<uint16_t>(3), 20240522)),
              HasSubstr("an evaluation's questions"));
}

TEST(LlmCTest, ItsMagicNumberAloneTellsTheFormatWhateverTheVersion) {
  for (const std::string& file :
       {LlmC(CountUp<uint16_t>(3), 20240520, 2), LlmC(CountUp<uint32_t>(3), 20240801, 8),
        LlmC(CountUp<uint16_t>(3)).substr(0, 6)})
    EXPECT_EQ(RecogniseFormat(file), TokenFormat::kLlmC);
}

TEST(LlmCTest, ACountThatTheFileDoesNotHaveIsRefusedWithBothEnds) {
  const std::string whole = LlmC(CountUp<uint16_t>(5));

  EXPECT_THAT(TokensRefusal(TokenFormat::kLlmC, whole.substr(0, whole.size() - 1)),
              HasSubstr("end at byte 1034; the file ends at byte 1033"));
  EXPECT_THAT(TokensRefusal(TokenFormat::kLlmC, whole + "x"), HasSubstr("ends at byte 1035"));
  EXPECT_THAT(TokensRefusal(TokenFormat::kLlmC, LlmC(std::vector<uint16_t>{})),
              HasSubstr("says 0 tokens"));
  std::string negative = whole;
  negative[11] = '\xff';
  EXPECT_THAT(TokensRefusal(TokenFormat::kLlmC, negative), HasSubstr("says -"));
}

TEST(LlmCTest, TokensHaveTheTypeOfTheirMagicNumber) {
  const auto gpt2 = Find(TokenFormat::kLlmC, LlmC(CountUp<uint16_t>(5)));
  const auto llama3 = Find(TokenFormat::kLlmC, LlmC(CountUp<uint32_t>(5), 20240801, 7));

  ASSERT_TRUE(gpt2.ok() && llama3.ok()) << gpt2.status() << llama3.status();
  EXPECT_EQ(gpt2->type, DType::kUInt16);
  EXPECT_EQ(llama3->type, DType::kUInt32);
  EXPECT_EQ(gpt2->offset, 1024u);
  EXPECT_EQ(llama3->tokens, 5u);
}

TEST(NpyTokensTest, WhatIsNoRowOfIntegersIsRefused) {
  EXPECT_THAT(TokensRefusal(TokenFormat::kNpy, Npy("<f4", "(3,)", std::string(12, 'x'))),
              HasSubstr("1 dimensions of float32; wanted tokens"));
  EXPECT_THAT(TokensRefusal(TokenFormat::kNpy, Npy("<u2", "(3, 1)", "abcdef")),
              HasSubstr("2 dimensions"));
  EXPECT_THAT(TokensRefusal(TokenFormat::kNpy, Npy("<u2", "(3,)", "abcde")),
              HasSubstr("3 tokens, which"));
  EXPECT_THAT(TokensRefusal(TokenFormat::kNpy, "raw tokens"), HasSubstr("a .npy file begins with"));
}

TEST(NpyTokensTest, TheArraysTypeIsTheTokens) {
  const auto extent = Find(TokenFormat::kNpy, Npy("<i8", "(2,)", std::string(16, 'x')));

  ASSERT_TRUE(extent.ok()) << extent.status();
  EXPECT_EQ(extent->type, DType::kInt64);
  EXPECT_EQ(extent->tokens, 2u);
}

TEST(TokenFormatTest, AFileIsToldByItsContent) {
  EXPECT_EQ(RecogniseFormat(Npy("<u2", "(3,)", "abcdef")), TokenFormat::kNpy);
  EXPECT_EQ(RecogniseFormat(LlmC(CountUp<uint16_t>(5))), TokenFormat::kLlmC);
  EXPECT_EQ(RecogniseFormat(LlmC(CountUp<uint32_t>(5), 20240801, 7)), TokenFormat::kLlmC);
  EXPECT_EQ(RecogniseFormat(LlmC(CountUp<uint16_t>(5), 20240522)),
            TokenFormat::kLlmC);  // recognised, but later refused
  EXPECT_EQ(RecogniseFormat(LlmC(CountUp<uint16_t>(5), 20240520, 9)), TokenFormat::kLlmC);
  EXPECT_EQ(RecogniseFormat(""), TokenFormat::kRaw);
  EXPECT_EQ(RecogniseFormat(LittleEndian(CountUp<uint16_t>(5000))), TokenFormat::kRaw);
}

TEST(TokenFormatTest, NamesAreRead) {
  for (const TokenFormat format : {TokenFormat::kAuto, TokenFormat::kRaw, TokenFormat::kLlmC,
                                   TokenFormat::kMegatron, TokenFormat::kNpy})
    EXPECT_EQ(TokenFormatFromName(TokenFormatName(format)), format);
  EXPECT_EQ(TokenFormatFromName("tar"), std::nullopt);
}

// ---- The vocabulary. ----

template <typename Token>
std::optional<size_t> Beyond(const std::vector<Token>& tokens, DType type, uint64_t vocabulary) {
  return FirstBeyond(std::as_bytes(std::span(tokens)), type, vocabulary);
}

TEST(VocabularyTest, TheFirstTokenBeyondItIsFoundWhereverItIs) {
  for (const size_t place : {0, 1, 1023, 1024, 2047, 2600, 2698}) {
    std::vector<uint16_t> tokens(2700, 99);
    tokens[place] = 100;
    tokens.back() = 65'535;
    ASSERT_EQ(Beyond(tokens, DType::kUInt16, 100), place);
    EXPECT_EQ(Beyond(tokens, DType::kUInt16, 101), 2699u);
    EXPECT_EQ(Beyond(tokens, DType::kUInt16, 65'536), std::nullopt);
  }
}

TEST(VocabularyTest, EveryTypesGreatestAndNegativeTokensAreBeyondIt) {
  EXPECT_EQ(Beyond<uint8_t>({1, 255}, DType::kUInt8, 255), 1u);
  EXPECT_EQ(Beyond<int8_t>({1, -1}, DType::kInt8, 128), 1u);
  EXPECT_EQ(Beyond<int16_t>({1, -1}, DType::kInt16, 50'000), 1u);
  EXPECT_EQ(Beyond<int32_t>({1, -1}, DType::kInt32, 50'000), 1u);
  EXPECT_EQ(Beyond<uint32_t>({1, 50'000}, DType::kUInt32, 50'000), 1u);
  EXPECT_EQ(Beyond<int64_t>({1, -1}, DType::kInt64, uint64_t{1} << 62), 1u);
  EXPECT_EQ(Beyond<int64_t>({1, 49'999}, DType::kInt64, 50'000), std::nullopt);
}

TEST(VocabularyTest, ATokenIsReadAsItsType) {
  const std::vector<int16_t> tokens = {7, -2};
  const auto bytes = std::as_bytes(std::span(tokens));

  EXPECT_EQ(TokenAt(bytes, DType::kInt16, 1), -2);
  EXPECT_EQ(TokenAt(bytes, DType::kUInt16, 1), 65'534);
  EXPECT_EQ(TokenAt(bytes, DType::kUInt8, 0), 7);
}

}  // namespace
}  // namespace penstock::source
