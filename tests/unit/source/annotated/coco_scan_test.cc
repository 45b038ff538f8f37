// COCO's JSON: what the parser finds, and what it refuses.
#include "server/source/annotated/coco_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/source/annotated/polygon_filter.h"
#include "tests/unit/source/annotated/found.h"

namespace penstock::source {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// In pieces of a few bytes.
absl::StatusOr<Annotations> Coco(const std::string& text, const CocoSpec& spec = {}) {
  size_t at = 0;
  const auto next = [&]() -> absl::StatusOr<std::span<const std::byte>> {
    const size_t begin = at;
    at = std::min(text.size(), at + 7);
    return std::as_bytes(std::span(text)).subspan(begin, at - begin);
  };
  return ScanCoco(next, "/d/a.json", spec, {});
}

std::string CocoRefusal(const std::string& text, const CocoSpec& spec = {}) {
  return std::string(Coco(text, spec).status().message());
}

constexpr char kCategories[] =
    R"("categories": [{"id": 7, "name": "dog", "supercategory": "x"}, {"name": "cat", "id": 3}])";
constexpr char kImages[] =
    R"("images": [{"id": 20, "file_name": "b.jpg"}, {"id": 4, "file_name": "s/a.jpg", "width": 1}])";

std::string CocoText(const std::string& annotations, const std::string& categories = kCategories) {
  return std::string("{\"info\": {\"x\": [1, {\"images\": 2}]}, \"annotations\": [") + annotations +
         "], " + kImages + ", " + categories + "}";
}

constexpr char kThree[] = R"(
  {"id": 1, "image_id": 20, "category_id": 7, "bbox": [1, 2.5, 3, 4], "area": 5.5, "iscrowd": 0,
   "segmentation": [[1, 2, 3.5, 4], [5, 6]]},
  {"id": 2, "image_id": 4, "category_id": 3, "bbox": [0, 0, 1, 1], "area": 1, "iscrowd": 1,
   "segmentation": {"counts": [1, 2], "size": [3, 4]}},
  {"bbox": [9, 8, 7, 6], "area": 2, "id": 3, "image_id": 20, "iscrowd": 0, "category_id": 3})";

TEST(CocoScanTest, ImagesAreSortedByIdAndAnnotationsStayInTheFilesOrder) {
  const auto all = Coco(CocoText(kThree));

  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(std::string(all->paths.begin(), all->paths.end()), "s/a.jpgb.jpg");
  EXPECT_EQ(all->images[0].id, 4);
  EXPECT_EQ(all->images[1].id, 20);
  EXPECT_THAT(CountsOf(*all), ElementsAre(1, 2));
  EXPECT_THAT(ValuesOf<float>(*all, ObjectValue::kBoxes),
              ElementsAre(0, 0, 1, 1, 1, 2.5, 3, 4, 9, 8, 7, 6));
  EXPECT_THAT(ValuesOf<int64_t>(*all, ObjectValue::kLabels), ElementsAre(3, 7, 3));
  EXPECT_THAT(ValuesOf<float>(*all, ObjectValue::kArea), ElementsAre(1, 5.5, 2));
  EXPECT_THAT(ValuesOf<int64_t>(*all, ObjectValue::kCrowd), ElementsAre(1, 0, 0));
  EXPECT_THAT(ValuesOf<int64_t>(*all, ObjectValue::kId), ElementsAre(2, 1, 3));
  EXPECT_THAT(all->classes, ElementsAre("cat", "dog"));
  EXPECT_EQ(all->points, 0u);
  EXPECT_THAT(all->warning, IsEmpty());
}

TEST(CocoScanTest, OptionsLeaveOutAndNumber) {
  const auto crowd = Coco(CocoText(kThree), {.contiguous = true, .skip_crowd = true});
  ASSERT_TRUE(crowd.ok()) << crowd.status();
  EXPECT_THAT(CountsOf(*crowd), ElementsAre(0, 2));
  EXPECT_THAT(ValuesOf<int64_t>(*crowd, ObjectValue::kLabels), ElementsAre(2, 1));

  const auto empty = Coco(CocoText(kThree), {.skip_empty = true, .skip_crowd = true});
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_THAT(CountsOf(*empty), ElementsAre(2));
  EXPECT_EQ(std::string(empty->paths.begin(), empty->paths.end()), "b.jpg");
  EXPECT_THAT(CocoRefusal(CocoText(""), {.skip_empty = true}),
              HasSubstr("it has no images with annotations"));
}

TEST(CocoScanTest, WhatNotAllAnnotationsHaveIsNotOffered) {
  const auto all = Coco(
      CocoText(R"({"id": 1, "image_id": 4, "category_id": 3, "bbox": [0, 0, 1, 1], "area": 1})"));

  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->columns.size(), 4u);
  EXPECT_THAT(ValuesOf<int64_t>(*all, ObjectValue::kCrowd), IsEmpty());
}

