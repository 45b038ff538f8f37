// Lists and batches of CIFAR as byte streams: they survive a round trip, and what cannot be is
// refused.
#include "server/indexer/wire/lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "server/indexer/wire/cifar.h"
#include "tests/unit/indexer/answer_in_memory.h"

namespace penstock::indexer {
namespace {

using source::ScannedList;
using ::testing::HasSubstr;

constexpr uint64_t kListBytes = 100;

ScannedList TwoRows() {
  ScannedList list;
  for (const char c : std::string("a.jpgdir/b.png")) list.paths.push_back(c);
  list.rows = {{.path_bytes = 5, .line = 2}, {.path_bytes = 9, .line = 3}};
  list.labeled = true;
  list.labels = {1, 0};
  list.classes = {"cat", "dog"};
  list.columns = {{.name = "x", .type = base::DType::kFloat32, .values = {7, 8}},
                  {.name = "y", .type = base::DType::kInt64, .values = {9, UINT64_MAX}}};
  list.left_out = "'note'";
  return list;
}

std::string Bytes(const ScannedList& list) {
  AnswerInMemory answer;
  EXPECT_TRUE(PutList(answer, list).ok());
  return answer.bytes();
}

TEST(ListsTest, AListArrivesAsItWas) {
  LimitedMemory memory;
  AnswerInMemory answer(Bytes(TwoRows()));

  const auto got = TakeList(answer, kListBytes, memory);

  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(answer.all_taken());
  EXPECT_EQ(Bytes(*got), Bytes(TwoRows()));
  EXPECT_TRUE(got->labeled);
  EXPECT_EQ(got->left_out, "'note'");
  EXPECT_TRUE(CheckList(*got).ok());
}

// Changes each count of the header in turn: rows, bytes of paths, labels, classes, columns.
TEST(ListsTest, CountsThatNoListCouldHoldAreRefusedBeforeAnythingIsAllocated) {
  for (size_t count = 0; count < 5; ++count) {
    LimitedMemory memory;
    std::string bytes = Bytes(TwoRows());
    const uint64_t lie = uint64_t{1} << 50;
    std::memcpy(bytes.data() + count * sizeof lie, &lie, sizeof lie);
    AnswerInMemory answer(bytes);

    EXPECT_TRUE(absl::IsInternal(TakeList(answer, kListBytes, memory).status())) << count;
    EXPECT_EQ(memory.most(), 0u);
  }
}

TEST(ListsTest, AnAnswerThatEndsEarlyIsRefused) {
  const std::string bytes = Bytes(TwoRows());
  for (size_t end = 0; end < bytes.size(); ++end) {
    LimitedMemory memory;
    AnswerInMemory answer(bytes.substr(0, end));
    EXPECT_FALSE(TakeList(answer, kListBytes, memory).ok()) << end;
  }
}

TEST(ListsTest, PartsThatDisagreeAreRefused) {
  const std::function<void(ScannedList&)> changes[] = {
      [](ScannedList& l) { l.rows.clear(); },
      [](ScannedList& l) { l.rows[0].path_bytes = 0; },
      [](ScannedList& l) { l.rows[0].path_bytes = 6; },
      [](ScannedList& l) { l.rows[0].path_bytes = source::kLongestListPath + 1; },
      [](ScannedList& l) { l.paths[3] = '\0'; },
      [](ScannedList& l) { l.labels[0] = 2; },
      [](ScannedList& l) { l.labels[0] = -1; },
      [](ScannedList& l) { l.labeled = false; },
      [](ScannedList& l) { l.classes[0] = "\xFF"; },
      [](ScannedList& l) { l.columns[0].name = "y"; },
      [](ScannedList& l) { l.columns[0].name = ""; },
      [](ScannedList& l) { l.columns[0].name = "\xFF"; },
      [](ScannedList& l) { l.columns[0].type = base::DType::kUInt8; },
      [](ScannedList& l) { l.columns[0].values.pop_back(); },
  };
  for (size_t i = 0; i < std::size(changes); ++i) {
    ScannedList list = TwoRows();
    changes[i](list);
    EXPECT_THAT(std::string(CheckList(list).message()), HasSubstr("answered with")) << i;
  }
}

source::CifarBatch TwoImages() {
  return {.data_offset = 100, .images = 2, .fine_labels = {7, 8}, .coarse_labels = {1, 2}};
}

TEST(CifarAnswerTest, ABatchArrivesAsItWas) {
  AnswerInMemory answer;
  ASSERT_TRUE(PutCifar(answer, TwoImages()).ok());
  LimitedMemory memory;

  const auto got = TakeCifar(answer, 7000, memory);

  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(answer.all_taken());
  EXPECT_EQ(got->data_offset, 100u);
  EXPECT_EQ(got->fine_labels, TwoImages().fine_labels);
  EXPECT_EQ(got->coarse_labels, TwoImages().coarse_labels);
  EXPECT_TRUE(CheckCifar(*got, 100 + 2 * 3072).ok());
}

TEST(CifarAnswerTest, WhatTheFileCannotHoldIsRefused) {
  EXPECT_FALSE(CheckCifar(TwoImages(), 99 + 2 * 3072).ok());
  EXPECT_FALSE(CheckCifar(TwoImages(), 99).ok());
  source::CifarBatch batch = TwoImages();
  batch.images = UINT64_MAX / 3072;
  EXPECT_FALSE(CheckCifar(batch, 7000).ok());
  batch = TwoImages();
  batch.coarse_labels.push_back(3);
  EXPECT_FALSE(CheckCifar(batch, 7000).ok());
  AnswerInMemory answer;
  ASSERT_TRUE(PutCifar(answer, TwoImages()).ok());
  LimitedMemory memory;
  EXPECT_TRUE(absl::IsInternal(TakeCifar(answer, 1, memory).status()));
  EXPECT_EQ(memory.most(), 0u);
}

}  // namespace
}  // namespace penstock::indexer
