// Masks, boxes and the sizes of images: what a reader puts into a worker's input, and what the
// worker's own code makes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "server/workers/program/request_server.h"
#include "server/workers/queue/item_reader.h"
#include "tests/support/files/png_maker.h"

namespace penstock::workers {
namespace {

using base::Fault;
using base::TargetKind;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint32_t kSide = 4;

std::vector<std::byte> MaskFile(uint8_t value) {
  const decode::PngHeader header = {
      .width = kSide, .height = kSide, .depth = 8, .color = decode::PngHeader::kGray};
  return testing::MakePng(header, std::vector<uint16_t>(kSide * kSide, value));
}

// An image of 4 × 4, two masks of it, and boxes of which the second is outside.
class MaskedDataset final : public source::Dataset {
 public:
  Reader::Opened opened_mask = {};  // of the second mask; with a size of 0, its true one

  MaskedDataset() {
    const auto requests = std::vector<source::FieldRequest>{
        {.name = "mask"}, {.name = "boxes", .most = 3}, {.name = "depth"}};
    selection_ = source::SelectFrom(*this, requests).value();
    source::SetMaskSize(kSide, kSide, selection_);
  }
  const source::Selection& selection() const { return selection_; }

  absl::string_view kind() const override { return "masked"; }
  uint64_t samples() const override { return 1; }
  uint64_t digest() const override { return 1; }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(uint64_t) const override { return 0; }
  std::string path(uint64_t) const override { return "/masked"; }
  std::vector<source::SampleField> fields() const override {
    const base::TargetSpec mask = {.kind = TargetKind::kMask};
    return {{.name = "mask", .variable = true, .target = mask},
            {.name = "boxes",
             .type = base::DType::kFloat32,
             .shape = {4},
             .variable = true,
             .target = {.kind = TargetKind::kBoxes}},
            {.name = "depth", .variable = true, .target = mask}};
  }
  std::unique_ptr<Reader> NewReader() const override {
    return std::make_unique<MaskedReader>(*this);
  }

 private:
  class MaskedReader final : public Reader {
   public:
    explicit MaskedReader(const MaskedDataset& dataset) : dataset_(dataset) {}
    absl::StatusOr<Opened> Open(uint64_t) override { return Opened{.bytes = image_.size()}; }
    absl::Status Read(std::span<std::byte> into) override {
      std::memcpy(into.data(), image_.data(), into.size());
      return absl::OkStatus();
    }
    absl::StatusOr<Opened> OpenMask(const source::Selection&, size_t i) override {
      if (i == 2 && dataset_.opened_mask.fault != Fault::kNone) return dataset_.opened_mask;
      if (i == 2 && dataset_.opened_mask.bytes != 0) return dataset_.opened_mask;
      return Opened{.bytes = FileOf(i).size()};
    }
    absl::Status ReadMask(const source::Selection&, size_t i, std::span<std::byte> into) override {
      const std::vector<std::byte> file = FileOf(i);
      std::copy(file.begin(), file.end(), into.begin());
      return absl::OkStatus();
    }
    absl::StatusOr<Fault> ReadFields(const source::Selection&,
                                     std::span<std::byte* const> rows) override {
      const float boxes[] = {1, 1, 3, 3, 90, 90, 99, 99, 0, 0, 2, 4};
      const int32_t count = 3;
      std::memcpy(rows[1], boxes, sizeof boxes);
      std::memcpy(rows[2], &count, sizeof count);
      return Fault::kNone;
    }

   private:
    static std::vector<std::byte> FileOf(size_t i) { return MaskFile(i == 0 ? 7 : 9); }
    const MaskedDataset& dataset_;
    const std::string image_ = "P6 4 4 255\n" + std::string(48, '\x42');
  };

