// One kept row: its bytes come back, or a changed byte is seen.
#include "server/kept/kept_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "common/base/crc32c.h"
#include "server/kept/summed_copy.h"

namespace penstock::kept {
namespace {

std::vector<std::byte> SomeBytes(size_t size) {
  std::mt19937 random(static_cast<uint32_t>(size));
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

TEST(CopyWithSumTest, CopiesAndSumsAtEveryLengthAndPlace) {
  for (size_t size = 0; size < 200; ++size) {
    for (const size_t shift : {0, 1, 5}) {
      const std::vector<std::byte> from = SomeBytes(size + shift);
      std::vector<std::byte> to(size);
      const auto part = std::span(from).subspan(shift);
      EXPECT_EQ(CopyWithSum(part, to), base::Crc32cOfThirds(part));
      EXPECT_TRUE(std::ranges::equal(to, part));
    }
  }
}

class KeptRowTest : public ::testing::Test {
 protected:
  bool CopiesTo(const RowParts& parts) { return row_->CopyTo(parts) == KeptRow::Copied::kDone; }
  RowParts Parts(std::vector<std::byte>& image, std::vector<std::byte>& field) {
    return {std::span(image), std::span(field)};
  }

  const std::shared_ptr<std::atomic<uint64_t>> in_use_ = std::make_shared<std::atomic<uint64_t>>(0);
  const std::vector<std::byte> image_ = SomeBytes(1000), field_ = SomeBytes(13);
  std::vector<std::byte> image_in_ = image_, field_in_ = field_;
  std::shared_ptr<const MemoryRow> row_ =
      std::make_shared<const MemoryRow>(Parts(image_in_, field_in_), in_use_);
};

TEST_F(KeptRowTest, ComesBackToOtherMemory) {
  std::vector<std::byte> image(1000), field(13);
  ASSERT_TRUE(CopiesTo(Parts(image, field)));
  EXPECT_EQ(image, image_);
  EXPECT_EQ(field, field_);
}

TEST_F(KeptRowTest, AnyChangedBitIsSeen) {
  std::vector<std::byte> image(1000), field(13);
  for (size_t bit = 0; bit < 8 * row_->bytes(); bit += 37) {
    row_->data()[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(CopiesTo(Parts(image, field))) << bit;
    row_->data()[bit / 8] ^= std::byte{1} << (bit % 8);
  }
  EXPECT_TRUE(CopiesTo(Parts(image, field)));
}

TEST_F(KeptRowTest, OtherPartsAreRefused) {
  std::vector<std::byte> image(999), field(14), all(1013);
  EXPECT_FALSE(CopiesTo(Parts(image, field)));
  EXPECT_FALSE(CopiesTo({std::span(all)}));
  std::vector<std::byte> right(1000), short_field(12);
  EXPECT_FALSE(CopiesTo(Parts(right, short_field)));
}

TEST_F(KeptRowTest, ItsMemoryIsCountedWhileItExists) {
  EXPECT_EQ(*in_use_, 1013u);
  const std::shared_ptr<const MemoryRow> other = row_;
  row_.reset();
  EXPECT_EQ(*in_use_, 1013u);
}

}  // namespace
}  // namespace penstock::kept
