// Datasets of tokens: windows over files of every format.
#include "server/source/arrays/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "server/source/parse/directly.h"
#include "tests/support/files/array_maker.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::source {
namespace {

using base::DType;
using penstock::testing::CountUp;
using penstock::testing::LittleEndian;
using penstock::testing::LlmC;
using penstock::testing::Megatron;
using penstock::testing::Npy;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Opened = absl::StatusOr<std::unique_ptr<Dataset>>;
using Row = std::vector<int>;

class TokensTest : public ::testing::Test {
 protected:
  // A dataset of these files, with windows of three tokens.
  TokensSpec Spec(const std::vector<std::string>& files) const {
    TokensSpec spec{.length = 3};
    for (const std::string& file : files) spec.files.push_back(temp_.At(file));
    return spec;
  }
  static std::string Refusal(const TokensSpec& spec) {
    const Opened opened = OpenTokens({.spec = spec}, *DirectParsers());
    if (opened.ok()) return "not refused";
    EXPECT_TRUE(absl::IsInvalidArgument(opened.status())) << opened.status();
    return std::string(opened.status().message());
  }
  static std::unique_ptr<Dataset> Open(const TokensSpec& spec) {
    Opened opened = OpenTokens({.spec = spec}, *DirectParsers());
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }

  void WriteTokens(const std::string& name, const std::vector<uint16_t>& tokens) const {
    temp_.Write(name, LittleEndian(tokens));
  }
  void WriteMegatron(const std::string& stem, const std::vector<uint16_t>& tokens,
                     const Megatron& index) const {
    WriteTokens(stem + ".bin", tokens);
    temp_.Write(stem + ".idx", index.Bytes());
  }

  // The blocks of these samples, with the default selection.
  static absl::StatusOr<std::vector<std::string>> Blocks(const Dataset& dataset,
                                                         const std::vector<uint64_t>& samples) {
    const Selection selection = dataset.Select({}).value();
    std::vector<std::string> blocks;
    std::vector<std::byte*> into;
    for (const uint64_t bytes : selection.layout.blocks)
      blocks.emplace_back(bytes * samples.size(), '?');
    for (std::string& block : blocks) into.push_back(reinterpret_cast<std::byte*>(block.data()));
    PENSTOCK_RETURN_IF_ERROR(dataset.CopyRows(selection, samples, into));
    return blocks;
  }
  template <typename Number>
  static Row Numbers(const std::string& bytes) {
    std::vector<Number> numbers(bytes.size() / sizeof(Number));
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return {numbers.begin(), numbers.end()};
  }
  // A sample's uint16 tokens and its last target; empty if copying failed.
  static Row TokensOf(const Dataset& dataset, uint64_t sample) {
    const auto blocks = Blocks(dataset, {sample});
    return blocks.ok() ? Numbers<uint16_t>((*blocks)[0]) : Row{};
  }
  static std::string Trouble(const Dataset& dataset, const std::vector<uint64_t>& samples) {
    return std::string(Blocks(dataset, samples).status().message());
  }

