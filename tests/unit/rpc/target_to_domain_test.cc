#include "server/rpc/target_to_domain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "common/shm/protocol.h"
#include "server/rpc/domain_to_message.h"
#include "server/rpc/message_to_domain.h"

namespace penstock::rpc {
namespace {

using base::BoxFormat;
using base::TargetKind;
using base::TargetSpec;
using ::testing::HasSubstr;

v1::FieldRequest Asked(v1::TargetKind kind) {
  v1::FieldRequest request;
  request.set_name("boxes");
  request.set_max_length(9);
  request.mutable_target()->set_kind(kind);
  return request;
}

TEST(TargetToDomainTest, WithoutATargetTheDatasetSaysWhatTheFieldIs) {
  v1::FieldRequest request;
  request.set_name("boxes");
  request.set_max_length(9);

  const source::FieldRequest got = FieldRequestFrom(request).value();

  EXPECT_EQ(got, (source::FieldRequest{.name = "boxes", .most = 9}));
}

TEST(TargetToDomainTest, BoxesTakeTheirFormatAndTheirSmallestSide) {
  v1::FieldRequest request = Asked(v1::TARGET_KIND_BOXES);
  request.mutable_target()->set_box_format(v1::BOX_FORMAT_CENTER_AND_SIZE);
  request.mutable_target()->set_relative(true);
  request.mutable_target()->set_min_side(2.5f);

  const source::FieldRequest got = FieldRequestFrom(request).value();

  EXPECT_EQ(got.most, 9u);
  EXPECT_EQ(got.target, (TargetSpec{.kind = TargetKind::kBoxes,
                                    .format = BoxFormat::kCenterAndSize,
                                    .relative = 1,
                                    .min_side = 2.5f}));
}

TEST(TargetToDomainTest, BoxesOfLessThanAPixelAreDroppedUnlessTheClientSaysOtherwise) {
  v1::FieldRequest request = Asked(v1::TARGET_KIND_BOXES);
  EXPECT_EQ(FieldRequestFrom(request)->target->min_side, 1);

  request.mutable_target()->set_min_side(0);

  EXPECT_EQ(FieldRequestFrom(request)->target->min_side, 0);
}

TEST(TargetToDomainTest, MasksTakeTheirFillAndPointsTheirPairs) {
  v1::FieldRequest mask = Asked(v1::TARGET_KIND_MASK), points = Asked(v1::TARGET_KIND_POINTS);
  mask.mutable_target()->set_fill(255);
  for (const uint32_t point : {1, 2, 255, 4}) points.mutable_target()->add_point_pairs(point);

  const TargetSpec of_mask = *FieldRequestFrom(mask)->target;
  const TargetSpec of_points = *FieldRequestFrom(points)->target;

  EXPECT_EQ(of_mask, (TargetSpec{.kind = TargetKind::kMask, .fill = 255}));
  EXPECT_EQ(of_points.pairs, 2u);
  EXPECT_EQ(of_points.pair[2], 255);
  EXPECT_EQ(of_points.pair[3], 4);
}

struct Bad {
  v1::TargetKind kind;
  std::function<void(v1::FieldRequest&)> spoil;
  const char* words;
};

TEST(TargetToDomainTest, WhatCannotBeIsRefusedInWordsThatNameTheField) {
  const auto shape = [](uint32_t points, uint32_t numbers) {
    return [=](v1::FieldRequest& r) {
      r.mutable_target()->set_item_points(points);
      r.mutable_target()->set_point_numbers(numbers);
    };
  };
  const auto pairs = [](int count, uint32_t step) {
    return [=](v1::FieldRequest& r) {
      for (int i = 0; i < count; ++i) r.mutable_target()->add_point_pairs(i * step);
    };
  };
  const auto side = [](float value) {
    return [=](v1::FieldRequest& r) { r.mutable_target()->set_min_side(value); };
  };
  for (const Bad& each : {
           Bad{v1::TARGET_KIND_UNSPECIFIED, [](auto&) {}, "kind is missing"},
           Bad{static_cast<v1::TargetKind>(9), [](auto&) {}, "TARGET_KIND_WITH_BOXES (4), got 9"},
           Bad{static_cast<v1::TargetKind>(-1), [](auto&) {}, "got -1"},
           Bad{v1::TARGET_KIND_BOXES,
               [](auto& r) { r.mutable_target()->set_box_format(static_cast<v1::BoxFormat>(3)); },
               "box_format: wanted"},
           Bad{v1::TARGET_KIND_MASK, [](auto& r) { r.mutable_target()->set_fill(256); },
               "fill: wanted 0 to 255, got 256"},
           Bad{v1::TARGET_KIND_POINTS, pairs(66, 1), "at most 32 pairs, got 33"},
           Bad{v1::TARGET_KIND_POINTS, pairs(3, 1), "two numbers for each pair, got 3"},
           Bad{v1::TARGET_KIND_POINTS, pairs(2, 256), "wanted numbers from 0 to 255, got 256"},
           Bad{v1::TARGET_KIND_POINTS, pairs(2, 0), "wanted each point once, got 0 twice"},
           Bad{v1::TARGET_KIND_BOXES, side(-1), "min_side: wanted a number of pixels"},
           Bad{v1::TARGET_KIND_BOXES, side(std::numeric_limits<float>::quiet_NaN()), "min_side"},
           Bad{v1::TARGET_KIND_BOXES, side(std::numeric_limits<float>::infinity()), "min_side"},
           Bad{v1::TARGET_KIND_BOXES, [](auto& r) { r.set_as_stored(true); }, "as_stored"},
           Bad{v1::TARGET_KIND_MASK, [](auto& r) { r.mutable_target()->set_relative(true); },
               "relative is set, which only boxes and points have"},
           Bad{v1::TARGET_KIND_BOXES, [](auto& r) { r.mutable_target()->set_fill(1); },
               "fill is set, which only masks have"},
           Bad{v1::TARGET_KIND_WITH_BOXES, side(1), "min_side is set, which only boxes have"},
           Bad{v1::TARGET_KIND_MASK, pairs(2, 1), "which only points have"},
           Bad{v1::TARGET_KIND_BOXES, shape(0, 2), "point_numbers is set, which only points have"},
           Bad{v1::TARGET_KIND_BOXES, shape(2, 0), "item_points is set, which only points have"},
           Bad{v1::TARGET_KIND_POINTS, shape(0, 4), "point_numbers: wanted 2 or 3"},
           Bad{v1::TARGET_KIND_POINTS, shape(1025, 2), "item_points: wanted at most 1024"},
           Bad{v1::TARGET_KIND_POINTS, shape(17, 0), "item_points is set without point_numbers"},
       }) {
    v1::FieldRequest request = Asked(each.kind);
    each.spoil(request);

    const auto got = FieldRequestFrom(request);

    EXPECT_TRUE(absl::IsInvalidArgument(got.status())) << each.words;
    EXPECT_THAT(std::string(got.status().message()), HasSubstr(each.words));
    EXPECT_THAT(std::string(got.status().message()), HasSubstr("'boxes'"));
  }
}

TEST(TargetToDomainTest, ADatasetsTargetsArriveAsTheyAre) {
  DatasetDescription description;
  description.fields = {
      {.name = "area"},
      {.name = "points", .target = {.kind = TargetKind::kPoints, .pairs = 1, .pair = {1, 2}}},
      {.name = "boxes",
       .target = {.kind = TargetKind::kBoxes, .format = BoxFormat::kCornerAndSize, .min_side = 0}}};

  const v1::DescribeDatasetResponse message = MessageOf(description);

  EXPECT_FALSE(message.fields(0).has_target());
  EXPECT_EQ(*TargetFrom(message.fields(1).target()), description.fields[1].target);
  EXPECT_EQ(*TargetFrom(message.fields(2).target()), description.fields[2].target);
}

TEST(SessionTest, ImagesOnACanvasMayEndWithDifferentSizes) {
  v1::OpenSessionRequest request;
  request.set_protocol_version(shm::kProtocolVersion);
  request.set_batch_size(1);
  request.mutable_feed()->set_dataset("flowers");
  request.mutable_feed()->set_order(v1::ORDER_SHUFFLED);
  v1::ImageDecoding& image = *request.mutable_feed()->mutable_image();
  image.mutable_recipe()->mutable_whole_image()->set_height(80);
  image.mutable_recipe()->mutable_whole_image()->set_width(100);
  EXPECT_THAT(std::string(SessionFrom(request).status().message()), HasSubstr("on a canvas"));

  image.set_canvas(true);

  EXPECT_EQ(SessionFrom(request)->feed.decoding.canvas, 1u);
}

}  // namespace
}  // namespace penstock::rpc