  source::Selection selection_;
  std::vector<std::string> classes_;
};

constexpr uint64_t kMaskAt = 256, kBoxesAt = 512, kCountAt = 768, kDepthAt = 1024, kSizeAt = 1280,
                   kTargetSegmentBytes = 1536;

class WorkerTargetsTest : public ::testing::Test {
 protected:
  WorkerTargetsTest() : memory_(kTargetSegmentBytes / sizeof(int64_t), -1) {
    item_.dataset = &dataset_;
    item_.spec.geometry = decode::Geometry::kWhole;
    item_.spec.height = item_.spec.width = kSide;
    item_.selection = &dataset_.selection();
    item_.row = segment().data();
    for (const uint64_t at : {kMaskAt, kBoxesAt, kCountAt, kDepthAt})
      item_.field_rows.push_back(segment().data() + at);
  }

  std::span<std::byte> segment() { return std::as_writable_bytes(std::span(memory_)); }
  template <typename T>
  T At(uint64_t offset) {
    T value;
    std::memcpy(&value, segment().data() + offset, sizeof value);
    return value;
  }
  std::vector<uint8_t> Bytes(uint64_t offset, size_t bytes) {
    const auto* const from = reinterpret_cast<const uint8_t*>(segment().data()) + offset;
    return {from, from + bytes};
  }
  Fault Read(uint64_t arena_bytes = 8192) {
    ItemReader reader(item_, {.max_image_bytes = 4096, .arena_bytes = arena_bytes});
    const ItemReader::Input input = reader.Open().value();
    if (input.fault != Fault::kNone) return input.fault;
    input_.assign(input.bytes, std::byte{0});
    EXPECT_TRUE(reader.Read(input_).value());
    request_ = {.sequence = 1,
                .input_offset = 0,
                .input_bytes = input.bytes,
                .row_offset = 0,
                .row_bytes = decode::RowBytes(item_.spec),
                .segment = 0,
                .recipe_bytes = 0,
                .targets = input.targets,
                .size_offset = item_.size_offset.value_or(kNowhere),
                .spec = item_.spec,
                .key = {}};
    return Fault::kNone;
  }
  absl::StatusOr<RequestServer::Served> Serve() {
    return server_.Serve(request_, input_, segment());
  }
  // The place of the target with that number, in the input.
  TargetPlace& Place(size_t i) {
    return *reinterpret_cast<TargetPlace*>(input_.data() + i * sizeof(TargetPlace));
  }
  std::string Refusal() { return std::string(Serve().status().message()); }

