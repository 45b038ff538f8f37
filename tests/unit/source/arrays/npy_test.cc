// Datasets of NumPy arrays.
#include "server/source/arrays/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "server/source/parse/directly.h"
#include "tests/support/files/array_maker.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::source {
namespace {

using penstock::testing::CountUp;
using penstock::testing::LittleEndian;
using penstock::testing::Npy;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Opened = absl::StatusOr<std::unique_ptr<Dataset>>;

class NpyTest : public ::testing::Test {
 protected:
  // `arrays`: name and bytes of each array; the files are NAME.npy.
  Opened Open(const std::vector<std::pair<std::string, std::string>>& arrays) const {
    NpyOptions options;
    for (const auto& [name, bytes] : arrays) {
      temp_.Write("data/" + name + ".npy", bytes);
      options.spec.arrays.push_back({name, temp_.At("data/" + name + ".npy")});
    }
    return OpenNpy(options, *DirectParsers());
  }
  Opened OpenAlone(const std::string& bytes) const {
    temp_.Write("data/alone.npy", bytes);
    return OpenNpy({.spec = {.arrays = {{"", temp_.At("data/alone.npy")}}}}, *DirectParsers());
  }
  static std::string Refusal(const Opened& opened) {
    return opened.ok() ? "not refused" : std::string(opened.status().message());
  }
  // The samples' bytes per tensor, or the error.
  static std::vector<std::string> Rows(const Dataset& dataset, const std::vector<uint64_t>& samples,
                                       const std::vector<FieldRequest>& requests = {}) {
    const auto selection = dataset.Select(requests);
    if (!selection.ok()) return {std::string(selection.status().message())};
    std::vector<std::string> blocks;
    std::vector<std::byte*> into;
    for (const uint64_t bytes : selection->layout.blocks)
      blocks.emplace_back(bytes * samples.size(), '?');
    for (std::string& block : blocks) into.push_back(reinterpret_cast<std::byte*>(block.data()));
    const absl::Status copied = dataset.CopyRows(*selection, samples, into);
    return copied.ok() ? blocks : std::vector{std::string(copied.message())};
  }

