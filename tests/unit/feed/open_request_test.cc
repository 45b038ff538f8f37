#include "server/feed/sessions/open_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/support/fakes/fake_dataset.h"
#include "tests/support/fakes/fake_rows.h"

namespace penstock::feed {
namespace {

using ::testing::HasSubstr;

template <typename Dataset>
std::shared_ptr<DatasetState> StateOf(std::shared_ptr<Dataset> dataset) {
  return std::make_shared<DatasetState>(DatasetState{.name = "flowers",
                                                     .dataset = std::move(dataset),
                                                     .quarantine = {},
                                                     .policy = FaultPolicy(100),
                                                     .files = 5});
}

OpenRequest RequestFor(std::shared_ptr<DatasetState> dataset) {
  OpenRequest request;
  request.dataset_name = "flowers";
  request.dataset = std::move(dataset);
  request.decoding_mode = session::DecodingMode::kIfEncoded;
  request.feed.decoding.height = request.feed.decoding.width = 16;
  request.feed.seed = 7;
  request.share.batch_size = 8;
  return request;
}

OpenRequest Photographs() {
  return RequestFor(StateOf(std::make_shared<testing::FakeDataset>(100)));
}

TEST(OpenRequestTest, ARequestAndItsDatasetMakeAFeed) {
  const auto opening = Prepare(Photographs());

  ASSERT_TRUE(opening.ok()) << opening.status();
  EXPECT_EQ(opening->spec.samples, 100u);
  EXPECT_EQ(opening->spec.seed, 7u);
  EXPECT_EQ(opening->spec.decoding.height, 16u);
  EXPECT_EQ(opening->spec.epoch_samples(), opening->request.share.samples);
  EXPECT_EQ(opening->fingerprint, Fingerprint(opening->spec));
  EXPECT_EQ(opening->layout.blocks.at(0).row_bytes, 3u * 16 * 16);
}

TEST(OpenRequestTest, OptionsOfTheSessionAloneChangeNoFeed) {
  OpenRequest other = Photographs();
  other.window = 9;
  other.share.batch_size = 3;
  other.fail_on_bad_sample = true;
  other.name = "resnet";

  EXPECT_EQ(Prepare(other)->fingerprint, Prepare(Photographs())->fingerprint);
}

TEST(OpenRequestTest, ItsNameMayStandForAPartOfTheDataset) {
  OpenRequest part = Photographs();
  part.part = plan::Range{.first = 20, .count = 30};

  const auto opening = Prepare(part);

  ASSERT_TRUE(opening.ok()) << opening.status();
  EXPECT_EQ(opening->spec.Within(), (plan::Range{20, 30}));
  EXPECT_NE(opening->fingerprint, Prepare(Photographs())->fingerprint);
}

TEST(OpenRequestTest, WhatDoesNotFitIsRefused) {
  OpenRequest request = Photographs();
  request.decoding_mode = session::DecodingMode::kNone;

  EXPECT_THAT(std::string(Prepare(request).status().message()), HasSubstr("'flowers'"));
}

TEST(OpenRequestTest, AGrantSaysWhatTheSessionGets) {
  OpenRequest request = Photographs();
  request.share.consumed = 40;
  request.window = 3;
  request.delivery = session::Delivery::kPinned;

  const session::Grant grant = MakeGrant(*Prepare(request), 42);

  EXPECT_EQ(grant.session, 42u);
  EXPECT_EQ(grant.files, 5u);
  EXPECT_EQ(grant.digest, 1100u);
  EXPECT_EQ(grant.samples, 100u);
  EXPECT_EQ(grant.epoch_samples, 100u);
  EXPECT_EQ(grant.classes, 2u);
  EXPECT_EQ(grant.first_epoch_batches, 8u);
  EXPECT_EQ(grant.epoch_batches, 13u);
  EXPECT_EQ(grant.window, 3u);
  EXPECT_EQ(grant.delivery, session::Delivery::kPinned);
  EXPECT_NE(grant.row.image(), nullptr);
  EXPECT_EQ(grant.layout.labels_offset, 8u * 3 * 16 * 16);
  EXPECT_FALSE(grant.synthetic_seed.has_value());
}

TEST(OpenRequestTest, StoredRowsAreGrantedAsTheyAreStored) {
  const auto rows = std::make_shared<testing::FakeRows>(100, source::RowShape{28, 28, 1});

  const session::Grant grant = MakeGrant(*Prepare(RequestFor(StateOf(rows))), 1);

  ASSERT_NE(grant.row.image(), nullptr);
  EXPECT_EQ(grant.row.image()->shape[0], 28u);
  EXPECT_EQ(grant.layout.blocks.at(0).row_bytes, 28u * 28);
}

}  // namespace
}  // namespace penstock::feed
