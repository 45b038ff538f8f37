// Fields that follow the image's geometry: which requests are allowed, and what they resolve to.
#include "server/session/targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/session/validate.h"
#include "tests/support/augment/recipe_maker.h"

namespace penstock::session {
namespace {

using base::TargetKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Photographs, or rows, with fields of all kinds.
class Annotated final : public source::Dataset {
 public:
  explicit Annotated(source::Storage storage = source::Storage::kEncoded) : storage_(storage) {}

  absl::string_view kind() const override { return "annotated"; }
  uint64_t samples() const override { return 100; }
  uint64_t digest() const override { return 2; }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(uint64_t) const override { return 0; }
  std::string path(uint64_t) const override { return ""; }
  source::Storage storage() const override { return storage_; }
  bool packed() const override { return storage_ == source::Storage::kRows; }
  std::vector<source::SampleField> fields() const override {
    return {{.name = "mask", .variable = true, .placed = true},
            {.name = "boxes",
             .type = base::DType::kFloat32,
             .shape = {4},
             .variable = true,
             .placed = true,
             .target = {.kind = TargetKind::kBoxes}},
            {.name = "labels",
             .type = base::DType::kInt64,
             .variable = true,
             .target = {.kind = TargetKind::kWithBoxes}},
            {.name = "flat", .type = base::DType::kFloat32, .variable = true},
            {.name = "pair", .type = base::DType::kFloat32, .shape = {8}},
            {.name = "eyes", .type = base::DType::kFloat32, .shape = {2, 2}, .placed = true},
            {.name = "weight", .type = base::DType::kFloat32}};
  }