TEST(CocoScanTest, AnnotationsOfUnlistedImagesAreLeftOutWithAWarning) {
  const auto all =
      Coco(CocoText(R"({"id": 1, "image_id": 5, "category_id": 3, "bbox": [0, 0, 1, 1]})"));

  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(CountsOf(*all), ElementsAre(0, 0));
  EXPECT_THAT(all->warning, HasSubstr("1 annotations belong to images"));
}

std::string Person(const std::string& id, const std::string& keypoints) {
  return R"({"id": )" + id + R"(, "image_id": 4, "category_id": 1, "bbox": [0, 0, 1, 1])" +
         (keypoints.empty() ? "" : R"(, "keypoints": )" + keypoints) + "}";
}

TEST(CocoScanTest, KeypointsComeWithPairsByTheirNames) {
  const std::string persons =
      R"("categories": [{"id": 1, "name": "person", "skeleton": [[1, 2]],
          "keypoints": ["nose", "left_eye", "right_eye", "left_toe"]}, {"id": 2, "name": "cat"}])";
  const std::string points = "[1, 2, 2, 3, 4, 1, 0, 0, 0, 5, 6.5, 2]";

  const auto all = Coco(CocoText(Person("1", "") + "," + Person("2", points), persons));

  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->points, 4u);
  EXPECT_THAT(all->pairs, ElementsAre(1, 2));
  EXPECT_THAT(
      ValuesOf<float>(*all, ObjectValue::kKeypoints),
      ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 3, 4, 1, 0, 0, 0, 5, 6.5, 2));
  EXPECT_THAT(CocoRefusal(CocoText(Person("1", "[1, 2, 2]"), persons)),
              HasSubstr("has 4 keypoints; the annotations have 1"));
  EXPECT_THAT(CocoRefusal(CocoText(Person("1", "[1, 2]"), persons)),
              HasSubstr("annotations[0] (id 1): its keypoints are 2 numbers"));
  EXPECT_THAT(CocoRefusal(CocoText(Person("1", "[1, 2, 2]") + "," + Person("2", points), persons)),
              HasSubstr("it has 4 keypoints; others have 1"));
  EXPECT_THAT(CocoRefusal(CocoText(Person("1", points),
                                   R"("categories": [{"id": 1, "name": "a", "keypoints": ["x"]},
                                             {"id": 2, "name": "b", "keypoints": ["y"]}])")),
              HasSubstr("the categories 1 and 2 have different keypoints"));
}

TEST(CocoScanTest, KeypointsThatNoCategoryNamesAreLeftOut) {
  const auto all =
      Coco(CocoText(Person("1", "[1, 2, 2]"), R"("categories": [{"id": 1, "name": "person"}])"));

  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->points, 0u);
  EXPECT_THAT(all->warning, HasSubstr("keypoints are not delivered: no category names them"));
}

