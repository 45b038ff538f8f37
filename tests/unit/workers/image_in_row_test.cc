// Images that a queue reads into their rows instead of the worker's input, because they may stay
// there: which do, and what a worker refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "server/decode/core/place.h"
#include "server/workers/program/request_server.h"
#include "server/workers/queue/item_reader.h"
#include "tests/support/fakes/fake_dataset.h"
#include "tests/support/files/jpeg_maker.h"

namespace penstock::workers {
namespace {

using base::Fault;
using ::testing::HasSubstr;

constexpr uint32_t kPlace = 16 << 10;

class ImageInRowTest : public ::testing::Test {
 protected:
  ImageInRowTest() {
    item_.dataset = &dataset_;
    item_.spec.undecoded = {.place_bytes = kPlace, .share = UINT32_MAX, .decoder = 1};
    item_.row = segment_.data();
  }

  // Reads the item, and writes the request for it.
  void Read() {
    ItemReader reader(item_, {.max_image_bytes = 1 << 20, .arena_bytes = 1 << 20});
    const ItemReader::Input input = reader.Open().value();
    input_.assign(input.bytes, std::byte{0});
    EXPECT_TRUE(reader.Read(input_).value());
    request_ = {.sequence = 1,
                .input_offset = 0,
                .input_bytes = input.bytes,
                .row_offset = 0,
                .row_bytes = kPlace,
                .segment = 0,
                .recipe_bytes = 0,
                .image_in_row = input.image_in_row,
                .spec = item_.spec,
                .key = item_.key};
  }
  absl::StatusOr<RequestServer::Served> Serve() {
    return server_.Serve(request_, input_, segment_);
  }
  shm::RowNote Note() const {
    shm::RowNote note;
    std::memcpy(&note, segment_.data() + kPlace - sizeof note, sizeof note);
    return note;
  }
  bool IsInInput() {
    Read();
    return request_.image_in_row == 0 && input_.size() == file_.size();
  }

  std::vector<std::byte> file_ = testing::MakeJpeg(90, 80, {});
  testing::FakeDataset dataset_{
      1, [this](uint64_t) -> absl::StatusOr<std::vector<std::byte>> { return file_; }};
  WorkItem item_;
  std::vector<std::byte> segment_ = std::vector<std::byte>(kPlace, std::byte{0xEE});
  std::vector<std::byte> input_;
  DecodeRequest request_ = {};
  RequestServer server_{{.max_bytes = 1 << 20, .max_pixels = 1'000'000}};
};

TEST_F(ImageInRowTest, AFileThatStaysIsReadIntoItsRowAndNowhereElse) {
  Read();
  EXPECT_EQ(request_.image_in_row, file_.size());
  EXPECT_EQ(input_.size(), 0u);

  EXPECT_EQ(Serve()->fault, Fault::kNone);

  EXPECT_EQ(Note().holds, shm::RowHolds::kJpeg);
  EXPECT_EQ(Note().bytes, file_.size());
  EXPECT_TRUE(std::equal(file_.begin(), file_.end(), segment_.begin()));
  const auto behind = std::span(segment_).first(kPlace - sizeof(shm::RowNote));
  EXPECT_TRUE(std::ranges::all_of(behind.subspan(file_.size()),
                                  [](std::byte b) { return b == std::byte{0}; }));
}

TEST_F(ImageInRowTest, WhatMustBeDecodedIsMovedOutOfTheWay) {
  file_ = testing::MakeJpeg(90, 80, {.progressive = true});
  item_.spec.height = item_.spec.width = 32;
  Read();
  EXPECT_GT(request_.image_in_row, 0u);

  EXPECT_EQ(Serve()->fault, Fault::kNone);

  EXPECT_EQ(Note().holds, shm::RowHolds::kPixels);
  decode::Spec pixels = item_.spec;
  pixels.undecoded = {};
  std::vector<std::byte> row(decode::RowBytes(pixels));
  decode::Decoder decoder{{.max_bytes = 1 << 20, .max_pixels = 1'000'000}};
  ASSERT_EQ(decoder.DecodeRow(file_, pixels, item_.key, row), Fault::kNone);
  EXPECT_TRUE(std::ranges::equal(row, std::span(segment_).first(row.size())));
}

TEST_F(ImageInRowTest, WhatSurelyDoesNotStayGoesToTheInput) {
  const decode::Undecoded undecoded = item_.spec.undecoded;
  item_.spec.undecoded.share = 0;
  EXPECT_TRUE(IsInInput());
  item_.spec.undecoded = undecoded;
  item_.row = nullptr;
  EXPECT_TRUE(IsInInput());
  item_.row = segment_.data();
  file_.resize(decode::RoomOf(undecoded) + 1);
  EXPECT_TRUE(IsInInput());
  item_.spec.undecoded = {};
  EXPECT_TRUE(IsInInput());
}

TEST_F(ImageInRowTest, TheLargestFileThatFitsDoesNotTouchTheNote) {
  file_.resize(decode::RoomOf(item_.spec.undecoded));
  item_.spec.undecoded.rewrites = 1;
  const shm::RowNote before = {.holds = shm::RowHolds::kPixels, .bytes = 77, .width = 5};
  std::memcpy(segment_.data() + kPlace - sizeof before, &before, sizeof before);
  Read();
  EXPECT_EQ(request_.image_in_row, file_.size());
  EXPECT_EQ(Note().bytes, file_.size());  // what the place may hold from now on
  EXPECT_EQ(Note().width, 5u);
}

TEST_F(ImageInRowTest, AWorkerRefusesWhatCannotBe) {
  Read();
  const DecodeRequest sound = request_;
  const auto refusal = [this] { return std::string(Serve().status().message()); };
  request_.image_in_row = decode::RoomOf(item_.spec.undecoded) + 1;
  EXPECT_THAT(refusal(), HasSubstr("an image of 16321 bytes in a row"));
  request_.image_in_row = UINT64_MAX;
  EXPECT_THAT(refusal(), HasSubstr("an image of 18446744073709551615 bytes in a row"));
  request_ = sound;
  request_.spec.undecoded = {};
  request_.row_bytes = decode::RowBytes(request_.spec);
  segment_.resize(request_.row_bytes);
  EXPECT_THAT(refusal(), HasSubstr("bytes in a row"));
}

}  // namespace
}  // namespace penstock::workers
