// Mixtures: which part a sample belongs to, and which datasets don't fit together.
#include "server/source/core/mixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "server/source/core/synthetic.h"
#include "tests/support/fakes/fake_dataset.h"
#include "tests/support/fakes/fake_rows.h"

namespace penstock::source {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::FakeDataset;
using testing::FakeRows;
using ::testing::HasSubstr;

// Rows with the given classes and fields.
class OtherRows final : public Dataset {
 public:
  OtherRows(std::vector<std::string> classes, std::vector<SampleField> fields, bool labeled = true)
      : classes_(std::move(classes)), fields_(std::move(fields)), labeled_(labeled) {}
  absl::string_view kind() const override { return "other rows"; }
  uint64_t samples() const override { return 5; }
  uint64_t digest() const override { return 3; }
  const std::vector<std::string>& classes() const override { return classes_; }
  bool labeled() const override { return labeled_; }
  int64_t label(uint64_t) const override { return 1; }
  std::string path(uint64_t) const override { return "/other"; }
  Storage storage() const override { return Storage::kRows; }
  uint64_t shard_samples() const override { return 77; }
  std::vector<SampleField> fields() const override { return fields_; }

 private:
  const std::vector<std::string> classes_ = {};
  const std::vector<SampleField> fields_;
  const bool labeled_;
};

// Photographs with additional fields. Each byte is its field's number.
class WithFields final : public Dataset {
 public:
  explicit WithFields(std::vector<SampleField> fields, std::vector<std::string> classes = {})
      : classes_(std::move(classes)), fields_(std::move(fields)) {}
  absl::string_view kind() const override { return "with fields"; }
  uint64_t samples() const override { return 5; }
  uint64_t digest() const override { return 4; }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(uint64_t) const override { return 0; }
  std::string path(uint64_t) const override { return "/with"; }
  std::vector<SampleField> fields() const override { return fields_; }
  std::unique_ptr<Reader> NewReader() const override { return std::make_unique<FieldReader>(); }

 private:
  class FieldReader final : public Reader {
   public:
    absl::StatusOr<Opened> Open(uint64_t) override { return Opened{.bytes = 1}; }
    absl::Status Read(std::span<std::byte>) override { return absl::OkStatus(); }
    absl::StatusOr<base::Fault> ReadFields(const Selection& selection,
                                           std::span<std::byte* const> rows) override {
      for (size_t i = 0; i < rows.size(); ++i)
        *rows[i] = static_cast<std::byte>(100 + selection.fields[i]);
      return base::Fault::kNone;
    }
  };
  const std::vector<std::string> classes_;
  const std::vector<SampleField> fields_;
};

// Rows of three bytes, each in a record of 77 bytes.
class PackedPixels final : public Dataset {
 public:
  absl::string_view kind() const override { return "packed"; }
  uint64_t samples() const override { return 5; }
  uint64_t digest() const override { return 5; }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(uint64_t) const override { return 0; }
  std::string path(uint64_t) const override { return "/packed"; }
  Storage storage() const override { return Storage::kRows; }
  bool packed() const override { return true; }
  uint64_t largest_sample() const override { return 77; }
  std::vector<SampleField> fields() const override {
    return {{.name = "image", .shape = {1, 3, 1}}};
  }
  std::unique_ptr<Reader> NewReader() const override { return std::make_unique<PixelReader>(); }

