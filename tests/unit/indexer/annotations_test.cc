// Annotations as byte streams: they survive a round trip, and what cannot be is refused.
#include "server/indexer/wire/annotations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>

#include "tests/unit/indexer/answer_in_memory.h"

namespace penstock::indexer {
namespace {

using source::Annotations;
using source::ObjectValue;
using ::testing::HasSubstr;

constexpr uint64_t kAnnotatedBytes = 200;

Annotations AnnotatedCats() {
  Annotations all;
  for (const char c : std::string("a.jpgs/b.jpg")) all.paths.push_back(c);
  all.images = {{.id = 4, .path_bytes = 5, .objects = 2}, {.id = 9, .path_bytes = 7}};
  all.columns = {{.what = ObjectValue::kBoxes},
                 {.what = ObjectValue::kLabels},
                 {.what = ObjectValue::kCrowd},
                 {.what = ObjectValue::kKeypoints},
                 {.what = ObjectValue::kDifficult}};
  for (int64_t object = 0; object < 2; ++object) {
    for (int i = 0; i < 4; ++i) all.columns[0].Add(1.5f);
    all.columns[1].Add(object);
    all.columns[2].Add(object);
    for (int i = 0; i < 6; ++i) all.columns[3].Add(0.5f);
    all.columns[4].Add(uint8_t{1});
  }
  all.points = 2;
  all.pairs = {0, 1};
  all.classes = {"cat", "dog"};
  all.warning = "careful";
  return all;
}

Annotations OneNoteOfYolo() {
  Annotations all = {.images = {{.objects = 1}},
                     .columns = {{.what = ObjectValue::kBoxes}, {.what = ObjectValue::kLabels}}};
  for (int i = 0; i < 4; ++i) all.columns[0].Add(0.5f);
  all.columns[1].Add(int64_t{3});
  return all;
}

std::string AnnotationBytes(const Annotations& all) {
  AnswerInMemory answer;
  EXPECT_TRUE(PutAnnotations(answer, all).ok());
  return answer.bytes();
}

TEST(AnnotationsAnswerTest, AnnotationsArriveAsTheyWere) {
  for (const uint64_t notes : {0, 1}) {
    const Annotations all = notes == 0 ? AnnotatedCats() : OneNoteOfYolo();
    LimitedMemory memory;
    AnswerInMemory answer(AnnotationBytes(all));

    const auto got = TakeAnnotations(answer, kAnnotatedBytes, notes, memory);

    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_TRUE(answer.all_taken());
    EXPECT_EQ(AnnotationBytes(*got), AnnotationBytes(all));
    EXPECT_TRUE(CheckAnnotations(*got, notes).ok()) << CheckAnnotations(*got, notes);
  }
}

// Changes each count of the header in turn: images, bytes of paths, objects; columns, classes,
// points, bytes of pairs.
TEST(AnnotationsAnswerTest, CountsThatNoFileCouldHoldAreRefusedBeforeAnythingIsAllocated) {
  for (size_t count = 0; count < 7; ++count) {
    LimitedMemory memory;
    std::string bytes = AnnotationBytes(AnnotatedCats());
    const uint32_t lie = uint32_t{1} << 30;
    std::memcpy(bytes.data() + (count < 3 ? count * 8 : 24 + (count - 3) * 4), &lie, sizeof lie);
    AnswerInMemory answer(bytes);

    EXPECT_TRUE(absl::IsInternal(TakeAnnotations(answer, kAnnotatedBytes, 0, memory).status()))
        << count;
    EXPECT_EQ(memory.most(), 0u);
  }
}

TEST(AnnotationsAnswerTest, AnAnswerThatEndsEarlyIsRefused) {
  const std::string bytes = AnnotationBytes(AnnotatedCats());
  for (size_t end = 0; end < bytes.size(); ++end) {
    LimitedMemory memory;
    AnswerInMemory answer(bytes.substr(0, end));
    EXPECT_FALSE(TakeAnnotations(answer, kAnnotatedBytes, 0, memory).ok()) << end;
  }
}

TEST(AnnotationsAnswerTest, ObjectsThatTheImagesDoNotHaveAreRefused) {
  std::string bytes = AnnotationBytes(AnnotatedCats());
  const uint64_t three = 3;
  std::memcpy(bytes.data() + 16, &three, sizeof three);
  bytes.resize(bytes.size() + 1000);
  AnswerInMemory answer(bytes);
  LimitedMemory memory;
  EXPECT_TRUE(absl::IsInternal(TakeAnnotations(answer, kAnnotatedBytes, 0, memory).status()));
}

TEST(AnnotationsAnswerTest, PartsThatDisagreeAreRefused) {
  const auto set = [](Annotations& all, size_t column, auto value) {
    std::memcpy(all.columns[column].values.data(), &value, sizeof value);
  };
  const std::function<void(Annotations&)> changes[] = {
      [](Annotations& a) { a.images.clear(); },
      [](Annotations& a) { a.images[0].path_bytes = 0; },
      [](Annotations& a) { a.images[0].path_bytes = 6; },
      [](Annotations& a) { a.images[0].path_bytes = 5000; },
      [](Annotations& a) { a.images[0].objects = 3; },
      [](Annotations& a) { a.paths[1] = '\0'; },
      [](Annotations& a) { a.columns.erase(a.columns.begin()); },
      [](Annotations& a) { a.columns.erase(a.columns.begin() + 1); },
      [](Annotations& a) { a.columns.erase(a.columns.begin() + 3); },
      [](Annotations& a) { a.columns.push_back(a.columns[0]); },
      [](Annotations& a) { a.columns[1].values.pop_back(); },
      [&](Annotations& a) { set(a, 0, std::numeric_limits<float>::quiet_NaN()); },
      [&](Annotations& a) { set(a, 3, std::numeric_limits<float>::infinity()); },
      [&](Annotations& a) { set(a, 2, int64_t{2}); },
      [&](Annotations& a) { set(a, 4, uint8_t{2}); },
      [](Annotations& a) { a.points = 3; },
      [](Annotations& a) { a.pairs[0] = 2; },
      [](Annotations& a) { a.pairs.pop_back(); },
      [](Annotations& a) { a.classes[0] = "\xFF"; },
  };
  for (size_t i = 0; i < std::size(changes); ++i) {
    Annotations all = AnnotatedCats();
    changes[i](all);
    EXPECT_THAT(std::string(CheckAnnotations(all, 0).message()), HasSubstr("answered with")) << i;
  }
}

TEST(AnnotationsAnswerTest, NotesAreAsManyAsWereAsked) {
  EXPECT_TRUE(CheckAnnotations(OneNoteOfYolo(), 1).ok());
  EXPECT_FALSE(CheckAnnotations(OneNoteOfYolo(), 2).ok());
  EXPECT_FALSE(CheckAnnotations(OneNoteOfYolo(), 0).ok());
  EXPECT_FALSE(CheckAnnotations(AnnotatedCats(), 2).ok());
  LimitedMemory memory;
  AnswerInMemory answer(AnnotationBytes(AnnotatedCats()));
  EXPECT_TRUE(absl::IsInternal(TakeAnnotations(answer, kAnnotatedBytes, 1, memory).status()));
}

}  // namespace
}  // namespace penstock::indexer
