#include "server/rpc/message_to_domain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "common/shm/doorway_wire.h"

namespace penstock::rpc {
namespace {

using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string Words(const absl::Status& status) { return std::string(status.message()); }

v1::OpenSessionRequest GoodRequest() {
  v1::OpenSessionRequest request;
  request.set_protocol_version(shm::kProtocolVersion);
  request.set_batch_size(32);
  v1::FeedSpec& feed = *request.mutable_feed();
  feed.set_dataset("flowers");
  feed.set_order(v1::ORDER_SHUFFLED);
  feed.set_seed(7);
  v1::RandomResizedCrop& crop = *feed.mutable_image()->mutable_random_resized_crop();
  crop.set_height(224);
  crop.set_width(192);
  return request;
}

struct BadRequest {
  std::string name;
  std::function<void(v1::OpenSessionRequest&)> spoil;
  std::string words;
};

v1::RandomResizedCrop& Crop(v1::OpenSessionRequest& request) {
  return *request.mutable_feed()->mutable_image()->mutable_random_resized_crop();
}
v1::ResizeCenterCrop& Center(v1::OpenSessionRequest& request) {
  return *request.mutable_feed()->mutable_image()->mutable_resize_center_crop();
}
v1::ImageDecoding& Image(v1::OpenSessionRequest& request) {
  return *request.mutable_feed()->mutable_image();
}

class BadRequestTest : public ::testing::TestWithParam<BadRequest> {};

TEST_P(BadRequestTest, IsRefusedInWordsThatNameTheField) {
  v1::OpenSessionRequest request = GoodRequest();
  GetParam().spoil(request);

  const auto session = SessionFrom(request);

  EXPECT_TRUE(absl::IsInvalidArgument(session.status())) << session.status();
  EXPECT_THAT(Words(session.status()), HasSubstr(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(
    EachField, BadRequestTest,
    ::testing::Values(
        BadRequest{"BatchSizeZero", [](auto& r) { r.set_batch_size(0); },
                   "batch_size: wanted 1 to 65536, got 0"},
        BadRequest{"BatchSizeHuge", [](auto& r) { r.set_batch_size(~0u); }, "batch_size"},
        BadRequest{"WindowAboveTheControlPage", [](auto& r) { r.set_window(257); },
                   "window: wanted 1 to 256 batches ahead, got 257"},
        BadRequest{"WorldHuge", [](auto& r) { r.set_world_size(~0u); }, "world_size"},
        BadRequest{"RankOutsideTheWorld",
                   [](auto& r) {
                     r.set_world_size(2);
                     r.set_rank(2);
                   },
                   "rank: wanted 0 to 1 in a world of 2, got 2"},
        BadRequest{"RankWithoutAWorld", [](auto& r) { r.set_rank(1); },
                   "rank: wanted 0 to 0 in a world of 1"},
        BadRequest{"NoFeed", [](auto& r) { r.clear_feed(); }, "feed is missing"},
        BadRequest{"NoDataset", [](auto& r) { r.mutable_feed()->clear_dataset(); },
                   "dataset is missing"},
        BadRequest{"DatasetTooLong",
                   [](auto& r) { r.mutable_feed()->set_dataset(std::string(4097, 'x')); },
                   "dataset: wanted at most 4096 bytes, got 4097"},
        BadRequest{"DatasetWithNul",
                   [](auto& r) { r.mutable_feed()->set_dataset(std::string("a\0b", 3)); },
                   "has control characters"},
        BadRequest{"NoOrder", [](auto& r) { r.mutable_feed()->clear_order(); }, "feed.order"},
        BadRequest{
            "UnknownOrder", [](auto& r) { r.mutable_feed()->set_order(static_cast<v1::Order>(9)); },
            "feed.order: wanted ORDER_SEQUENTIAL (1), ORDER_SHUFFLED (2), ORDER_GIVEN (3) or "
            "ORDER_SHUFFLED_IN_WINDOWS (4), got 9"},
        BadRequest{"GivenOrderWithoutAName",
                   [](auto& r) { r.mutable_feed()->set_order(v1::ORDER_GIVEN); },
                   "feed.given_order is missing; send the order with SendOrder"},
        BadRequest{"AGivenOrderThatIsNotMeant",
                   [](auto& r) { r.mutable_feed()->set_given_order(7); },
                   "feed.given_order: wanted none, because feed.order is ORDER_SHUFFLED"},
        BadRequest{"UnknownRemainder",
                   [](auto& r) { r.set_remainder(static_cast<v1::Remainder>(9)); },
                   "remainder: wanted"},
        BadRequest{"NoDefaultImage",
                   [](auto& r) {
                     r.mutable_feed()->clear_image();
                     r.mutable_feed()->set_image_by_default(true);
                   },
                   "feed.image is missing"},
        BadRequest{"NoGeometry", [](auto& r) { Image(r).clear_geometry(); },
                   "feed.image.geometry is missing"},
        BadRequest{"HeightZero", [](auto& r) { Crop(r).set_height(0); }, "height"},
        BadRequest{"WidthHuge", [](auto& r) { Crop(r).set_width(16385); }, "width"},
        BadRequest{"ScaleNan", [](auto& r) { Crop(r).set_scale_min(kNan); }, "scale"},
        BadRequest{"ScaleInfinite", [](auto& r) { Crop(r).set_scale_max(kInfinity); }, "scale"},
        BadRequest{"ScaleNegative",
                   [](auto& r) {
                     Crop(r).set_scale_min(-1);
                     Crop(r).set_scale_max(1);
                   },
                   "scale"},
        BadRequest{"ScaleWithoutMaximum", [](auto& r) { Crop(r).set_scale_min(0.5); }, "scale"},
        BadRequest{"RatioNan", [](auto& r) { Crop(r).set_ratio_max(kNan); }, "ratio"},
        BadRequest{"RatioReversed",
                   [](auto& r) {
                     Crop(r).set_ratio_min(2);
                     Crop(r).set_ratio_max(1);
                   },
                   "ratio"},
        BadRequest{"FlipNan", [](auto& r) { Image(r).set_flip_probability(kNan); },
                   "flip_probability"},
        BadRequest{"FlipAboveOne", [](auto& r) { Image(r).set_flip_probability(1.5); },
                   "flip_probability"},
        BadRequest{"UnknownColor", [](auto& r) { Image(r).set_color(static_cast<v1::Color>(9)); },
                   "feed.image.color: wanted COLOR_RGB (1), COLOR_GRAY (2) or none, got 9"},
        BadRequest{"ResizeBelowTheCrop",
                   [](auto& r) {
                     Center(r).set_resize(100);
                     Center(r).set_height(224);
                     Center(r).set_width(224);
                   },
                   "resize"},
        BadRequest{"CanvasOfACrop", [](auto& r) { Image(r).set_canvas(true); },
                   "canvas: wanted true for whole images only"},
        BadRequest{"TargetWithoutAKind",
                   [](auto& r) { r.mutable_feed()->add_fields()->mutable_target(); },
                   "kind is missing"},
        BadRequest{"NameTooLong", [](auto& r) { r.set_name(std::string(129, 'x')); },
                   "name: wanted at most 128 bytes, got 129"},
        BadRequest{"NameThatWouldMoveTheCursor", [](auto& r) { r.set_name("\x1b[2J"); },
                   "name: '\\x1b[2J' has control characters"}),
    [](const auto& info) { return info.param.name; });

TEST(ProtocolTest, AnOldClientIsToldBothVersionsAndToUpgradeItsLibrary) {
  v1::OpenSessionRequest request = GoodRequest();
  request.set_protocol_version(shm::kProtocolVersion - 1);

  const auto session = SessionFrom(request);

  EXPECT_TRUE(absl::IsFailedPrecondition(session.status()));
  EXPECT_THAT(Words(session.status()),
              HasSubstr("the client speaks protocol version 0, this daemon version 1; upgrade the "
                        "client library"));
}

TEST(ProtocolTest, ANewClientIsToldToUpgradeTheDaemon) {
  v1::OpenSessionRequest request = GoodRequest();
  request.set_protocol_version(shm::kProtocolVersion + 1);

  EXPECT_THAT(Words(SessionFrom(request).status()), HasSubstr("upgrade the daemon"));
}

TEST(TicketTest, AMissingTicketIsUnauthenticatedAndSaysWhereToGetOne) {
  const auto ticket = TicketFrom(std::nullopt);

  EXPECT_TRUE(absl::IsUnauthenticated(ticket.status()));
  EXPECT_THAT(Words(ticket.status()), HasSubstr("say Hello at the doorway"));
}

TEST(TicketTest, WhatIsNot32HexDigitsIsUnauthenticated) {
  EXPECT_TRUE(absl::IsUnauthenticated(TicketFrom("").status()));
  EXPECT_TRUE(absl::IsUnauthenticated(TicketFrom(std::string(31, 'a')).status()));
  EXPECT_TRUE(absl::IsUnauthenticated(TicketFrom(std::string(33, 'a')).status()));
  EXPECT_TRUE(absl::IsUnauthenticated(TicketFrom(std::string(32, 'g')).status()));
}

TEST(TicketTest, HexDigitsOfBothCasesAreRead) {
  const auto ticket = TicketFrom("000102030405060708090a0B0c0D0e0F");

  ASSERT_TRUE(ticket.ok()) << ticket.status();
  for (int i = 0; i < 16; ++i) EXPECT_EQ(ticket->bytes[i], i);
}

TEST(SessionTest, WhatIsLeftOutGetsItsDefault) {
  const auto session = SessionFrom(GoodRequest());

  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(session->share.world, 1u);
  EXPECT_EQ(session->window, 4u);
  EXPECT_EQ(session->share.remainder, plan::Remainder::kPartial);
  EXPECT_EQ(session->first_epoch, 0u);
  EXPECT_EQ(session->share.consumed, 0u);
  EXPECT_EQ(session->feed.seed, 7u);
  EXPECT_EQ(session->feed.decoding.height, 224u);
  EXPECT_EQ(session->feed.decoding.width, 192u);
  EXPECT_DOUBLE_EQ(session->feed.decoding.scale_min, 0.08);
  EXPECT_DOUBLE_EQ(session->feed.decoding.ratio_max, 4.0 / 3.0);
}

TEST(SessionTest, WithSeveralRanksTheRemainderIsPaddedByDefault) {
  v1::OpenSessionRequest request = GoodRequest();
  request.set_world_size(2);

  EXPECT_EQ(SessionFrom(request)->share.remainder, plan::Remainder::kPadRanks);
}

TEST(SessionTest, ByDefaultTwoRanksOfFortySamplesTakeTwentyEachAsWithTorch) {
  v1::OpenSessionRequest request = GoodRequest();
  request.set_world_size(2);
  request.set_batch_size(16);

  plan::Share share = {.samples = 40, .world = 2, .batch_size = 16};
  share.remainder = SessionFrom(request)->share.remainder;

  ASSERT_EQ(plan::BatchCount(share), 2u);
  EXPECT_EQ(plan::BatchAt(share, 0).rows, 16u);
  EXPECT_EQ(plan::BatchAt(share, 1).rows, 4u);
}

TEST(SessionTest, AStateGoesOnWhereItWasTakenWithItsOwnSeed) {
  v1::OpenSessionRequest request = GoodRequest();
  v1::FeedState& state = *request.mutable_state();
  state.set_epoch(3);
  state.set_consumed(640);
  state.set_seed(11);
  state.set_fingerprint(0xabc);

  const auto session = SessionFrom(request);

  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(session->first_epoch, 3u);
  EXPECT_EQ(session->share.consumed, 640u);
  EXPECT_EQ(session->feed.seed, 11u);
  EXPECT_EQ(session->expected_fingerprint, 0xabcu);
}

TEST(SessionTest, ACenterCropIsTakenAsAsked) {
  v1::OpenSessionRequest request = GoodRequest();
  Center(request).set_resize(256);
  Center(request).set_height(224);
  Center(request).set_width(200);
  Image(request).set_flip_probability(0.5);

  const auto session = SessionFrom(request);

  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(session->feed.decoding.geometry, decode::Geometry::kResizeCenterCrop);
  EXPECT_EQ(session->feed.decoding.resize, 256u);
  EXPECT_EQ(session->feed.decoding.width, 200u);
  EXPECT_DOUBLE_EQ(session->feed.decoding.flip_probability, 0.5);
}

TEST(SessionTest, ADecodingIsAskedForOrADefaultAndWithoutOneRowsAreAsTheyAreStored) {
  v1::OpenSessionRequest request = GoodRequest();
  EXPECT_EQ(SessionFrom(request)->decoding_mode, session::DecodingMode::kRequired);

  request.mutable_feed()->set_image_by_default(true);
  EXPECT_EQ(SessionFrom(request)->decoding_mode, session::DecodingMode::kIfEncoded);

  request.mutable_feed()->set_image_by_default(false);
  request.mutable_feed()->clear_image();
  EXPECT_EQ(SessionFrom(request)->decoding_mode, session::DecodingMode::kNone);
}

TEST(SessionTest, ColorAndOrientationAreTakenAsAskedAndPlainOtherwise) {
  v1::OpenSessionRequest request = GoodRequest();
  const auto plain = SessionFrom(request);
  Image(request).set_color(v1::COLOR_GRAY);
  Image(request).set_apply_exif_orientation(true);

  const auto session = SessionFrom(request);

  ASSERT_TRUE(plain.ok() && session.ok()) << session.status();
  EXPECT_EQ(plain->feed.decoding.color, decode::Color::kRgb);
  EXPECT_EQ(plain->feed.decoding.exif, decode::Exif::kIgnore);
  EXPECT_EQ(session->feed.decoding.color, decode::Color::kGray);
  EXPECT_EQ(session->feed.decoding.exif, decode::Exif::kApply);
}

struct BadDevice {
  std::string name;
  std::function<void(v1::DeviceTarget&)> spoil;
  std::string words;
};

v1::OpenSessionRequest DeviceRequest() {
  v1::OpenSessionRequest request = GoodRequest();
  request.set_delivery(v1::DELIVERY_DEVICE);
  v1::DeviceTarget& device = *request.mutable_device();
  device.set_uuid("0123456789abcdef");
  device.set_depth(5);
  device.set_handle_kind(v1::HANDLE_KIND_VMM);
  device.set_pid(17);
  device.set_pid_namespace(4026531836);
  return request;
}

class BadDeviceTest : public ::testing::TestWithParam<BadDevice> {};

TEST_P(BadDeviceTest, IsRefusedInWordsThatNameTheField) {
  v1::OpenSessionRequest request = DeviceRequest();
  GetParam().spoil(*request.mutable_device());

  const auto session = SessionFrom(request);

  EXPECT_TRUE(absl::IsInvalidArgument(session.status())) << session.status();
  EXPECT_THAT(Words(session.status()), HasSubstr(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(
    Requests, BadDeviceTest,
    ::testing::Values(
        BadDevice{"NoUuid", [](v1::DeviceTarget& d) { d.clear_uuid(); },
                  "device.uuid: wanted the 16 bytes of a GPU's UUID, got 0"},
        BadDevice{"UuidInWords", [](v1::DeviceTarget& d) { d.set_uuid("GPU-8f1c"); }, "got 8"},
        BadDevice{"TooDeep", [](v1::DeviceTarget& d) { d.set_depth(17); },
                  "device.depth: wanted 1 to 16"},
        BadDevice{"AnotherKind",
                  [](v1::DeviceTarget& d) { d.set_handle_kind(static_cast<v1::HandleKind>(9)); },
                  "device.handle_kind"},
        BadDevice{"NoPid", [](v1::DeviceTarget& d) { d.set_pid(-1); }, "device.pid"}),
    [](const auto& info) { return info.param.name; });

TEST(DeliveryTest, DeviceDeliveryWithoutADeviceIsRefused) {
  v1::OpenSessionRequest request = GoodRequest();
  request.set_delivery(v1::DELIVERY_DEVICE);

  EXPECT_THAT(Words(SessionFrom(request).status()), HasSubstr("device is missing"));
}

TEST(DeliveryTest, AnUnknownDeliveryAndALongReasonAreRefused) {
  v1::OpenSessionRequest unknown = GoodRequest(), wordy = GoodRequest();
  unknown.set_delivery(static_cast<v1::Delivery>(9));
  wordy.set_delivery_reason(std::string(513, 'x'));

  EXPECT_THAT(Words(SessionFrom(unknown).status()), HasSubstr("delivery: wanted"));
  EXPECT_THAT(Words(SessionFrom(wordy).status()), HasSubstr("delivery_reason"));
}

TEST(DeliveryTest, WithoutAWordItIsHostDelivery) {
  const auto session = SessionFrom(GoodRequest());

  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(session->delivery, session::Delivery::kHost);
  EXPECT_FALSE(session->device.has_value());
}

TEST(DeliveryTest, PinnedDeliveryComesWithItsReason) {
  v1::OpenSessionRequest request = GoodRequest();
  request.set_delivery(v1::DELIVERY_PINNED);
  request.set_delivery_reason("the daemon sees no GPU");

  const auto session = SessionFrom(request);

  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(session->delivery, session::Delivery::kPinned);
  EXPECT_EQ(session->delivery_reason, "the daemon sees no GPU");
}

TEST(DeliveryTest, ADeviceIsTakenAsAsked) {
  const auto session = SessionFrom(DeviceRequest());

  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(session->delivery, session::Delivery::kDevice);
  EXPECT_EQ(session->device->gpu.bytes[15], 'f');
  EXPECT_EQ(session->device->depth, 5u);
  EXPECT_EQ(session->device->kind, cuda::HandleKind::kVmm);
  EXPECT_EQ(session->device->client.pid, 17);
  EXPECT_EQ(session->device->client.pid_namespace, 4026531836u);
}

TEST(RequestTest, ASessionIdOfZeroIsMissing) {
  EXPECT_TRUE(absl::IsInvalidArgument(SessionIdFrom(0).status()));
}

TEST(RequestTest, OnlyWhereAllAreMeantMayADatasetBeEmpty) {
  EXPECT_TRUE(absl::IsInvalidArgument(DatasetFrom("").status()));
  EXPECT_EQ(*DatasetOrAllFrom(""), "");
  EXPECT_TRUE(absl::IsInvalidArgument(DatasetOrAllFrom("a\nb").status()));
}

}  // namespace
}  // namespace penstock::rpc