 private:
  class PixelReader final : public Reader {
   public:
    absl::StatusOr<Opened> Open(uint64_t) override { return Opened{.bytes = 77}; }
    absl::Status Read(std::span<std::byte>) override { return absl::OkStatus(); }
    unpack::Recipe RecipeFor(const Selection&) const override {
      return {.packing = unpack::SamplePacking::kExample};
    }
  };
  const std::vector<std::string> classes_ = {};
};

MixturePart Whole(std::string name, std::shared_ptr<const Dataset> dataset) {
  const uint64_t samples = dataset->samples();
  return {std::move(name), std::move(dataset), 0, samples};
}

SampleField FieldOf(std::string name, std::vector<uint32_t> shape) {
  return {.name = std::move(name), .shape = std::move(shape)};
}

std::string MixtureRefusal(std::vector<MixturePart> parts) {
  const absl::Status status = Mix(std::move(parts)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(MixtureSourceTest, PartsThatDoNotGoTogetherAreNamedWithTheReason) {
  const auto rows = std::make_shared<FakeRows>(5, RowShape{2, 2, 1});
  const auto photographs = std::make_shared<FakeDataset>(5);
  const std::shared_ptr<const Dataset> noise = MakeSynthetic({});

  EXPECT_THAT(MixtureRefusal({Whole("a", rows), Whole("b", photographs)}),
              AllOf(HasSubstr("'a' and 'b'"), HasSubstr("stored rows and photographs")));
  EXPECT_THAT(MixtureRefusal({Whole("a", noise)}), HasSubstr("'a' is synthetic"));
  EXPECT_THAT(MixtureRefusal(
                  {Whole("a", rows), Whole("b", std::make_shared<FakeRows>(5, RowShape{2, 3, 1}))}),
              HasSubstr("image uint8[2 x 2 x 1] and image uint8[2 x 3 x 1]"));
  EXPECT_THAT(MixtureRefusal(
                  {Whole("a", rows),
                   Whole("b", std::make_shared<OtherRows>(
                                  std::vector<std::string>(),
                                  std::vector<SampleField>{FieldOf("image", {2, 2, 1})}, false))}),
              HasSubstr("labeled and without labels"));
}

TEST(MixtureSourceTest, SamplesStandPartBehindPartAndOfARangeThatAlone) {
  const auto mixed = Mix({Whole("a", std::make_shared<FakeDataset>(10)),
                          {"b", std::make_shared<FakeDataset>(100), 40, 20}});
  ASSERT_TRUE(mixed.ok()) << mixed.status();

  EXPECT_EQ((*mixed)->kind(), "mixture");
  EXPECT_EQ((*mixed)->samples(), 30u);
  EXPECT_EQ((*mixed)->path(9), "/fake/9");
  EXPECT_EQ((*mixed)->path(10), "/fake/40");
  EXPECT_EQ((*mixed)->path(29), "/fake/59");
  EXPECT_EQ((*mixed)->label(13), 3);
}

TEST(MixtureSourceTest, ClassesThatAllHaveAreOneSetAndOthersStandBehindEachOther) {
  const auto two = std::make_shared<FakeRows>(5, RowShape{2, 2, 1});  // daisy, rose
  const auto three =
      std::make_shared<OtherRows>(std::vector<std::string>{"cat", "rose", "dog"},
                                  std::vector<SampleField>{FieldOf("image", {2, 2, 1})});

  const auto shared = Mix({Whole("a", two), Whole("b", two)}).value();
  const auto apart = Mix({Whole("a", two), Whole("b", three)}).value();

  EXPECT_THAT(shared->classes(), ElementsAre("daisy", "rose"));
  EXPECT_EQ(shared->label(5), two->label(0));
  EXPECT_THAT(apart->classes(), ElementsAre("a/daisy", "a/rose", "b/cat", "b/rose", "b/dog"));
  EXPECT_EQ(apart->label(1), two->label(1));
  EXPECT_EQ(apart->label(5), 2 + 1);
}

TEST(MixtureSourceTest, ReadersReadEachPartsOwnBytes) {
  const auto bytes_of = [](std::byte base) {
    return [base](uint64_t sample) -> absl::StatusOr<FakeDataset::Bytes> {
      return FakeDataset::Bytes{base, static_cast<std::byte>(sample)};
    };
  };
  const auto mixed = Mix({{"a", std::make_shared<FakeDataset>(10, bytes_of(std::byte{1})), 2, 3},
                          Whole("b", std::make_shared<FakeDataset>(10, bytes_of(std::byte{2})))})
                         .value();
  const auto reader = mixed->NewReader();
  std::vector<std::byte> bytes(2);

  for (const auto& [sample, part, own] :
       {std::tuple{0u, 1, 2}, {4u, 2, 1}, {2u, 1, 4}, {12u, 2, 9}}) {
    const auto opened = reader->Open(sample);
    ASSERT_TRUE(opened.ok());
    EXPECT_EQ(opened->bytes, 2u);
    ASSERT_TRUE(reader->Read(bytes).ok());
    EXPECT_EQ(bytes[0], static_cast<std::byte>(part)) << sample;
    EXPECT_EQ(bytes[1], static_cast<std::byte>(own)) << sample;
  }
}

TEST(MixtureSourceTest, RowsOfSeveralPartsAreCopiedToTheirPlaces) {
  const auto mixed = Mix({Whole("a", std::make_shared<FakeRows>(4, RowShape{1, 3, 1})),
                          {"b", std::make_shared<FakeRows>(50, RowShape{1, 3, 1}), 20, 10}})
                         .value();
  const Selection selection = mixed->Select({}).value();
  const std::vector<uint64_t> samples = {3, 4, 5, 0, 13};
  std::vector<std::byte> rows(15);
  std::byte* into = rows.data();

  ASSERT_TRUE(mixed->CopyRows(selection, samples, std::span(&into, 1)).ok());

  const uint64_t own[] = {3, 20, 21, 0, 29};
  for (size_t row = 0; row < samples.size(); ++row)
    for (size_t j = 0; j < 3; ++j) EXPECT_EQ(rows[3 * row + j], FakeRows::ByteOf(own[row], j));
}

// The mixture's reader copies stored rows directly.
TEST(MixtureSourceTest, PackedAndStoredRowsGoTogether) {
  const auto mixed = Mix({Whole("a", std::make_shared<FakeRows>(4, RowShape{1, 3, 1})),
                          Whole("b", std::make_shared<PackedPixels>())})
                         .value();
  const Selection selection = mixed->Select({}).value();
  const auto reader = mixed->NewReader();
  std::vector<std::byte> row(3);
  std::byte* into = row.data();

  EXPECT_TRUE(mixed->packed());
  EXPECT_EQ(mixed->largest_sample(), 77u);
  EXPECT_EQ(reader->Open(2)->bytes, 0u);
  ASSERT_TRUE(reader->ReadFields(selection, std::span(&into, 1)).ok());
  for (size_t j = 0; j < 3; ++j) EXPECT_EQ(row[j], FakeRows::ByteOf(2, j));
  EXPECT_EQ(reader->RecipeFor(selection).packing, unpack::SamplePacking::kImage);
  EXPECT_EQ(reader->Open(4)->bytes, 77u);
  EXPECT_EQ(reader->RecipeFor(selection).packing, unpack::SamplePacking::kExample);
}

TEST(MixtureSourceTest, ATroubleOfAPartIsTheMixtures) {
  const auto mixed =
      Mix({Whole("a", std::make_shared<FakeRows>(4, RowShape{1, 1, 1})),
           Whole("b", std::make_shared<FakeRows>(4, RowShape{1, 1, 1},
                                                 [](auto) { return absl::DataLossError("EIO"); }))})
          .value();
  const Selection selection = mixed->Select({}).value();
  std::byte row;
  std::byte* into = &row;
  const uint64_t good = 3, bad = 4;

  EXPECT_TRUE(mixed->CopyRows(selection, std::span(&good, 1), std::span(&into, 1)).ok());
  EXPECT_EQ(mixed->CopyRows(selection, std::span(&bad, 1), std::span(&into, 1)).message(), "EIO");
}

TEST(MixtureSourceTest, RowsWithOtherTensorsDoNotGoTogether) {
  const std::vector<std::string> none;
  const std::vector<SampleField> two = {FieldOf("x", {1}), FieldOf("y", {1})};
  const std::vector<SampleField> three = {FieldOf("x", {1}), FieldOf("y", {1}), FieldOf("z", {1})};

  EXPECT_THAT(MixtureRefusal({Whole("a", std::make_shared<OtherRows>(none, two)),
                              Whole("b", std::make_shared<OtherRows>(none, three))}),
              HasSubstr("x uint8[1], y uint8[1] and x uint8[1], y uint8[1], z uint8[1]"));
}

// Photographs' fields are requested by name, so each part may have them in another position.
TEST(MixtureSourceTest, FieldsThatStandElsewhereInAPartAreFoundThere) {
  const auto mixed =
      Mix({Whole("a", std::make_shared<WithFields>(
                          std::vector<SampleField>{FieldOf("mask", {1}), FieldOf("caption", {1})})),
           Whole("b", std::make_shared<WithFields>(std::vector<SampleField>{
                          FieldOf("boxes", {1}), FieldOf("caption", {1}), FieldOf("mask", {1})}))})
          .value();
  const FieldRequest mask[] = {{.name = "mask"}}, boxes[] = {{.name = "boxes"}};
  const auto selection = mixed->Select(mask);
  ASSERT_TRUE(selection.ok()) << selection.status();
  EXPECT_FALSE(mixed->Select(boxes).ok());
  const auto reader = mixed->NewReader();
  std::byte row;
  std::byte* into = &row;

  ASSERT_TRUE(reader->Open(0).ok() && reader->ReadFields(*selection, std::span(&into, 1)).ok());
  EXPECT_EQ(row, std::byte{100});
  ASSERT_TRUE(reader->Open(5).ok() && reader->ReadFields(*selection, std::span(&into, 1)).ok());
  EXPECT_EQ(row, std::byte{102});
}

// Boxes in a format, and labels.
std::shared_ptr<const Dataset> Boxed(base::BoxFormat format, std::vector<std::string> classes) {
  return std::make_shared<WithFields>(
      std::vector<SampleField>{{.name = "boxes",
                                .type = base::DType::kFloat32,
                                .shape = {4},
                                .variable = true,
                                .target = {.kind = base::TargetKind::kBoxes, .format = format}},
                               {.name = kObjectLabels,
                                .type = base::DType::kInt64,
                                .variable = true,
                                .target = {.kind = base::TargetKind::kWithBoxes}}},
      std::move(classes));
}

TEST(MixtureSourceTest, TargetsMeanTheSameInAllPartsWhateverIsRequested) {
  using enum base::BoxFormat;
  const auto selection = [](base::BoxFormat format, std::vector<std::string> classes,
                            const FieldRequest& request) {
    const auto mixed = Mix({Whole("a", Boxed(kCorners, {"cat", "dog"})),
                            Whole("b", Boxed(format, std::move(classes)))});
    return std::string((*mixed)->Select(std::span(&request, 1)).status().message());
  };
  const FieldRequest boxes = {.name = "boxes", .most = 5}, labels = {.name = "labels", .most = 5};
  FieldRequest as_boxes = boxes, as_stored = boxes;
  as_boxes.target = base::TargetSpec{.kind = base::TargetKind::kBoxes};
  as_stored.as_stored = true;

  EXPECT_EQ(selection(kCorners, {"cat", "dog"}, boxes), "");
  EXPECT_EQ(selection(kCorners, {"cat", "dog"}, labels), "");
  EXPECT_EQ(selection(kCorners, {"cat"}, boxes), "");
  EXPECT_THAT(selection(kCenterAndSize, {"cat", "dog"}, boxes), HasSubstr("kinds of targets"));
  EXPECT_THAT(selection(kCenterAndSize, {"cat", "dog"}, as_boxes),
              HasSubstr("'a' and 'b' store 'boxes' in different formats"));
  EXPECT_EQ(selection(kCenterAndSize, {"cat", "dog"}, as_stored), "");
  EXPECT_THAT(selection(kCorners, {"cat"}, labels), HasSubstr("numbers of different classes"));
}

TEST(MixtureSourceTest, AnotherPartOrRangeIsAnotherDigest) {
  const auto a = std::make_shared<FakeDataset>(10), b = std::make_shared<FakeDataset>(20);

  const std::set<uint64_t> digests = {Mix({Whole("a", a), Whole("b", b)}).value()->digest(),
                                      Mix({Whole("a", b), Whole("b", a)}).value()->digest(),
                                      Mix({Whole("a", a), {"b", b, 0, 10}}).value()->digest(),
                                      Mix({Whole("a", a), {"b", b, 1, 10}}).value()->digest(),
                                      Mix({Whole("a", a)}).value()->digest()};

  EXPECT_EQ(digests.size(), 5u);
  EXPECT_EQ(Mix({Whole("x", a)}).value()->digest(), Mix({Whole("y", a)}).value()->digest());
}

TEST(MixtureSourceTest, ItsShardsAreAsLongAsTheLongest) {
  const auto rows =
      std::make_shared<OtherRows>(std::vector<std::string>{"daisy", "rose"},
                                  std::vector<SampleField>{FieldOf("image", {2, 2, 1})});

  EXPECT_EQ(Mix({Whole("a", std::make_shared<FakeRows>(5, RowShape{2, 2, 1})), Whole("b", rows)})
                .value()
                ->shard_samples(),
            77u);
}

}  // namespace
}  // namespace penstock::source