  penstock::testing::TempFolder temp_;
};

// ---- Refusals. ----

TEST_F(TokensTest, WhatIsNotThereIsNotFound) {
  EXPECT_TRUE(
      absl::IsNotFound(OpenTokens({.spec = Spec({"none.bin"})}, *DirectParsers()).status()));
}

TEST_F(TokensTest, AFileOutsideOfTheRootsIsRefused) {
  WriteTokens("elsewhere/x.bin", CountUp<uint16_t>(8));
  temp_.Link("data/x.bin", temp_.At("elsewhere/x.bin"));

  EXPECT_TRUE(absl::IsPermissionDenied(
      OpenTokens({.spec = Spec({"data/x.bin"})}, *DirectParsers()).status()));
}

TEST_F(TokensTest, FewerTokensThanOneWindowAreRefusedWithBothNumbers) {
  WriteTokens("enough.bin", CountUp<uint16_t>(4));
  WriteTokens("few.bin", CountUp<uint16_t>(3));

  EXPECT_THAT(Refusal(Spec({"enough.bin", "few.bin"})),
              AllOf(HasSubstr("few.bin' has 3 tokens; one window of length 3 takes 4"),
                    HasSubstr("leave the file out")));
}

TEST_F(TokensTest, FilesOfDifferentTypesAreRefused) {
  WriteTokens("a.bin", CountUp<uint16_t>(8));
  temp_.Write("b.bin", LlmC(CountUp<uint32_t>(8), 20240801, 7));

  EXPECT_THAT(
      Refusal(Spec({"a.bin", "b.bin"})),
      HasSubstr("b.bin' has tokens of type uint32; wanted uint16, as in the files before it"));
  TokensSpec spec = Spec({"b.bin"});
  spec.type = DType::kUInt16;
  EXPECT_THAT(Refusal(spec), HasSubstr("wanted uint16, the dataset's dtype"));
}

TEST_F(TokensTest, AFormatThatWasSaidIsNotGuessed) {
  temp_.Write("a.bin", LlmC(CountUp<uint16_t>(8)));
  TokensSpec spec = Spec({"a.bin"});
  spec.format = TokenFormat::kNpy;
  EXPECT_THAT(Refusal(spec), HasSubstr("a .npy file begins with"));
  spec.format = TokenFormat::kMegatron;
  EXPECT_TRUE(absl::IsNotFound(OpenTokens({.spec = spec}, *DirectParsers()).status()));
  spec.format = TokenFormat::kRaw;
  EXPECT_EQ(Open(spec)->samples(), (512u + 8 - 4) / 3 + 1);
}

TEST_F(TokensTest, DocumentsThatNobodyMarkedAreRefused) {
  WriteTokens("a.bin", CountUp<uint16_t>(8));
  TokensSpec spec = Spec({"a.bin"});
  spec.documents = true;

  EXPECT_THAT(Refusal(spec), HasSubstr("does not say where documents begin"));
}

TEST_F(TokensTest, AnIndexThatPointsElsewhereIsRefused) {
  WriteMegatron("a", CountUp<uint16_t>(7), Megatron::Of({4, 4}));

  EXPECT_THAT(Refusal(Spec({"a.bin"})),
              AllOf(HasSubstr("a.idx': sequence 1"), HasSubstr("a.bin'")));
}

TEST_F(TokensTest, AWrongVocabularyOrTypeShowsWhenItIsOpened) {
  WriteTokens("a.bin", {1, 2, 50, 3, 4, 5, 6, 7});
  TokensSpec spec = Spec({"a.bin"});
  spec.vocabulary = 50;

  const Opened opened = OpenTokens({.spec = spec}, *DirectParsers());

  EXPECT_TRUE(absl::IsDataLoss(opened.status()));
  EXPECT_THAT(std::string(opened.status().message()),
              AllOf(HasSubstr("a.bin': the token at byte 4, of sample 0, is 50; wanted 0 to 49"),
                    HasSubstr("dtype (now uint16)")));
}

TEST_F(TokensTest, ATokenBeyondTheVocabularyIsFoundWhereverItIsAndNamedWithItsPlace) {
  std::vector<uint16_t> tokens = CountUp<uint16_t>(100);
  tokens[52] = 40'000;
  temp_.Write("a.bin", LlmC(tokens));
  TokensSpec spec = Spec({"a.bin"});
  spec.vocabulary = 100;
  const auto dataset = Open(spec);

  const absl::Status copied = Blocks(*dataset, {3, 17, 5}).status();

  EXPECT_TRUE(absl::IsDataLoss(copied));
  EXPECT_THAT(std::string(copied.message()), HasSubstr("at byte 1128, of sample 17, is 40000"));
  EXPECT_THAT(TokensOf(*dataset, 16), ElementsAre(48, 49, 50, 51));
}

TEST_F(TokensTest, NegativeTokensAreOfNoVocabulary) {
  temp_.Write("a.npy",
              Npy("<i4", "(12,)",
                  LittleEndian(std::vector<int32_t>{1, 2, 3, 4, 5, -6, 7, 8, 9, 10, 11, 12})));
  TokensSpec spec = Spec({"a.npy"});
  spec.vocabulary = 1000;
  const auto dataset = Open(spec);

  EXPECT_THAT(Trouble(*dataset, {1}), HasSubstr("is -6; wanted 0 to 999"));
}

TEST_F(TokensTest, AFileThatIsCutOffIsSaidWithItsNameAndNoSignal) {
#ifdef PENSTOCK_TSAN
  GTEST_SKIP() << "ThreadSanitizer takes the signal of a page that is gone for itself";
#endif
  WriteTokens("a.bin", CountUp<uint16_t>(20'000));
  WriteTokens("b.bin", CountUp<uint16_t>(20'000));
  const auto dataset = Open(Spec({"a.bin", "b.bin"}));
  std::filesystem::resize_file(temp_.At("b.bin"), 9'000);
  const uint64_t last = dataset->samples() - 1;

  EXPECT_TRUE(absl::IsDataLoss(Blocks(*dataset, {0, last}).status()));
  EXPECT_THAT(Trouble(*dataset, {last}),
              AllOf(HasSubstr("b.bin' changed"), HasSubstr("and is 9000")));
  EXPECT_THAT(TokensOf(*dataset, 1), ElementsAre(3, 4, 5, 6));
}

// ---- Delivered windows. ----

TEST_F(TokensTest, TokensAndTargetsAreTwoViewsOfOneBlock) {
  WriteTokens("a.bin", CountUp<uint16_t>(8));
  const auto dataset = Open(Spec({"a.bin"}));

  const Selection selection = dataset->Select({}).value();

  EXPECT_THAT(selection.layout.blocks, ElementsAre(8));
  ASSERT_EQ(selection.layout.tensors.size(), 2u);
  EXPECT_EQ(selection.layout.tensors[0],
            (Tensor{.name = "tokens", .type = DType::kUInt16, .shape = {3}, .block = 0}));
  EXPECT_EQ(
      selection.layout.tensors[1],
      (Tensor{.name = "targets", .type = DType::kUInt16, .shape = {3}, .block = 0, .offset = 2}));
}

TEST_F(TokensTest, OneOfThemMayBeWishedForAlone) {
  WriteTokens("a.bin", CountUp<uint16_t>(8));
  const auto dataset = Open(Spec({"a.bin"}));
  const FieldRequest request[] = {{"targets"}};

  const Selection selection = dataset->Select(request).value();

  ASSERT_EQ(selection.layout.tensors.size(), 1u);
  EXPECT_EQ(selection.layout.tensors[0].offset, 2u);
  const FieldRequest unknown[] = {{"labels"}};
  EXPECT_THAT(std::string(dataset->Select(unknown).status().message()),
              HasSubstr("they have tokens, targets"));
}

TEST_F(TokensTest, WindowsOverRawTokensStayWithinTheirFile) {
  WriteTokens("a.bin", CountUp<uint16_t>(8));
  WriteTokens("b.bin", CountUp<uint16_t>(7, 100));

  const auto dataset = Open(Spec({"a.bin", "b.bin"}));

  EXPECT_EQ(dataset->samples(), 4u);
  EXPECT_THAT(TokensOf(*dataset, 0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(TokensOf(*dataset, 1), ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(TokensOf(*dataset, 2), ElementsAre(100, 101, 102, 103));
  EXPECT_THAT(Numbers<uint16_t>(Blocks(*dataset, {3, 0})->at(0)),
              ElementsAre(103, 104, 105, 106, 0, 1, 2, 3));
  EXPECT_THAT(dataset->path(3), HasSubstr("b.bin#3"));
  EXPECT_EQ(dataset->kind(), "tokens");
  EXPECT_FALSE(dataset->labeled());
  EXPECT_THAT(dataset->classes(), IsEmpty());
}

TEST_F(TokensTest, ARangeInAFilesNameMeansAllOfThemInItsOrder) {
  for (const std::string number : {"08", "09", "10"})
    WriteTokens("train_" + number + ".bin",
                CountUp<uint16_t>(4, static_cast<uint16_t>(std::stoi(number) * 100)));

  const auto dataset = Open(Spec({"train_{08..10}.bin"}));

  EXPECT_EQ(dataset->samples(), 3u);
  EXPECT_THAT(TokensOf(*dataset, 1), ElementsAre(900, 901, 902, 903));
  EXPECT_TRUE(TokensStamp({.spec = Spec({"train_{08..10}.bin"})}).ok());
  EXPECT_THAT(Refusal(Spec({"train_{1..10001}.bin"})), HasSubstr("wanted 10000 at most"));
}

TEST_F(TokensTest, AStrideMakesWindowsOverlap) {
  WriteTokens("a.bin", CountUp<uint16_t>(8));
  TokensSpec spec = Spec({"a.bin"});
  spec.stride = 1;

  const auto dataset = Open(spec);

  EXPECT_EQ(dataset->samples(), 5u);
  EXPECT_THAT(TokensOf(*dataset, 4), ElementsAre(4, 5, 6, 7));
}

TEST_F(TokensTest, EveryFormatOfTheSameTokensGivesTheSameRows) {
  const std::vector<uint16_t> tokens = CountUp<uint16_t>(50, 1000);
  WriteTokens("raw.bin", tokens);
  temp_.Write("llmc.bin", LlmC(tokens));
  temp_.Write("array.npy", Npy("<u2", "(50,)", LittleEndian(tokens)));
  WriteMegatron("megatron", tokens, Megatron::Of({20, 1, 0, 29}));

  for (const std::string file :
       {"raw.bin", "llmc.bin", "array.npy", "megatron.bin", "megatron.idx"}) {
    const auto dataset = Open(Spec({file}));
    ASSERT_EQ(dataset->samples(), 16u) << file;
    for (uint64_t sample = 0; sample < 16; ++sample) {
      const int first = static_cast<int>(1000 + 3 * sample);
      ASSERT_THAT(TokensOf(*dataset, sample), ElementsAre(first, first + 1, first + 2, first + 3))
          << file;
    }
  }
}

TEST_F(TokensTest, MegatronsPrefixIsEnoughWhereTheFormatIsSaid) {
  WriteMegatron("corpus_text_document", CountUp<uint16_t>(8), Megatron::Of({8}));
  TokensSpec spec = Spec({"corpus_text_document"});
  spec.format = TokenFormat::kMegatron;

  EXPECT_EQ(Open(spec)->samples(), 2u);
}

// The tokens may have any type, and reading them as uint16 would silently give wrong ones.
TEST_F(TokensTest, ABinBesideAnIndexThatIsDamagedOrOfSomethingElseIsRefusedUnlessItIsSaidToBeRaw) {
  WriteMegatron("a", CountUp<uint16_t>(8), Megatron::Of({8}));
  for (const std::string& index :
       {std::string("v1.2 2\n"), std::string(), "X" + Megatron::Of({8}).Bytes().substr(1)}) {
    temp_.Write("a.idx", index);

    const absl::Status refused = OpenTokens({.spec = Spec({"a.bin"})}, *DirectParsers()).status();

    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr("a.idx'"), HasSubstr("raw")));
  }
  TokensSpec raw = Spec({"a.bin"});
  raw.format = TokenFormat::kRaw;
  EXPECT_EQ(Open(raw)->samples(), 2u);
}

TEST_F(TokensTest, WindowsGoOverDocumentsInTheIndexsOrderWhereverTheyLie) {
  Megatron index = Megatron::Of({3, 5});
  index.pointers = {10, 0};
  WriteMegatron("a", CountUp<uint16_t>(8), index);

  const auto dataset = Open(Spec({"a.bin"}));

  EXPECT_THAT(TokensOf(*dataset, 0), ElementsAre(5, 6, 7, 0));
  EXPECT_THAT(TokensOf(*dataset, 1), ElementsAre(0, 1, 2, 3));
}

TEST_F(TokensTest, OneDocumentASampleIsPaddedWithZerosAndTheLengthsAreSaid) {
  Megatron index = Megatron::Of({2, 1, 2, 6});
  index.documents = {0, 1, 2, 4};  // the last one has two sequences
  WriteMegatron("a", CountUp<uint16_t>(11, 10), index);
  TokensSpec spec = Spec({"a.bin"});
  spec.documents = true;

  const auto dataset = Open(spec);
  const Selection selection = dataset->Select({}).value();
  const auto blocks = Blocks(*dataset, {0, 1, 2, 3});

  ASSERT_EQ(dataset->samples(), 4u);  // none from the one-token document, three from the last one
  EXPECT_EQ(selection.layout.tensors[0].lengths_block, 1u);
  EXPECT_EQ(selection.layout.tensors[1].lengths_block, 2u);
  ASSERT_TRUE(blocks.ok()) << blocks.status();
  EXPECT_THAT(Numbers<uint16_t>((*blocks)[0]),
              ElementsAre(10, 11, 0, 0, 13, 14, 15, 16, 16, 17, 18, 19, 19, 20, 0, 0));
  EXPECT_THAT(Numbers<int32_t>((*blocks)[1]), ElementsAre(2, 3, 3, 2));
  EXPECT_THAT(Numbers<int32_t>((*blocks)[2]), ElementsAre(1, 3, 3, 1));
}

TEST_F(TokensTest, TheDigestSaysTokensAndHowTheyAreCut) {
  WriteTokens("a.bin", CountUp<uint16_t>(50));
  temp_.Write("b.bin", LlmC(CountUp<uint16_t>(50)));
  const TokensSpec spec = Spec({"a.bin"});
  const uint64_t before = Open(spec)->digest();
  EXPECT_EQ(Open(spec)->digest(), before);
  EXPECT_EQ(Open(Spec({"b.bin"}))->digest(), before);

  TokensSpec other = spec;
  other.length = 4;
  EXPECT_NE(Open(other)->digest(), before);
  other = spec;
  other.stride = 2;
  EXPECT_NE(Open(other)->digest(), before);
  WriteTokens("a.bin", CountUp<uint16_t>(50, 1));
  EXPECT_NE(Open(spec)->digest(), before);
}

TEST_F(TokensTest, TheDigestOfDocumentsSaysWhereTheyBegin) {
  TokensSpec spec = Spec({"a.bin"});
  spec.documents = true;
  WriteMegatron("a", CountUp<uint16_t>(8), Megatron::Of({4, 4}));
  const uint64_t before = Open(spec)->digest();

  WriteMegatron("a", CountUp<uint16_t>(8), Megatron::Of({3, 5}));

  EXPECT_NE(Open(spec)->digest(), before);
}

TEST_F(TokensTest, TheStampChangesWithTheFileAndWithItsIndex) {
  WriteMegatron("a", CountUp<uint16_t>(8), Megatron::Of({4, 4}));
  const TokensOptions options = {.spec = Spec({"a.bin"})};
  const std::string stamp = TokensStamp(options)->stamp;
  EXPECT_EQ(TokensStamp(options)->stamp, stamp);

  temp_.Write("a.idx", Megatron::Of({8}).Bytes());

  EXPECT_NE(TokensStamp(options)->stamp, stamp);
}

}  // namespace
}  // namespace penstock::source
