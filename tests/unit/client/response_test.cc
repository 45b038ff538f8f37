#include "client/src/connection/response.h"

#include <gtest/gtest.h>

namespace penstock::client {
namespace {

v1::OpenSessionRequest Digits() {
  v1::OpenSessionRequest request;
  request.mutable_feed()->set_dataset("digits");
  request.set_batch_size(32);
  return request;
}

v1::OpenSessionResponse Answer() {
  v1::OpenSessionResponse response;
  response.set_session_id(42);
  response.set_fingerprint(0xFEED);
  response.set_samples(100);
  response.set_epoch_samples(60);
  response.set_digest(61);
  response.set_classes(10);
  response.set_window(4);
  response.set_labeled(true);
  response.mutable_device()->set_depth(2);
  response.mutable_device()->set_handle_kind(v1::HANDLE_KIND_VMM);
  response.mutable_device()->set_handle_reason("asked for");
  v1::Tensor& tensor = *response.add_tensors();
  tensor.set_name("box");
  tensor.set_dtype(v1::DTYPE_FLOAT32);
  tensor.add_shape(4);
  tensor.set_offset(64);
  tensor.set_row_stride(16);
  return response;
}

TEST(ResponseTest, AGrantIsWhatTheDaemonSaysOfWhatWasAsked) {
  const Grant grant = ToGrant(Digits(), {.delivery = Delivery::kHost}, 0, Answer());

  EXPECT_EQ(grant.session_id, 42u);
  EXPECT_EQ(grant.fingerprint, 0xFEEDu);
  EXPECT_EQ(grant.dataset, "digits");
  EXPECT_EQ(grant.batch_size, 32u);
  EXPECT_EQ(grant.samples, 100u);
  EXPECT_EQ(grant.epoch_samples, 60u);
  EXPECT_EQ(grant.digest, 61u);
  EXPECT_EQ(grant.delivery, Delivery::kHost);
  EXPECT_EQ(grant.handle, HandleKind::kAuto);
  EXPECT_FALSE(grant.synthetic.has_value());
  EXPECT_FALSE(grant.fail_on_bad_sample);
  ASSERT_EQ(grant.tensors.size(), 1u);
  EXPECT_EQ(grant.tensors[0].row_bytes, 16u);
  EXPECT_EQ(grant.tensors[0].offset, 64u);
}

TEST(ResponseTest, ASessionThatFailsOnBadSamplesKnowsItFromItsRequest) {
  v1::OpenSessionRequest request = Digits();
  request.set_fail_on_bad_sample(true);

  EXPECT_TRUE(ToGrant(request, {.delivery = Delivery::kHost}, 0, Answer()).fail_on_bad_sample);
}

TEST(ResponseTest, RowsThatAreMadeOfPlacesHaveTheSizeThatWasAskedFor) {
  v1::OpenSessionRequest request = Digits();
  v1::ImageDecoding& image = *request.mutable_feed()->mutable_image();
  image.mutable_random_resized_crop()->set_height(20);
  image.mutable_random_resized_crop()->set_width(30);
  image.mutable_undecoded()->set_place_bytes(4096);
  v1::OpenSessionResponse response = Answer();
  response.set_height(1);
  response.set_width(4096);
  response.set_channels(1);
  response.set_row_bytes(4096);

  const Grant grant = ToGrant(request, {.delivery = Delivery::kPinned}, 0, response);

  EXPECT_EQ(grant.place_bytes, 4096u);
  EXPECT_EQ(grant.row_bytes, 4096u);
  EXPECT_EQ(grant.height, 20u);
  EXPECT_EQ(grant.width, 30u);
  EXPECT_EQ(grant.channels, 3u);
}

TEST(ResponseTest, OnADeviceTheDaemonsDepthAndHandleCountAndTheReasonNamesTheHandle) {
  const Ask ask = {.delivery = Delivery::kDevice, .reason = "as asked"};

  const Grant grant = ToGrant(Digits(), ask, 5, Answer());

  EXPECT_EQ(grant.device_depth, 2u);
  EXPECT_EQ(grant.handle, HandleKind::kVmm);
  EXPECT_EQ(grant.reason.find("as asked; "), 0u) << grant.reason;
  EXPECT_NE(grant.reason.find(": asked for"), std::string::npos) << grant.reason;
}

TEST(ResponseTest, PinnedDeliveryHasTheRequestedDepthOrThree) {
  const Ask ask = {.delivery = Delivery::kPinned};

  EXPECT_EQ(ToGrant(Digits(), ask, 5, Answer()).device_depth, 5u);
  EXPECT_EQ(ToGrant(Digits(), ask, 0, Answer()).device_depth, 3u);
}

TEST(ResponseTest, SyntheticRowsComeWithWhatTheyAreMadeOf) {
  v1::OpenSessionResponse response = Answer();
  response.mutable_synthetic()->set_seed(5);

  const Grant grant = ToGrant(Digits(), {.delivery = Delivery::kHost}, 0, response);

  ASSERT_TRUE(grant.synthetic.has_value());
  EXPECT_EQ(grant.synthetic->seed, 5u);
  EXPECT_EQ(grant.synthetic->samples, 100u);
  EXPECT_EQ(grant.synthetic->classes, 10u);
}

TEST(ResponseTest, AGrantSaysWhereMadeBatchesAre) {
  v1::OpenSessionResponse response = Answer();
  EXPECT_FALSE(ToGrant(Digits(), {}, 0, response).made.has_value());
  response.mutable_made()->set_data_offset(4096);
  response.mutable_made()->set_max_batch_bytes(1 << 30);
  response.mutable_made()->set_host_token("0123456789abcdef");

  const Grant grant = ToGrant(Digits(), {.delivery = Delivery::kHost}, 0, response);

  ASSERT_TRUE(grant.made.has_value());
  EXPECT_EQ(grant.made->data_offset, 4096u);
  EXPECT_EQ(grant.made->max_batch_bytes, 1u << 30);
  EXPECT_EQ(grant.made->host_token, "0123456789abcdef");
}

}  // namespace
}  // namespace penstock::client