TEST(CocoScanTest, WhatIsWrongIsNamedWithItsPlace) {
  const auto one = [](const std::string& changed) { return CocoRefusal(CocoText(changed)); };
  EXPECT_THAT(CocoRefusal("{"), HasSubstr("'/d/a.json': it is no JSON at its byte "));
  EXPECT_THAT(CocoRefusal("[]"), HasSubstr("it is a list, wanted an object"));
  EXPECT_THAT(CocoRefusal(""), HasSubstr("it is no JSON"));
  EXPECT_THAT(CocoRefusal("{\"images\": []}"), HasSubstr("it has no list 'annotations'"));
  EXPECT_THAT(CocoRefusal("{\"images\": {}}"), HasSubstr("'images' is an object, wanted a list"));
  EXPECT_THAT(CocoRefusal("{\"images\": 1}"), HasSubstr("'images' is a number, wanted a list"));
  EXPECT_THAT(CocoRefusal("{\"images\": [1]}"), HasSubstr("images[0]: it is a number"));
  EXPECT_THAT(CocoRefusal("{\"images\": [], \"images\": []}"), HasSubstr("'images' twice"));
  EXPECT_THAT(CocoRefusal("{\"images\": [], \"annotations\": []}"), HasSubstr("has no images"));
  EXPECT_THAT(CocoRefusal(R"({"images": [{"id": 1}]})"), HasSubstr("it has no 'file_name'"));
  EXPECT_THAT(CocoRefusal(R"({"images": [{"id": "1", "file_name": "x"}]})"),
              HasSubstr("images[0]: 'id': it has a text where none is wanted"));
  EXPECT_THAT(CocoRefusal(R"({"images": [{"id": 1, "file_name": ""}]})"), HasSubstr("is empty"));
  EXPECT_THAT(CocoRefusal(R"({"images": [{"id": 1, "id": 2}]})"), HasSubstr("it is there twice"));
  EXPECT_THAT(CocoRefusal(R"({"annotations": [], "images": [{"id": 1, "file_name": "x"},
                                                            {"id": 1, "file_name": "y"}]})"),
              HasSubstr("two images have the id 1"));
  EXPECT_THAT(one(R"({"id": 1, "image_id": 4, "category_id": 3})"),
              HasSubstr("annotations[0] (id 1): it has no 'bbox'"));
  EXPECT_THAT(one(R"({"id": 1, "image_id": 4, "category_id": 3, "bbox": [1, 2, 3]})"),
              HasSubstr("its bbox has 3 numbers"));
  EXPECT_THAT(one(R"({"id": 1, "image_id": 4, "category_id": 3, "bbox": [1, 2, [3], 4]})"),
              HasSubstr("'bbox': it is nested"));
  EXPECT_THAT(one(R"({"id": 1, "image_id": 4, "category_id": 3, "bbox": [1, 2, "3", 4]})"),
              HasSubstr("'bbox': got a text"));
  EXPECT_THAT(one(R"({"id": 1, "image_id": 4, "category_id": 3, "bbox": [1, 2, null, 4]})"),
              HasSubstr("it has null where none is wanted"));
  EXPECT_THAT(one(R"({"id": 1, "image_id": 4, "category_id": 3, "bbox": [1, 2, 3, 1e200]})"),
              HasSubstr("a number is too large"));
  EXPECT_THAT(one(R"({"id": 1, "image_id": 4, "category_id": 3, "bbox": [1, 2, 3, NaN]})"),
              HasSubstr("it is no JSON"));
  EXPECT_THAT(one(R"({"id": 1, "image_id": 4.5, "category_id": 3, "bbox": [1, 2, 3, 4]})"),
              HasSubstr("'image_id': got 4.5, wanted an integer"));
  EXPECT_THAT(
      one(R"({"id": 18446744073709551615, "image_id": 4, "category_id": 3, "bbox": [1,2,3,4]})"),
      HasSubstr("wanted an integer of 64 bits"));
  EXPECT_THAT(
      one(R"({"id": 1, "image_id": 4, "category_id": 3, "bbox": [1, 2, 3, 4], "iscrowd": 2})"),
      HasSubstr("its iscrowd is 2"));
  EXPECT_THAT(one(R"({"id": 1, "image_id": 4, "category_id": 5, "bbox": [1, 2, 3, 4]})"),
              HasSubstr("annotations[0] (id 1): its category_id 5 is not among the categories"));
  EXPECT_THAT(one(R"({"id": 1, "image_id": 4, "category_id": 3, "bbox": [1, 2, 3, 4]},
                     {"id": 1, "image_id": 4, "category_id": 3, "bbox": [1, 2, 3, 4]})"),
              HasSubstr("two annotations have the id 1"));
  EXPECT_THAT(CocoRefusal(CocoText("", R"("categories": [{"id": 1, "name": "a"},
                                                         {"id": 1, "name": "b"}])")),
              HasSubstr("two categories have the id 1"));
  EXPECT_THAT(CocoRefusal(CocoText("", R"("categories": [])"), {.contiguous = true}),
              HasSubstr("it has no categories"));
  EXPECT_THAT(CocoRefusal("{\"x\": " + std::string(1000, '[')), HasSubstr("nested too deeply"));
}

// What the filter leaves of a text that comes in pieces.
std::string Filtered(const std::string& text, size_t piece) {
  PolygonFilter filter;
  std::string left;
  for (size_t at = 0; at < text.size(); at += piece) {
    std::span<const std::byte> rest =
        std::as_bytes(std::span(text)).subspan(at, std::min(piece, text.size() - at));
    while (!rest.empty()) {
      const std::span<const std::byte> stay = filter.Next(rest);
      left.append(reinterpret_cast<const char*>(stay.data()), stay.size());
    }
  }
  EXPECT_EQ(left.size() + filter.left_out(), text.size());
  return left;
}

TEST(PolygonFilterTest, OnlyListsOfSegmentationsAreLeftOut) {
  for (const size_t piece : {1, 3, 1000}) {
    EXPECT_EQ(Filtered(R"({"segmentation" : [[1, 2], []], "bbox": [1]})", piece),
              R"({"segmentation" : [], "bbox": [1]})");
    EXPECT_EQ(Filtered(R"(["]", {"segmentation":[["]", "\"]"]], "segmentation": []}])", piece),
              R"(["]", {"segmentation":[], "segmentation": []}])");
    for (const std::string whole :
         {R"({"segmentation": {"counts": [1], "size": [2]}})", R"(["segmentation", [1]])",
          R"({"segmentations": [1], "segmentation_": [2], "s": ["segmentation"]})",
          R"({"a\"segmentation": 1, "x": "segmentation\"", "y": [1]})", R"({"segmentation": nul)"})
      EXPECT_EQ(Filtered(whole, piece), whole);
  }
}

TEST(PolygonFilterTest, TheByteOfAnErrorIsThatOfTheFile) {
  const std::string text = R"({"x": {"segmentation": [[1, 2, 3]], "y": [1, 2, !]}})";
  EXPECT_THAT(CocoRefusal(text), HasSubstr("at its byte " + std::to_string(text.find('!') + 1)));
}

TEST(CocoScanTest, AReadErrorIsReported) {
  const auto next = []() -> absl::StatusOr<std::span<const std::byte>> {
    return absl::UnavailableError("no disk");
  };
  EXPECT_TRUE(absl::IsUnavailable(ScanCoco(next, "/a", {}, {}).status()));
}

}  // namespace
}  // namespace penstock::source
