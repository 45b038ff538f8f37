// Images with annotations of COCO.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/source/annotated/annotated_fixture.h"

namespace penstock::source {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CocoTest : public AnnotatedTest {
 protected:
  CocoTest() {
    temp_.Write("i/a.jpg", "image a");
    temp_.Write("i/s/b.jpg", "image b");
    temp_.Write("a.json", R"({
      "annotations": [
        {"id": 5, "image_id": 9, "category_id": 1, "bbox": [1, 2, 3, 4], "area": 12, "iscrowd": 0,
         "keypoints": [1, 2, 2, 3, 4, 1]},
        {"id": 6, "image_id": 9, "category_id": 1, "bbox": [5, 6, 7, 8], "area": 56, "iscrowd": 1}],
      "images": [{"id": 9, "file_name": "a.jpg"}, {"id": 2, "file_name": "s/b.jpg"}],
      "categories": [{"id": 1, "name": "cat", "keypoints": ["left_ear", "right_ear"]}]})");
  }
};

TEST_F(CocoTest, FieldsAreThoseOfTheAnnotations) {
  const auto dataset = Opened("coco:annotations=@/a.json,images=@/i");

  EXPECT_EQ(dataset->kind(), "coco");
  EXPECT_THAT(NamesOf(*dataset), ElementsAre("i/s/b.jpg", "i/a.jpg"));
  EXPECT_THAT(dataset->classes(), ElementsAre("cat"));
  EXPECT_THAT(FieldsOf(*dataset), ElementsAre("image_id", "boxes", "labels", "area", "iscrowd",
                                              "annotation_id", "keypoints"));
  EXPECT_THAT(Values<float>(*dataset, "boxes", 1), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(Values<float>(*dataset, "boxes", 0), IsEmpty());
  EXPECT_THAT(Values<int64_t>(*dataset, "labels", 1), ElementsAre(1, 1));
  EXPECT_THAT(Values<float>(*dataset, "area", 1), ElementsAre(12, 56));
  EXPECT_THAT(Values<int64_t>(*dataset, "iscrowd", 1), ElementsAre(0, 1));
  EXPECT_THAT(Values<int64_t>(*dataset, "annotation_id", 1), ElementsAre(5, 6));
  EXPECT_THAT(Values<float>(*dataset, "keypoints", 1, 2),
              ElementsAre(1, 2, 2, 3, 4, 1, 0, 0, 0, 0, 0, 0));
}

TEST_F(CocoTest, TargetsAreDeclared) {
  const auto dataset = Opened("coco:annotations=@/a.json,images=@/i");

  const SampleField boxes = FieldOf(*dataset, "boxes");
  EXPECT_EQ(boxes.target.kind, base::TargetKind::kBoxes);
  EXPECT_EQ(boxes.target.format, base::BoxFormat::kCornerAndSize);
  EXPECT_TRUE(boxes.placed && boxes.variable);
  EXPECT_EQ(FieldOf(*dataset, "labels").target.kind, base::TargetKind::kWithBoxes);
  EXPECT_EQ(FieldOf(*dataset, "image_id").target.kind, base::TargetKind::kNone);
  const SampleField points = FieldOf(*dataset, "keypoints");
  EXPECT_THAT(points.shape, ElementsAre(2, 3));
  EXPECT_EQ(points.target.kind, base::TargetKind::kPoints);
  EXPECT_EQ(points.target.pairs, 1u);
  EXPECT_EQ(points.target.pair[0], 0);
  EXPECT_EQ(points.target.pair[1], 1);
  const FieldRequest all[] = {{.name = "image_id"},
                              {.name = "boxes", .most = 10},
                              {.name = "labels", .most = 10},
                              {.name = "keypoints", .most = 10}};
  EXPECT_TRUE(dataset->Select(all).ok());
}

TEST_F(CocoTest, TheIdOfAnImageIsAField) {
  const auto dataset = Opened("coco:annotations=@/a.json,images=@/i");
  const FieldRequest request[] = {{.name = "image_id"}};
  const Selection selection = dataset->Select(request).value();
  int64_t id = 0;
  std::byte* rows[] = {reinterpret_cast<std::byte*>(&id)};
  const auto reader = dataset->NewReader();

  ASSERT_TRUE(reader->Open(1).ok());
  EXPECT_EQ(reader->ReadFields(selection, rows).value(), base::Fault::kNone);

  EXPECT_EQ(id, 9);
}

TEST_F(CocoTest, MoreObjectsThanWereRequestedAreAFault) {
  const auto dataset = Opened("coco:annotations=@/a.json,images=@/i");
  const FieldRequest request[] = {{.name = "labels", .most = 1}};
  const Selection selection = dataset->Select(request).value();
  int64_t label = 0;
  int32_t length = 0;
  std::byte* rows[] = {reinterpret_cast<std::byte*>(&label), reinterpret_cast<std::byte*>(&length)};
  const auto reader = dataset->NewReader();

  ASSERT_TRUE(reader->Open(1).ok());
  EXPECT_EQ(reader->ReadFields(selection, rows).value(), base::Fault::kTooLong);
}

TEST_F(CocoTest, OtherAnnotationsAreAnotherDataset) {
  const std::string text = "coco:annotations=@/a.json,images=@/i";
  const std::string before = Identity(text);
  const uint64_t digest = Opened(text)->digest();
  EXPECT_NE(Opened(text + ",crowd=skip")->digest(), digest);

  std::string json = temp_.Read("a.json");
  json.replace(json.find("[1, 2, 3, 4]"), 12, "[1, 2, 3, 5]");
  temp_.Write("a.json", json);

  EXPECT_NE(Identity(text), before);
  EXPECT_NE(Opened(text)->digest(), digest);
}

TEST_F(CocoTest, AnImageThatIsMissingIsNamed) {
  std::filesystem::remove(temp_.At("i/a.jpg"));
  EXPECT_THAT(Refusal("coco:annotations=@/a.json,images=@/i"), HasSubstr(temp_.At("i/a.jpg")));
}

}  // namespace
}  // namespace penstock::source