  MaskedDataset dataset_;
  WorkItem item_;
  std::vector<int64_t> memory_;
  std::vector<std::byte> input_;
  DecodeRequest request_{};
  RequestServer server_{decode::SampleLimits{.max_bytes = 4096}};
};

TEST_F(WorkerTargetsTest, MasksAndBoxesAreMadeWithTheImage) {
  ASSERT_EQ(Read(), Fault::kNone);
  const auto served = Serve();

  ASSERT_TRUE(served.ok()) << served.status();
  EXPECT_EQ(served->fault, Fault::kNone);
  EXPECT_THAT(Bytes(0, 48), Each(0x42));
  EXPECT_THAT(Bytes(kMaskAt, 16), Each(7));
  EXPECT_THAT(Bytes(kDepthAt, 16), Each(9));
  EXPECT_EQ(At<int32_t>(kCountAt), 2);
  EXPECT_EQ(At<float>(kBoxesAt + 4 * sizeof(float)), 0);  // the box that was the third
  EXPECT_EQ(At<float>(kBoxesAt + 7 * sizeof(float)), 4);
  EXPECT_THAT(Bytes(kBoxesAt + 8 * sizeof(float), 16), Each(0));
  EXPECT_EQ(At<int64_t>(kSizeAt), -1);
}

TEST_F(WorkerTargetsTest, OnACanvasTheImagesSizeIsWritten) {
  item_.spec.height = 8;
  item_.spec.width = 6;
  item_.spec.canvas = 1;
  item_.selection = nullptr;
  item_.field_rows.clear();
  item_.size_offset = kSizeAt;

  ASSERT_EQ(Read(), Fault::kNone);
  ASSERT_EQ(Serve()->fault, Fault::kNone);

  EXPECT_EQ(At<int32_t>(kSizeAt), 4);
  EXPECT_EQ(At<int32_t>(kSizeAt + 4), 4);
  EXPECT_THAT(Bytes(12, 6), Each(0));  // to the right of the first row
}

TEST_F(WorkerTargetsTest, AMaskThatIsMissingOrTooLargeIsTheSamplesFault) {
  dataset_.opened_mask.fault = Fault::kMissing;
  EXPECT_EQ(Read(), Fault::kMissing);
  dataset_.opened_mask = {.bytes = 4097};
  EXPECT_EQ(Read(), Fault::kTooLong);
}

TEST_F(WorkerTargetsTest, WhatFitsAloneButNotWithItsMasksIsThisFeedsFault) {
  ASSERT_EQ(Read(), Fault::kNone);

  EXPECT_EQ(Read(request_.input_bytes), Fault::kNone);
  EXPECT_EQ(Read(request_.input_bytes - 1), Fault::kUnfitSize);
}

TEST_F(WorkerTargetsTest, AMaskThatIsNoneSpoilsTheSample) {
  ASSERT_EQ(Read(), Fault::kNone);
  input_.back() = input_[input_.size() - 20] = std::byte{0};  // within the second mask's end

  EXPECT_EQ(Serve()->fault, Fault::kMalformed);
}

// ---- Lies to a worker. ----

TEST_F(WorkerTargetsTest, TargetsThatLeadElsewhereAreRefusedAndNothingIsWritten) {
  ASSERT_EQ(Read(), Fault::kNone);
  const std::vector<std::byte> good = input_;
  const std::vector<int64_t> before = memory_;
  const std::vector<std::function<void()>> lies = {
      [&] { Place(0).row_offset = kTargetSegmentBytes - 15; },
      [&] { Place(0).row_offset = UINT64_MAX; },
      [&] { Place(0).row_bytes = 15; },
      [&] { Place(0).file_bytes = 8192; },
      [&] { Place(0).file_bytes = UINT64_MAX; },
      [&] { Place(1).row_offset += 1; },
      [&] { Place(1).row_bytes = UINT64_MAX; },
      [&] { Place(1).item_bytes = 0; },
      [&] { Place(1).item_bytes = 12; },
      [&] { Place(1).count_offset = kTargetSegmentBytes - 3; },
      [&] { Place(1).count_offset = kTargetSegmentBytes; },
      [&] { Place(1).spec.pairs = base::kMostPointPairs + 1; },
      [&] { Place(1).spec.kind = TargetKind::kPoints; },  // of no numbers
  };
  for (size_t i = 0; i < lies.size(); ++i) {
    input_ = good;
    lies[i]();
    EXPECT_TRUE(absl::IsInternal(Serve().status())) << i << ": " << Serve().status();
    EXPECT_EQ(memory_, before) << i;
  }
}

TEST_F(WorkerTargetsTest, NumbersOfTargetsThatCannotBeAreRefused) {
  ASSERT_EQ(Read(), Fault::kNone);
  const DecodeRequest good = request_;
  for (const uint32_t lie : {33u, UINT32_MAX}) {
    request_.targets = lie;
    EXPECT_THAT(Refusal(), HasSubstr("targets of"));
  }
  request_ = good;
  for (const uint64_t lie :
       {kTargetSegmentBytes, kTargetSegmentBytes - 7, kSizeAt + 2, UINT64_MAX - 1}) {
    request_.size_offset = lie;
    EXPECT_THAT(Refusal(), HasSubstr("an image's size at"));
  }
  request_ = good;
  EXPECT_EQ(Serve()->fault, Fault::kNone);
}

}  // namespace
}  // namespace penstock::workers
