// From a packed dataset to rows: what a reader puts into a worker's input, how the worker's own
// code handles it, and which answers it may give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "server/workers/program/request_server.h"
#include "server/workers/queue/item_reader.h"
#include "tests/unit/workers/packed_rig.h"
#include "tests/unit/workers/queue_rig.h"

namespace penstock::workers {
namespace {

using base::Fault;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The blocks of a batch within its segment, which begins with the image rows.
constexpr uint64_t kNumbersAt = 1024, kTextsAt = 2048, kLengthsAt = 3072, kSegmentBytes = 4096;

class PackedRowsTest : public ::testing::Test {
 protected:
  PackedRowsTest() : memory_(kSegmentBytes / sizeof(int64_t), -1) {}

  std::span<std::byte> segment() { return std::as_writable_bytes(std::span(memory_)); }
  WorkItem ItemOf(uint32_t first_row) {
    WorkItem item = {.id = 1, .dataset = &dataset_, .row_offset = 48 * first_row};
    item.spec.height = item.spec.width = 4;
    item.selection = &dataset_.selection();
    item.row = segment().data() + item.row_offset;
    item.field_rows = {segment().data() + kNumbersAt + 16 * first_row,
                       segment().data() + kTextsAt + 4 * first_row,
                       segment().data() + kLengthsAt + 4 * first_row};
    return item;
  }
  WorkItem Run(uint32_t first_row, std::vector<uint64_t> samples) {
    WorkItem item = ItemOf(first_row);
    item.sample = samples.front();
    item.run = std::move(samples);
    return item;
  }
  // Reads the item's input, and makes the item's request.
  absl::StatusOr<ItemReader::Input> Read(const WorkItem& item, uint64_t arena_bytes = 4096) {
    ItemReader reader(item, {.max_image_bytes = 4096, .arena_bytes = arena_bytes});
    PENSTOCK_ASSIGN_OR_RETURN(const ItemReader::Input input, reader.Open());
    if (input.fault != Fault::kNone) return input;
    input_.assign(input.bytes, std::byte{0});
    PENSTOCK_RETURN_IF_ERROR(reader.Read(input_).status());
    request_ = {.sequence = 1,
                .input_offset = 0,
                .input_bytes = input.bytes,
                .row_offset = item.row_offset,
                .row_bytes = input.has_image ? decode::RowBytes(item.spec) : 0,
                .segment = 0,
                .recipe_bytes = input.recipe_bytes,
                .spec = item.spec,
                .key = {}};
    return input;
  }
  absl::StatusOr<RequestServer::Served> Serve() {
    return server_.Serve(request_, input_, segment());
  }
  int64_t Number(uint64_t row, uint64_t element) {
    return memory_[(kNumbersAt + 16 * row) / sizeof(int64_t) + element];
  }
  std::string Text(uint64_t row) {
    int32_t length = 0;
    std::memcpy(&length, segment().data() + kLengthsAt + 4 * row, sizeof length);
    return {reinterpret_cast<const char*>(segment().data()) + kTextsAt + 4 * row,
            static_cast<size_t>(length)};
  }

