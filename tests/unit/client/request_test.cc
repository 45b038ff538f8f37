#include "client/src/connection/request.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "client/src/core/fields.h"

namespace penstock::client {
namespace {

TEST(RequestTest, TheDefaultRemainderIsPartialForOneRankAndPadsRanksAlikeForMore) {
  SessionOptions options;
  EXPECT_EQ(MakeOpenRequest(options, {}, 0).remainder(), v1::REMAINDER_PARTIAL);

  options.world_size = 2;
  EXPECT_EQ(MakeOpenRequest(options, {}, 0).remainder(), v1::REMAINDER_PAD_RANKS);
  options.remainder = Remainder::kPadBatch;
  EXPECT_EQ(MakeOpenRequest(options, {}, 0).remainder(), v1::REMAINDER_PAD_BATCH);
  options.remainder = Remainder::kPadRanks;
  EXPECT_EQ(MakeOpenRequest(options, {}, 0).remainder(), v1::REMAINDER_PAD_RANKS);
  options.remainder = Remainder::kDrop;
  EXPECT_EQ(MakeOpenRequest(options, {}, 0).remainder(), v1::REMAINDER_DROP);
}

TEST(RequestTest, AStatesSeedIsTheFeeds) {
  SessionOptions options;
  options.seed = 1;
  options.state = State{.epoch = 4, .consumed = 64, .seed = 9, .fingerprint = 3};

  const v1::OpenSessionRequest request = MakeOpenRequest(options, options.state, 2);

  EXPECT_EQ(request.feed().seed(), 9u);
  EXPECT_EQ(request.state().epoch(), 4u);
  EXPECT_EQ(request.state().consumed(), 64u);
  EXPECT_EQ(request.state().fingerprint(), 3u);
  EXPECT_EQ(request.epochs(), 2u);
}

TEST(RequestTest, WithoutAStateNoneIsSent) { EXPECT_FALSE(MakeOpenRequest({}, {}, 0).has_state()); }

TEST(RequestTest, ACenterCropTakesThePlaceOfTheRandomOne) {
  SessionOptions options;
  EXPECT_TRUE(MakeOpenRequest(options, {}, 0).feed().image().has_random_resized_crop());

  options.center_crop = ResizeCenterCrop{.resize = 300};

  const v1::ImageDecoding image = MakeOpenRequest(options, {}, 0).feed().image();
  EXPECT_FALSE(image.has_random_resized_crop());
  EXPECT_EQ(image.resize_center_crop().resize(), 300u);
  EXPECT_EQ(image.resize_center_crop().height(), 224u);
}

TEST(RequestTest, ADecodingThatNobodyAskedForIsADefault) {
  const auto by_default = [](const SessionOptions& options) {
    return MakeOpenRequest(options, {}, 0).feed().image_by_default();
  };

  EXPECT_TRUE(by_default({}));
  EXPECT_FALSE(by_default({.random_crop = RandomResizedCrop()}));
  EXPECT_FALSE(by_default({.center_crop = ResizeCenterCrop()}));
  EXPECT_FALSE(by_default({.flip_probability = 0.5}));
  EXPECT_FALSE(by_default({.color = Color::kGray}));
  EXPECT_FALSE(by_default({.apply_exif_orientation = true}));
}

TEST(RequestTest, ARangeAndAWindowAreSentWhereTheyAreAskedFor) {
  SessionOptions options;
  EXPECT_FALSE(MakeOpenRequest(options, {}, 0).feed().has_range());
  EXPECT_FALSE(MakeOpenRequest(options, {}, 0).feed().has_shuffle_window());

  options.order = Order::kShuffledInWindows;
  options.range = {.first = 5, .count = 6};
  options.shuffle_window = {.shard_samples = 7, .shards = 8};

  const v1::FeedSpec feed = MakeOpenRequest(options, {}, 0).feed();
  EXPECT_EQ(feed.order(), v1::ORDER_SHUFFLED_IN_WINDOWS);
  EXPECT_EQ(feed.range().first(), 5u);
  EXPECT_EQ(feed.range().count(), 6u);
  EXPECT_EQ(feed.shuffle_window().shard_samples(), 7u);
  EXPECT_EQ(feed.shuffle_window().shards(), 8u);
}

TEST(RequestTest, GrayAndOrientationAreAskedForOnlyWhereWanted) {
  SessionOptions options;
  v1::ImageDecoding image = MakeOpenRequest(options, {}, 0).feed().image();
  EXPECT_EQ(image.color(), v1::COLOR_RGB);
  EXPECT_FALSE(image.apply_exif_orientation());

  options.color = Color::kGray;
  options.apply_exif_orientation = true;

  image = MakeOpenRequest(options, {}, 0).feed().image();
  EXPECT_EQ(image.color(), v1::COLOR_GRAY);
  EXPECT_TRUE(image.apply_exif_orientation());
}

TEST(RequestTest, DeviceDeliveryNamesTheGpuTheHandleAndThisProcess) {
  v1::OpenSessionRequest request;

  AskFor({Delivery::kDevice, HandleKind::kVmm, "not device: no"}, {cuda::Uuid{{7}}, 5}, request);

  EXPECT_EQ(request.delivery(), v1::DELIVERY_DEVICE);
  EXPECT_EQ(request.delivery_reason(), "not device: no");
  EXPECT_EQ(request.device().uuid(), std::string(1, 7) + std::string(15, 0));
  EXPECT_EQ(request.device().depth(), 5u);
  EXPECT_EQ(request.device().handle_kind(), v1::HANDLE_KIND_VMM);
  EXPECT_EQ(request.device().pid(), getpid());
  EXPECT_NE(request.device().pid_namespace(), 0u);
}

TEST(RequestTest, OtherDeliveriesNameNoGpuAndReasonsAreCut) {
  v1::OpenSessionRequest request;

  AskFor({Delivery::kPinned, HandleKind::kAuto, std::string(600, 'x')}, {}, request);

  EXPECT_EQ(request.delivery(), v1::DELIVERY_PINNED);
  EXPECT_FALSE(request.has_device());
  EXPECT_EQ(request.delivery_reason().size(), 512u);
}

TEST(RequestTest, AFieldThatFollowsItsImageIsRequestedWithWhatItsKindHas) {
  SessionOptions options;
  options.fields = {
      {.name = "text", .max_length = 9},
      {.name = "mask", .target = {.kind = Target::Kind::kMask, .fill = 255}},
      {.name = "boxes",
       .max_length = 50,
       .target = {.kind = Target::Kind::kBoxes,
                  .box_format = Target::BoxFormat::kCornerAndSize,
                  .relative = true,
                  .min_side = 0}},
      {.name = "points", .target = {.kind = Target::Kind::kPoints, .point_pairs = {1, 2}}}};

  const v1::OpenSessionRequest request = MakeOpenRequest(options, {}, 0);

  const auto& fields = request.feed().fields();
  EXPECT_FALSE(fields[0].has_target());
  EXPECT_EQ(fields[1].target().kind(), v1::TARGET_KIND_MASK);
  EXPECT_EQ(fields[1].target().fill(), 255u);
  EXPECT_FALSE(fields[1].target().has_min_side());
  EXPECT_EQ(fields[2].target().box_format(), v1::BOX_FORMAT_CORNER_AND_SIZE);
  EXPECT_TRUE(fields[2].target().relative());
  EXPECT_TRUE(fields[2].target().has_min_side());
  EXPECT_EQ(fields[2].target().min_side(), 0);
  EXPECT_EQ(fields[3].target().point_pairs_size(), 2);
  for (int i = 1; i < 4; ++i) {
    EXPECT_EQ(ToTarget(fields[i].target()), options.fields[i].target);
  }
}

TEST(RequestTest, WhatADaemonOfALaterVersionCallsAFieldIsNothingToThisOne) {
  v1::Target later;
  later.set_kind(static_cast<v1::TargetKind>(9));

  EXPECT_EQ(ToTarget(later), Target());
}

TEST(RequestTest, ACanvasIsRequestedForWholeImages) {
  SessionOptions options;
  options.whole_image = WholeImage{.height = 100, .width = 200};
  EXPECT_FALSE(MakeOpenRequest(options, {}, 0).feed().image().canvas());

  options.whole_image->canvas = true;

  EXPECT_TRUE(MakeOpenRequest(options, {}, 0).feed().image().canvas());
}

TEST(RequestTest, FilesAreAskedForWithRoomForThemAndForRows) {
  SessionOptions options;
  options.gpu_decoding = GpuDecoding{.share = 0.5};
  const auto undecoded = [&] {
    v1::OpenSessionRequest request = MakeOpenRequest(options, {}, 0);
    EXPECT_FALSE(request.feed().image_by_default());
    AskForFiles(options, "nvJPEG 13", request);
    return request.feed().image().undecoded();
  };
  EXPECT_EQ(undecoded().share(), 0.5);
  EXPECT_EQ(undecoded().decoder(), "nvJPEG 13");
  EXPECT_EQ(undecoded().place_bytes(), (384u << 10) + 4096);
  options.gpu_decoding->file_bytes = 1000;
  EXPECT_EQ(undecoded().place_bytes(), 224u * 224 * 3 + 1024);
  options.random_crop = RandomResizedCrop{.height = 10, .width = 10};
  EXPECT_EQ(undecoded().place_bytes(), 4096u);
}

TEST(RequestTest, WhatAGpuDoesNotMakeIsRefused) {
  const auto refusal = [](auto change) {
    SessionOptions options;
    options.device = "cuda";
    options.gpu_decoding = GpuDecoding();
    EXPECT_TRUE(CheckGpuDecoding(options).ok());
    change(options);
    return std::string(CheckGpuDecoding(options).message());
  };
  EXPECT_NE(refusal([](auto& o) { o.device = "host"; }).find("expected a GPU"), std::string::npos);
  EXPECT_NE(refusal([](auto& o) { o.delivery = Delivery::kDevice; }).find("'pinned'"),
            std::string::npos);
  EXPECT_NE(refusal([](auto& o) { o.gpu_decoding->share = 0; }).find("share"), std::string::npos);
  EXPECT_NE(refusal([](auto& o) { o.gpu_decoding->share = 1.5; }).find("1.5"), std::string::npos);
  EXPECT_NE(refusal([](auto& o) { o.color = Color::kGray; }).find("in RGB"), std::string::npos);
  EXPECT_NE(refusal([](auto& o) { o.steps.emplace_back(); }).find("leave the rest out"),
            std::string::npos);
}

TEST(RequestTest, APythonDatasetsBatchesAreDescribed) {
  EXPECT_FALSE(MakeOpenRequest({}, {}, 0).feed().has_python());
  SessionOptions options;
  options.python = PythonFeed{.max_batch_bytes = 1 << 20,
                              .workers = 8,
                              .timeout = std::chrono::seconds(2),
                              .streams = 3,
                              .digest = 0xD16E57,
                              .replace_bad_samples = true};

  EXPECT_FALSE(MakeOpenRequest(options, {}, 0).feed().has_image());
  const v1::PythonFeed python = MakeOpenRequest(options, {}, 0).feed().python();

  EXPECT_EQ(python.max_batch_bytes(), 1u << 20);
  EXPECT_EQ(python.workers(), 8u);
  EXPECT_EQ(python.timeout_ms(), 2000u);
  EXPECT_EQ(python.streams(), 3u);
  EXPECT_EQ(python.digest(), 0xD16E57u);
  EXPECT_TRUE(python.replace_bad_samples());
}

TEST(RequestTest, APythonDatasetIsDeliveredToHostMemoryAlone) {
  SessionOptions options;
  options.device = "cuda";
  EXPECT_TRUE(CheckPython(options).ok());
  options.python = PythonFeed();
  EXPECT_TRUE(absl::IsInvalidArgument(CheckPython(options)));
  options.device = "host";
  EXPECT_TRUE(CheckPython(options).ok());
  options.flip_probability = 0.5;
  EXPECT_TRUE(absl::IsInvalidArgument(CheckPython(options)));
  options.flip_probability = 0;
  options.fields = {{.name = "text"}};
  EXPECT_TRUE(absl::IsInvalidArgument(CheckPython(options)));
  options.fields.clear();
  options.python->timeout = std::chrono::milliseconds(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(CheckPython(options)));
}

}  // namespace
}  // namespace penstock::client
