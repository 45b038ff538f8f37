// Megatron's index: what it must contain, and the errors for anything else.
#include "server/source/arrays/megatron_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files/array_maker.h"

namespace penstock::source {
namespace {

using penstock::testing::LittleEndian;
using penstock::testing::Megatron;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kBin = 20;  // ten tokens

absl::StatusOr<MegatronIndex> ParseMegatron(const std::string& bytes, uint64_t bin_bytes = kBin) {
  return MegatronIndex::Parse(std::as_bytes(std::span(bytes)),
                              {.index = "/d/x.idx", .bin = "/d/x.bin", .bin_bytes = bin_bytes});
}

std::string MegatronRefusal(const std::string& bytes, uint64_t bin_bytes = kBin) {
  const auto index = ParseMegatron(bytes, bin_bytes);
  if (index.ok()) return "not refused";
  EXPECT_EQ(index.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(index.status().message());
}

std::string MegatronRefusal(const Megatron& index, uint64_t bin_bytes = kBin) {
  return MegatronRefusal(index.Bytes(), bin_bytes);
}

Megatron Whole() { return Megatron::Of({3, 0, 7}); }

TEST(MegatronIndexTest, AnythingElseIsRefused) {
  EXPECT_THAT(MegatronRefusal(""),
              AllOf(HasSubstr("'/d/x.idx'"), HasSubstr("begins with MMIDIDX")));
  EXPECT_THAT(MegatronRefusal("v1.2 1000\n"), HasSubstr("byte 0 differs"));
}

TEST(MegatronIndexTest, AnIndexThatEndsAnywhereElseIsRefusedWithThePlace) {
  const std::string whole = Whole().Bytes();
  for (size_t bytes = 9; bytes < whole.size() + 20; ++bytes) {
    std::string cut = whole;
    cut.resize(bytes);
    const bool fits = bytes == whole.size() || bytes == whole.size() + 3;  // 3 modes
    ASSERT_EQ(ParseMegatron(cut).ok(), fits) << bytes;
  }
  EXPECT_THAT(MegatronRefusal(whole + "x"), HasSubstr("end at byte 102, or 105 with modes"));
}

TEST(MegatronIndexTest, NumbersThatNoFileCanHoldAreRefused) {
  std::string huge = Whole().Bytes();
  huge.replace(18, 8, LittleEndian(~uint64_t{0}));
  EXPECT_THAT(MegatronRefusal(huge), HasSubstr("end beyond the file"));
  huge = Whole().Bytes();
  huge.replace(26, 8, LittleEndian(uint64_t{1} << 61));
  EXPECT_THAT(MegatronRefusal(huge), HasSubstr("end beyond the file"));
  EXPECT_THAT(MegatronRefusal(Megatron{.documents = {0}}),
              HasSubstr("wanted at least one document"));
}

TEST(MegatronIndexTest, AVersionOrATypeThatIsNotKnownIsRefused) {
  std::string newer = Whole().Bytes();
  newer[9] = 2;
  EXPECT_THAT(MegatronRefusal(newer), HasSubstr("at byte 9, is 2"));
  Megatron index = Whole();
  for (const auto& [type, said] : {std::pair<uint8_t, std::string>{0, "is 0;"},
                                   {6, "floating point"},
                                   {7, "floating point"},
                                   {9, "is 9;"}}) {
    index.type = type;
    EXPECT_THAT(MegatronRefusal(index), HasSubstr(said));
  }
}

TEST(MegatronIndexTest, ASequenceOutsideOfTheBinIsRefusedWithItsPlace) {
  Megatron index = Whole();
  index.lengths[2] = 8;
  EXPECT_THAT(MegatronRefusal(index),
              AllOf(HasSubstr("sequence 2, at byte 62"),
                    HasSubstr("16 bytes from byte 6 on, outside of '/d/x.bin', "
                              "which ends at byte 20")));
  index = Whole();
  index.pointers[0] = 22;
  EXPECT_THAT(MegatronRefusal(index), HasSubstr("from byte 22 on"));
  index.pointers[0] = -2;
  EXPECT_THAT(MegatronRefusal(index), HasSubstr("outside of"));
  index = Whole();
  index.lengths[0] = -1;
  EXPECT_THAT(MegatronRefusal(index), HasSubstr("sequence 0, at byte 34, has -1 tokens"));
  EXPECT_THAT(MegatronRefusal(Whole(), 18), HasSubstr("ends at byte 18"));
}

TEST(MegatronIndexTest, ABinOrASequenceThatCutsATokenIsRefused) {
  EXPECT_THAT(MegatronRefusal(Whole(), 21),
              AllOf(HasSubstr("'/d/x.bin'"), HasSubstr("ends at byte 21")));
  Megatron index = Whole();
  index.lengths[2] = 6;
  index.pointers[2] = 7;
  EXPECT_THAT(MegatronRefusal(index), HasSubstr("begins at byte 7 of '/d/x.bin', in the middle"));
}

TEST(MegatronIndexTest, TokensThatAreThereTwiceAreRefusedWhateverTheOrder) {
  Megatron index = Megatron::Of({4, 4, 2});
  index.pointers = {8, 2, 16};
  EXPECT_THAT(MegatronRefusal(index),
              HasSubstr("sequence 0, at byte 46, begins at byte 8 of '/d/x.bin', "
                        "where sequence 1 has not ended"));
  index.pointers = {8, 0, 14};
  EXPECT_THAT(MegatronRefusal(index), HasSubstr("sequence 2"));
}

TEST(MegatronIndexTest, DocumentsThatAreNotAllSequencesInOrderAreRefused) {
  Megatron index = Whole();
  index.documents = {0, 2, 1, 3};
  EXPECT_THAT(MegatronRefusal(index),
              HasSubstr("document 2, at byte 86, begins with sequence 1; wanted 2"));
  index.documents = {1, 1, 2, 3};
  EXPECT_THAT(MegatronRefusal(index), HasSubstr("document 0"));
  index.documents = {0, 1, 2, 2};
  EXPECT_THAT(MegatronRefusal(index), HasSubstr("wanted 3, the end of all"));
  index.documents = {0, 1, 4, 3};
  EXPECT_THAT(MegatronRefusal(index), HasSubstr("wanted 1 to 3"));
  index.documents = {0, -1, 2, 3};
  EXPECT_THAT(MegatronRefusal(index), HasSubstr("document 1"));
}

TEST(MegatronIndexTest, ItSaysWhereSequencesAndDocumentsAre) {
  Megatron written = Megatron::Of({3, 0, 7});
  written.documents = {0, 1, 3};
  written.modes = {0, 0, 0};
  const std::string bytes = written.Bytes();

  const auto index = ParseMegatron(bytes);

  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ(index->type(), base::DType::kUInt16);
  EXPECT_EQ(index->sequences(), 3u);
  EXPECT_EQ(index->documents(), 2u);
  EXPECT_EQ(index->TokensOf(2), 7u);
  EXPECT_EQ(index->ByteOf(2), 6u);
  EXPECT_EQ(index->FirstOf(1), 1u);
  EXPECT_EQ(index->FirstOf(2), 3u);
}

TEST(MegatronIndexTest, SequencesMayLieInAnyOrder) {
  Megatron written = Megatron::Of({4, 4, 2});
  written.pointers = {8, 0, 16};
  const std::string bytes = written.Bytes();

  EXPECT_TRUE(ParseMegatron(bytes).ok()) << ParseMegatron(bytes).status();
}

}  // namespace
}  // namespace penstock::source