  penstock::testing::TempFolder temp_;
};

TEST_F(NpyTest, ArraysOfDifferentLengthsAreRefusedWithBoth) {
  const Opened opened = Open({{"x", Npy("|u1", "(3,)", "abc")}, {"y", Npy("|u1", "(2,)", "ab")}});

  EXPECT_THAT(Refusal(opened), HasSubstr("data/y.npy': it has 2 samples, '"));
  EXPECT_THAT(Refusal(opened), HasSubstr("data/x.npy' 3; give arrays of one dataset"));
}

TEST_F(NpyTest, AFileThatEndsElsewhereThanItsHeaderSaysIsRefused) {
  EXPECT_THAT(Refusal(Open({{"x", Npy("<u2", "(3,)", "abcde")}})),
              HasSubstr("is truncated: its header says 3 items of 2 bytes, which end at byte 134; "
                        "the file ends at byte 133"));
  EXPECT_THAT(Refusal(Open({{"x", Npy("<u2", "(3,)", "abcdefg")}})),
              HasSubstr("has bytes after its array"));
}

TEST_F(NpyTest, LabelsThatAreNoneAreRefused) {
  const std::string x = Npy("|u1", "(2,)", "ab");
  EXPECT_THAT(Refusal(Open({{"x", x}, {"label", Npy("<f4", "(2,)", "abcdefgh")}})),
              HasSubstr("1 dimensions of float32; wanted labels"));
  EXPECT_THAT(Refusal(Open({{"x", x}, {"label", Npy("|u1", "(2, 1)", "ab")}})),
              HasSubstr("give it a name other than 'label'"));
  EXPECT_THAT(Refusal(Open({{"x", x},
                            {"label", Npy("<u8", "(2,)",
                                          LittleEndian(std::vector<uint64_t>{1, 1ull << 63}))}})),
              HasSubstr("label 1 is 9223372036854775808; wanted at most"));
  EXPECT_THAT(Refusal(Open({{"label", Npy("|u1", "(2,)", "ab")}})),
              HasSubstr("wanted at least one other array"));
}

TEST_F(NpyTest, ImagesWithTheirChannelsFirstAreRefused) {
  EXPECT_THAT(Refusal(Open({{"image", Npy("|u1", "(1, 3, 2, 17)", std::string(102, 'x'))}})),
              HasSubstr("the last dimension of images is their channels: got 17"));
}

TEST_F(NpyTest, SamplesThatNoBatchCanHoldAreRefused) {
  EXPECT_THAT(Refusal(Open({{"x", Npy("|u1", "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1)", "x")}})),
              HasSubstr("a sample has 9 dimensions"));
  temp_.Write("data/x.npy", Npy("|u1", "(1, 1073741825)", ""));
  std::filesystem::resize_file(temp_.At("data/x.npy"), 128 + 1073741825);
  EXPECT_THAT(
      Refusal(OpenNpy({.spec = {.arrays = {{"x", temp_.At("data/x.npy")}}}}, *DirectParsers())),
      HasSubstr("has 1073741825 bytes; wanted 1073741824 at most"));
}

TEST_F(NpyTest, AFileOutsideOfTheRootsIsRefused) {
  temp_.Write("elsewhere/x.npy", Npy("|u1", "(3,)", "abc"));
  temp_.Link("data/x.npy", temp_.At("elsewhere/x.npy"));

  const Opened opened =
      OpenNpy({.spec = {.arrays = {{"x", temp_.At("data/x.npy")}}}}, *DirectParsers());

  EXPECT_TRUE(absl::IsPermissionDenied(opened.status())) << opened.status();
}

TEST_F(NpyTest, ATensorThatIsNotThereCannotBeWishedFor) {
  const Opened opened = Open({{"x", Npy("|u1", "(3,)", "abc")}, {"y", Npy("|u1", "(3,)", "def")}});
  ASSERT_TRUE(opened.ok()) << opened.status();

  EXPECT_THAT(Rows(**opened, {0}, {{"z"}}), ElementsAre(HasSubstr("have no 'z'")));
}

TEST_F(NpyTest, AFileThatIsCutOffOrWrittenToIsSaidAndNoSignal) {
#ifdef PENSTOCK_TSAN
  GTEST_SKIP() << "ThreadSanitizer takes the signal of a page that is gone for itself";
#endif
  const Opened opened = Open({{"x", Npy("|u1", "(3, 10000)", std::string(30'000, 'x'))},
                              {"y", Npy("|u1", "(3,)", "def")}});
  ASSERT_TRUE(opened.ok()) << opened.status();
  std::filesystem::resize_file(temp_.At("data/x.npy"), 9'000);

  EXPECT_THAT(Rows(**opened, {2}), ElementsAre(HasSubstr("and is 9000")));
  EXPECT_THAT(Rows(**opened, {2}, {{"y"}}), ElementsAre("f"));
}

TEST_F(NpyTest, EachArrayIsATensorOfItsTypeAndShape) {
  const Opened opened = Open({{"pose", Npy("<f4", "(3, 2)", LittleEndian(CountUp<float>(6)))},
                              {"id", Npy("<i8", "(3,)", LittleEndian(CountUp<int64_t>(3, -1)))}});

  ASSERT_TRUE(opened.ok()) << opened.status();
  const auto selection = (*opened)->Select({});
  ASSERT_TRUE(selection.ok());
  const std::vector<Tensor>& tensors = selection->layout.tensors;
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "pose");
  EXPECT_EQ(tensors[0].type, base::DType::kFloat32);
  EXPECT_THAT(tensors[0].shape, ElementsAre(2));
  EXPECT_EQ(tensors[1].type, base::DType::kInt64);
  EXPECT_THAT(tensors[1].shape, IsEmpty());
  EXPECT_THAT(Rows(**opened, {2, 0}), ElementsAre(LittleEndian(std::vector<float>{4, 5, 0, 1}),
                                                  LittleEndian(std::vector<int64_t>{1, -1})));
  EXPECT_FALSE((*opened)->labeled());
  EXPECT_EQ((*opened)->kind(), "npy");
  EXPECT_THAT((*opened)->path(1), HasSubstr("data/pose.npy#1"));
}

TEST_F(NpyTest, RequestedFieldsComeInTheirOrderAndNothingElseDoes) {
  const Opened opened = Open({{"x", Npy("|u1", "(3,)", "abc")},
                              {"y", Npy("|u1", "(3,)", "def")},
                              {"z", Npy("|u1", "(3,)", "ghi")}});
  ASSERT_TRUE(opened.ok()) << opened.status();

  EXPECT_THAT(Rows(**opened, {1, 2}, {{"z"}, {"x"}}), ElementsAre("hi", "bc"));
}

TEST_F(NpyTest, TheArrayOfLabelsIsTheSamplesLabelsWhateverItsType) {
  const std::string image = Npy("|u1", "(3, 1, 2)", "abcdef");
  const std::string labels[] = {
      Npy("|u1", "(3,)", LittleEndian(std::vector<uint8_t>{2, 0, 4})),
      Npy("<i4", "(3,)", LittleEndian(std::vector<int32_t>{2, 0, 4})),
      Npy("<u8", "(3,)", LittleEndian(std::vector<uint64_t>{2, 0, 4})),
  };
  for (const std::string& label : labels) {
    const Opened opened = Open({{"label", label}, {"image", image}});
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_TRUE((*opened)->labeled());
    EXPECT_EQ((*opened)->label(2), 4);
    EXPECT_THAT((*opened)->classes(), ElementsAre("0", "1", "2", "3", "4"));
    EXPECT_THAT(Rows(**opened, {1}), ElementsAre("cd"));
  }
}

TEST_F(NpyTest, LabelsThatAreNegativeOrLargeAreNoClasses) {
  for (const int32_t label : {-1, 65'536}) {
    const Opened opened =
        Open({{"x", Npy("|u1", "(2,)", "ab")},
              {"label", Npy("<i4", "(2,)", LittleEndian(std::vector{0, label}))}});
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ((*opened)->label(1), label);
    EXPECT_THAT((*opened)->classes(), IsEmpty());
  }
}

TEST_F(NpyTest, UnsignedBytesNamedImageAreShownLikeOneAndComeFirst) {
  const Opened opened = Open({{"box", Npy("<f4", "(1, 4)", std::string(16, 'b'))},
                              {"image", Npy("|u1", "(1, 2, 3)", "abcdef")}});
  ASSERT_TRUE(opened.ok()) << opened.status();

  const Selection selection = (*opened)->Select({}).value();

  ASSERT_NE(selection.layout.image(), nullptr);
  EXPECT_THAT(selection.layout.image()->shape, ElementsAre(2, 3, 1));
}

TEST_F(NpyTest, OneArrayAloneIsNamedByWhatItHolds) {
  const std::pair<std::string, std::string> named[] = {
      {Npy("|u1", "(1, 2, 3)", "abcdef"), "image"},
      {Npy("|u1", "(1, 2, 1, 3)", "abcdef"), "image"},
      {Npy("|u1", "(1, 1, 2, 3, 1)", "abcdef"), "data"},
      {Npy("|u1", "(1, 1, 3, 2)", "abcdef"), "data"},
      {Npy("|i1", "(1, 2, 3)", "abcdef"), "data"},
      {Npy("|u1", "(6,)", "abcdef"), "data"},
  };
  for (const auto& [bytes, name] : named) {
    const Opened opened = OpenAlone(bytes);
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ((*opened)->fields()[0].name, name);
  }
}

TEST_F(NpyTest, TheDigestSaysNamesTypesShapesRowsAndLabels) {
  const auto digest = [&](const std::string& name, const std::string& x, const std::string& label) {
    return (*Open({{name, x}, {"label", Npy("|u1", "(2,)", label)}}))->digest();
  };
  const uint64_t before = digest("x", Npy("|u1", "(2, 2)", "abcd"), "ab");

  EXPECT_EQ(digest("x", Npy("|u1", "(2, 2)", "abcd"), "ab"), before);
  EXPECT_NE(digest("y", Npy("|u1", "(2, 2)", "abcd"), "ab"), before);
  EXPECT_NE(digest("x", Npy("|i1", "(2, 2)", "abcd"), "ab"), before);
  EXPECT_NE(digest("x", Npy("|u1", "(2, 2, 1)", "abcd"), "ab"), before);
  EXPECT_NE(digest("x", Npy("|u1", "(2, 2)", "abcx"), "ab"), before);
  EXPECT_NE(digest("x", Npy("|u1", "(2, 2)", "abcd"), "ax"), before);
}

TEST_F(NpyTest, TheStampChangesWithEachFile) {
  ASSERT_TRUE(Open({{"x", Npy("|u1", "(2,)", "ab")}, {"y", Npy("|u1", "(2,)", "cd")}}).ok());
  const NpyOptions options = {
      .spec = {.arrays = {{"x", temp_.At("data/x.npy")}, {"y", temp_.At("data/y.npy")}}}};
  const std::string stamp = NpyStamp(options)->stamp;
  EXPECT_EQ(NpyStamp(options)->stamp, stamp);

  temp_.Write("data/y.npy", Npy("|u1", "(3,)", "cde"));

  EXPECT_NE(NpyStamp(options)->stamp, stamp);
}

}  // namespace
}  // namespace penstock::source