  PackedDataset dataset_;
  std::vector<int64_t> memory_;
  std::vector<std::byte> input_;
  DecodeRequest request_{};
  RequestServer server_{decode::SampleLimits{.max_bytes = 4096}};
};

TEST_F(PackedRowsTest, ARunIsReadOnceAndAWorkerFillsItsRows) {
  dataset_.packed_samples = {PackedSample({1, 2}, "a"), PackedSample({3, 4}, "bcde"),
                             PackedSample({5, 6}, "")};

  ASSERT_EQ(Read(Run(1, {2, 0, 1}))->fault, Fault::kNone);
  const auto served = Serve();

  ASSERT_TRUE(served.ok()) << served.status();
  EXPECT_EQ(served->fault, Fault::kNone);
  EXPECT_EQ(Number(1, 0), 5);
  EXPECT_EQ(Number(2, 1), 2);
  EXPECT_EQ(Number(3, 0), 3);
  EXPECT_EQ(Text(1) + "|" + Text(2) + "|" + Text(3), "|a|bcde");
  EXPECT_EQ(Number(0, 0), -1);  // not part of this run
}

TEST_F(PackedRowsTest, AFaultNamesItsRow) {
  dataset_.packed_samples = {PackedSample({1, 2}, "a"), PackedSample({3}, "b")};

  ASSERT_TRUE(Read(Run(0, {0, 0, 1, 0})).ok());

  EXPECT_EQ(Serve()->fault, Fault::kMalformed);
  EXPECT_EQ(Serve()->row, 2u);
}

// As in a mixture of packed and stored rows.
TEST_F(PackedRowsTest, RowsThatAreStoredAsTheyAreAreCopiedByTheReader) {
  dataset_.packed_samples = {PackedSample({1, 2}, "a"), ""};

  ASSERT_TRUE(Read(Run(0, {1, 0, 1})).ok());
  EXPECT_EQ(std::to_integer<char>(segment()[kTextsAt + 8]), '=');
  ASSERT_EQ(Serve()->fault, Fault::kNone);

  EXPECT_EQ(Number(0, 0), 0x3D3D3D3D3D3D3D3D);
  EXPECT_EQ(Number(1, 0), 1);
  EXPECT_EQ(Number(2, 1), 0x3D3D3D3D3D3D3D3D);
}

TEST_F(PackedRowsTest, ASampleThatFillsTheInputMemoryIsReadAndALargerOneIsRefusedUnread) {
  dataset_.packed_samples = {PackedSample({1, 2}, "a"),
                             PackedSample({1, 2}, std::string(900, 'x'))};
  const uint64_t needed = Read(Run(0, {0}))->bytes;

  EXPECT_EQ(Read(Run(0, {0}), needed)->fault, Fault::kNone);
  EXPECT_EQ(Read(Run(0, {0}), needed - 1)->fault, Fault::kTooManyBytes);
  EXPECT_EQ(Read(Run(0, {0, 1, 0}), 1000)->row, 1u);
}

TEST_F(PackedRowsTest, AnImageIsDecodedAndItsFieldsAreFilled) {
  dataset_.image_name = "image";
  const std::string picture = "P6 4 4 255\n" + std::string(48, '\x42');
  dataset_.packed_samples = {PackedSample({7, 8}, "xy", picture), PackedSample({7, 8}, "xy")};

  WorkItem item = ItemOf(2);
  ASSERT_TRUE(Read(item)->has_image);
  const auto served = Serve();

  ASSERT_TRUE(served.ok()) << served.status();
  EXPECT_EQ(served->fault, Fault::kNone);
  EXPECT_TRUE(std::ranges::all_of(segment().subspan(96, 48),
                                  [](std::byte each) { return each == std::byte{0x42}; }));
  EXPECT_EQ(Number(2, 1), 8);
  EXPECT_EQ(Text(2), "xy");

  item.sample = 1;
  ASSERT_TRUE(Read(item).ok());
  EXPECT_EQ(Serve()->fault, Fault::kNotAnImage);
}

// ---- Lies to a worker. ----

TEST_F(PackedRowsTest, ARequestThatLeadsElsewhereIsRefusedAndNothingIsWritten) {
  dataset_.packed_samples = {PackedSample({1, 2}, "a")};
  ASSERT_TRUE(Read(Run(0, {0})).ok());
  const DecodeRequest good = request_;
  const auto refusal = [&] { return std::string(Serve().status().message()); };

  request_.recipe_bytes = static_cast<uint32_t>(input_.size()) + 1;
  EXPECT_THAT(refusal(), HasSubstr("in an input of"));
  request_.recipe_bytes = UINT32_MAX;
  EXPECT_THAT(refusal(), HasSubstr("in an input of"));
  request_.recipe_bytes = good.recipe_bytes - 1;
  EXPECT_THAT(refusal(), HasSubstr("not a recipe"));
  request_ = good;
  for (const uint32_t lie : {1u, 16u, UINT32_MAX}) {
    request_.more_images = lie;
    EXPECT_THAT(refusal(), HasSubstr("further images in an input of"));
  }
  request_ = good;
  request_.row_bytes = decode::RowBytes(request_.spec);
  EXPECT_THAT(refusal(), HasSubstr("disagree about an image"));
  request_.row_offset = kSegmentBytes - 1;
  EXPECT_THAT(refusal(), HasSubstr("in a segment of"));
  request_ = good;
  EXPECT_THAT(server_.Serve(request_, input_, segment().first(kNumbersAt)).status().message(),
              HasSubstr("in a segment of"));
  EXPECT_TRUE(std::ranges::all_of(memory_, [](int64_t word) { return word == -1; }));

  EXPECT_EQ(Serve()->fault, Fault::kNone);
}

// ---- A worker's answers are validated before they have any effect. ----

class PackedAnswerTest : public WorkerQueueTest {
 protected:
  void Begin() {
    dataset_.packed_samples = {PackedSample({1, 2}, "a"), PackedSample({3, 4}, "b")};
    lengths_ = {1, 4};
    WorkItem item = {.id = 5, .dataset = &dataset_, .run = {0, 1}};
    item.selection = &dataset_.selection();
    item.row = row_.data();
    item.field_rows = {row_.data(), row_.data() + 32,
                       reinterpret_cast<std::byte*>(lengths_.data())};
    queue_->Give(item);
    sequence_ = Take().sequence;
  }
  void Say(Fault fault, uint32_t row) {
    completions_->Push(
        {.sequence = sequence_, .fault = fault, .decode_us = 0, .ended_ns = 0, .row = row});
  }
  PackedDataset dataset_;
  std::vector<std::byte> row_ = std::vector<std::byte>(64);
  std::vector<int32_t> lengths_;
  uint64_t sequence_ = 0;
};

TEST_F(PackedAnswerTest, RowsWithPossibleLengthsAreDone) {
  Begin();
  Say(Fault::kNone, 0);

  ASSERT_TRUE(CollectSome(1));
  EXPECT_EQ(outcomes_[0].kind, OutcomeKind::kDone);
}

TEST_F(PackedAnswerTest, ALengthThatCannotBeIsNotBelieved) {
  for (const int32_t length : {5, -1, INT32_MAX, INT32_MIN}) {
    for (const size_t row : {size_t{0}, size_t{1}}) {
      queue_.reset();
      Open({.number = 0, .limits = {.max_bytes = kArena}});
      Begin();
      lengths_[row] = length;
      Say(Fault::kNone, 0);

      EXPECT_FALSE(Collect()) << length;
      EXPECT_TRUE(outcomes_.empty());
    }
  }
}

TEST_F(PackedAnswerTest, AFaultNamesASampleOfTheRunOrIsNotBelieved) {
  Begin();
  Say(Fault::kMissing, 1);
  ASSERT_TRUE(CollectSome(1));
  EXPECT_EQ(outcomes_[0].kind, OutcomeKind::kRefused);
  EXPECT_EQ(outcomes_[0].row, 1u);

  Begin();
  Say(Fault::kMissing, 2);
  EXPECT_FALSE(Collect());
}

}  // namespace
}  // namespace penstock::workers