 private:
  const source::Storage storage_;
  const std::vector<std::string> classes_ = {"daisy"};
};

source::FieldRequest As(const std::string& name, TargetKind kind, uint32_t most = 0) {
  return {.name = name, .most = most, .target = base::TargetSpec{.kind = kind}};
}

class FitTargetsTest : public ::testing::Test {
 protected:
  static Request With(std::vector<source::FieldRequest> fields) {
    Request request;
    request.dataset_name = "flowers";
    request.share.batch_size = 8;
    request.fields = std::move(fields);
    return request;
  }
  absl::StatusOr<source::Selection> FitTo(const source::Dataset& dataset, Request request) {
    return Fit({.dataset = dataset, .range = {.first = 0, .count = dataset.samples()}}, request);
  }
  std::string Refusal(Request request) { return RefusalOf(photographs_, std::move(request)); }
  std::string RefusalOf(const source::Dataset& dataset, Request request) {
    const absl::Status status = FitTo(dataset, std::move(request)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  }

  const Annotated photographs_{};
};

TEST_F(FitTargetsTest, AMaskHasTheSizeOfTheImage) {
  Request request = With({As("mask", TargetKind::kMask)});
  request.feed.decoding.height = 40;
  request.feed.decoding.width = 60;

  const auto selection = FitTo(photographs_, request);

  ASSERT_TRUE(selection.ok()) << selection.status();
  EXPECT_THAT(selection->layout.tensors[0].shape, ElementsAre(40, 60));
  EXPECT_THAT(selection->layout.blocks, ElementsAre(2400));
}

TEST_F(FitTargetsTest, WhatTheDatasetKnowsFollowsARandomCropByItsName) {
  const auto selection =
      FitTo(photographs_, With({{.name = "labels", .most = 5}, {.name = "boxes", .most = 5}}));

  ASSERT_TRUE(selection.ok()) << selection.status();
  EXPECT_EQ(selection->targets[0].kind, TargetKind::kWithBoxes);
  EXPECT_EQ(selection->targets[1].kind, TargetKind::kBoxes);
}

TEST_F(FitTargetsTest, AListOfNumbersIsBoxesOfFourEach) {
  const auto flat = FitTo(photographs_, With({As("flat", TargetKind::kBoxes, 7)}));
  const auto pair = FitTo(photographs_, With({As("pair", TargetKind::kBoxes)}));

  ASSERT_TRUE(flat.ok() && pair.ok()) << flat.status() << pair.status();
  EXPECT_THAT(flat->layout.tensors[0].shape, ElementsAre(7, 4));
  EXPECT_THAT(pair->layout.tensors[0].shape, ElementsAre(2, 4));
}

TEST_F(FitTargetsTest, AListOfNumbersIsPointsOfTheShapeThatIsRequested) {
  const auto shape = [&](const std::string& name, uint32_t points, uint32_t numbers,
                         uint32_t most) -> std::vector<uint32_t> {
    source::FieldRequest request = As(name, TargetKind::kPoints, most);
    request.target->numbers = numbers;
    request.target->item_points = points;
    const auto selection = FitTo(photographs_, With({request}));
    if (!selection.ok()) return {};
    return selection->layout.tensors[0].shape;
  };
  EXPECT_THAT(shape("flat", 0, 3, 5), ElementsAre(5, 3));
  EXPECT_THAT(shape("flat", 17, 3, 5), ElementsAre(5, 17, 3));
  EXPECT_THAT(shape("pair", 0, 2, 0), ElementsAre(4, 2));
  EXPECT_THAT(shape("pair", 4, 2, 0), ElementsAre(4, 2));
  EXPECT_THAT(shape("pair", 2, 2, 0), ElementsAre(2, 2, 2));
  EXPECT_THAT(shape("pair", 0, 3, 0), ElementsAre());
  EXPECT_THAT(shape("eyes", 0, 0, 0), ElementsAre(2, 2));
}

TEST_F(FitTargetsTest, PointsOfAFixedNumberNeedNoBoxes) {
  EXPECT_TRUE(FitTo(photographs_, With({As("eyes", TargetKind::kPoints)})).ok());
}

TEST_F(FitTargetsTest, WhatAFieldCannotBeIsRefusedWithWhatItIs) {
  EXPECT_THAT(Refusal(With({As("weight", TargetKind::kBoxes)})),
              AllOf(HasSubstr("float32, n × 4"), HasSubstr("'weight'")));
  EXPECT_THAT(Refusal(With({As("boxes", TargetKind::kMask, 3)})), HasSubstr("bytes of a PNG"));
  EXPECT_THAT(Refusal(With({As("flat", TargetKind::kPoints, 3)})), HasSubstr("… × 2 or … × 3"));
  EXPECT_THAT(Refusal(With({As("weight", TargetKind::kWithBoxes)})), HasSubstr("one for each box"));
  EXPECT_THAT(Refusal(With({As("mask", TargetKind::kMask, 1000)})),
              HasSubstr("leave its greatest length out"));
  source::FieldRequest both = As("boxes", TargetKind::kBoxes, 5);
  both.as_stored = true;
  EXPECT_THAT(Refusal(With({both})), HasSubstr("as stored and as a target"));
}

TEST_F(FitTargetsTest, ValuesOfBoxesNeedTheirBoxes) {
  Request request = With({{.name = "labels", .most = 5}});

  EXPECT_THAT(Refusal(request), HasSubstr("'labels' belongs to boxes, which are not requested"));

  request.fields[0].as_stored = true;
  EXPECT_TRUE(FitTo(photographs_, request).ok());
}

TEST_F(FitTargetsTest, BoxesAreRequestedOnce) {
  EXPECT_THAT(Refusal(With({{.name = "boxes", .most = 5}, As("flat", TargetKind::kBoxes, 5)})),
              HasSubstr("wanted boxes once"));
}

TEST_F(FitTargetsTest, ATargetHasOneImageAsItIsStored) {
  const Request good = With({{.name = "boxes", .most = 5}});
  Request views = good, exif = good;
  views.feed.more_images = {"second"};
  views.feed.more_decodings = {views.feed.decoding};
  exif.feed.decoding.exif = decode::Exif::kApply;

  EXPECT_THAT(Refusal(views), HasSubstr("leave feed.more_images out"));
  EXPECT_THAT(Refusal(exif), HasSubstr("leave apply_exif_orientation out"));
}

TEST_F(FitTargetsTest, RowsWithoutImagesHaveNoTargets) {
  Request request = With({{.name = "boxes", .most = 5}});
  request.decoding_mode = DecodingMode::kIfEncoded;

  EXPECT_THAT(RefusalOf(Annotated(source::Storage::kRows), request),
              HasSubstr("have no images that are decoded"));
}

TEST_F(FitTargetsTest, ARecipeThatChoosesItsGeometryItselfIsRefused) {
  Request request = With({{.name = "boxes", .most = 5}});
  request.feed.decoding.geometry = decode::Geometry::kWhole;
  request.feed.decoding.recipe =
      augment::MakeRecipe({augment::MakeStep(augment::Op::kResize, {224, 224}),
                           augment::MakeStep(augment::Op::kTrivialAugmentWide, {31})});

  EXPECT_THAT(Refusal(request), HasSubstr("TrivialAugmentWide"));
}

TEST_F(FitTargetsTest, OnACanvasTheSizeIsNoFieldsName) {
  Request request = With({{.name = "boxes", .most = 5}});
  request.feed.decoding.geometry = decode::Geometry::kWhole;
  request.feed.decoding.canvas = 1;

  EXPECT_TRUE(FitTo(photographs_, request).ok()) << FitTo(photographs_, request).status();

  request.feed.more_images = {"second"};
  request.feed.more_decodings = {request.feed.decoding};
  EXPECT_THAT(Refusal(request), HasSubstr("a canvas is for sessions with one image"));
}

}  // namespace
}  // namespace penstock::session
