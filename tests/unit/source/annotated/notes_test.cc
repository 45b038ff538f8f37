// Images with a file of annotations for each: VOC and YOLO.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/source/annotated/annotated_fixture.h"

namespace penstock::source {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class VocTest : public AnnotatedTest {
 protected:
  VocTest() {
    for (const char* name : {"one", "two"}) {
      temp_.Write(std::string("v/JPEGImages/") + name + ".jpg", name);
      temp_.Write(std::string("v/SegmentationClass/") + name + ".png", std::string("m") + name);
      temp_.Write(std::string("v/Annotations/") + name + ".xml",
                  Xml("cat", name[0] == 'o' ? 2 : 1));
    }
    temp_.Write("v/ImageSets/Main/train.txt", "two\none\n");
    temp_.Write("v/ImageSets/Segmentation/val.txt", "one\n");
  }
  static std::string Xml(const std::string& name, int objects) {
    std::string xml = "<annotation>";
    for (int i = 0; i < objects; ++i)
      xml += "<object><name>" + name +
             "</name><truncated>1</truncated><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>3</xmax>"
             "<ymax>4</ymax></bndbox></object>\n";
    return xml + "</annotation>";
  }
};

TEST_F(VocTest, BoxesAreInTheFilesOfTheSplit) {
  const auto dataset = Opened("voc:@/v,split=train");

  EXPECT_EQ(dataset->kind(), "voc");
  EXPECT_THAT(NamesOf(*dataset), ElementsAre("v/JPEGImages/two.jpg", "v/JPEGImages/one.jpg"));
  EXPECT_THAT(FieldsOf(*dataset), ElementsAre("boxes", "labels", "difficult", "truncated"));
  EXPECT_EQ(dataset->classes().size(), 20u);
  EXPECT_EQ(dataset->classes()[7], "cat");
  EXPECT_EQ(FieldOf(*dataset, "boxes").target.format, base::BoxFormat::kCorners);
  EXPECT_THAT(Values<float>(*dataset, "boxes", 0), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Values<int64_t>(*dataset, "labels", 1), ElementsAre(8, 8));
  EXPECT_THAT(Values<uint8_t>(*dataset, "truncated", 1), ElementsAre(1, 1));
  EXPECT_THAT(Values<uint8_t>(*dataset, "difficult", 1), ElementsAre(0, 0));
}

TEST_F(VocTest, SegmentationHasMasks) {
  const auto dataset = Opened("voc:@/v,split=val,set=Segmentation");

  EXPECT_EQ(dataset->kind(), "voc");
  EXPECT_THAT(FieldsOf(*dataset), ElementsAre("mask"));
  EXPECT_EQ(MaskOf(*dataset, 0), "mone");
}

TEST_F(VocTest, OtherClassesNeedAFile) {
  temp_.Write("v/Annotations/two.xml", Xml("raccoon", 1));
  EXPECT_THAT(Refusal("voc:@/v,split=train"),
              HasSubstr(temp_.At("v/Annotations/two.xml") + ":1: the class 'raccoon'"));
  temp_.Write("names.txt", "cat\nraccoon\n");
  const auto dataset = Opened("voc:@/v,split=train,names=@/names.txt");
  EXPECT_THAT(Values<int64_t>(*dataset, "labels", 0), ElementsAre(2));
  EXPECT_THAT(dataset->classes(), ElementsAre("cat", "raccoon"));
  temp_.Write("names.txt", "cat\ncat\n");
  EXPECT_THAT(Refusal("voc:@/v,split=train,names=@/names.txt"),
              HasSubstr("names.txt:2: the class is there twice"));
}

TEST_F(VocTest, WhatIsMissingIsNamed) {
  EXPECT_THAT(Refusal("voc:@/v,split=test"), HasSubstr("ImageSets/Main/test.txt"));
  temp_.Write("v/ImageSets/Main/cat.txt", "one  1\n");
  EXPECT_THAT(Refusal("voc:@/v,split=cat"), HasSubstr("cat.txt:1: got 'one  1', wanted one name"));
  temp_.Write("v/ImageSets/Main/more.txt", "one\nthree\n");
  EXPECT_THAT(Refusal("voc:@/v,split=more"), HasSubstr("more.txt:2"));
  std::filesystem::remove(temp_.At("v/Annotations/one.xml"));
  EXPECT_THAT(Refusal("voc:@/v,split=train"), HasSubstr(temp_.At("v/Annotations/one.xml")));
}

TEST_F(VocTest, AnAnnotationThatChangesMakesAnotherDataset) {
  const std::string before = Identity("voc:@/v,split=train");
  temp_.Write("v/Annotations/one.xml", Xml("dog", 2));
  EXPECT_NE(Identity("voc:@/v,split=train"), before);
}

TEST_F(VocTest, ManyFilesAreReadInBatches) {
  std::string split;
  for (int i = 0; i < 2500; ++i) {
    const std::string name = std::to_string(i);
    temp_.Write("v/JPEGImages/" + name + ".jpg", name);
    temp_.Write("v/Annotations/" + name + ".xml", Xml("cat", i % 3));
    split += name + "\n";
  }
  temp_.Write("v/ImageSets/Main/many.txt", split);

  const auto dataset = Opened("voc:@/v,split=many");

  for (const uint64_t i : {0, 1, 1023, 1024, 2047, 2048, 2499})
    EXPECT_EQ(Values<int64_t>(*dataset, "labels", i).size(), i % 3) << i;
}

// ---- YOLO ----

class YoloTest : public AnnotatedTest {
 protected:
  YoloTest() {
    for (const char* name : {"images/train/a.jpg", "images/train/a/b.jpg", "images/train/c.png"})
      temp_.Write(name, name);
    temp_.Write("labels/train/a.txt", "0 0.5 0.5 1 1\n2 0.25 0.25 0.5 0.5\n");
    temp_.Write("labels/train/a/b.txt", "");
  }
};

TEST_F(YoloTest, LabelsAreWhereUltralyticsLooks) {
  const auto dataset = Opened("yolo:images=@/images/train");

  EXPECT_EQ(dataset->kind(), "yolo");
  EXPECT_THAT(NamesOf(*dataset),
              ElementsAre("images/train/a.jpg", "images/train/a/b.jpg", "images/train/c.png"));
  EXPECT_THAT(FieldsOf(*dataset), ElementsAre("boxes", "labels"));
  const base::TargetSpec boxes = FieldOf(*dataset, "boxes").target;
  EXPECT_EQ(boxes.format, base::BoxFormat::kCenterAndSize);
  EXPECT_EQ(boxes.relative, 1u);
  EXPECT_THAT(Values<int64_t>(*dataset, "labels", 0), ElementsAre(0, 2));
  EXPECT_THAT(Values<int64_t>(*dataset, "labels", 1), IsEmpty());
  EXPECT_THAT(Values<int64_t>(*dataset, "labels", 2), IsEmpty());
  EXPECT_THAT(dataset->classes(), IsEmpty());
}

TEST_F(YoloTest, TheLastFolderCalledImagesCounts) {
  temp_.Write("d/images/train/images/e.jpg", "e");
  temp_.Write("d/images/train/labels/e.txt", "7 0 0 0 0\n");
  for (const char* text : {"yolo:images=@/d/images/train/images/", "yolo:images=@/d/images/train"})
    EXPECT_EQ(Open(text, {temp_.path()}).status(), absl::OkStatus()) << text;
  EXPECT_THAT(Values<int64_t>(*Opened("yolo:images=@/d/images/train/images"), "labels", 0),
              ElementsAre(7));
}

TEST_F(YoloTest, LabelsMayLieElsewhereOrBeside) {
  temp_.Write("l/c.txt", "1 0 0 0 0\n");
  EXPECT_THAT(Values<int64_t>(*Opened("yolo:images=@/images/train,labels=@/l"), "labels", 2),
              ElementsAre(1));
  temp_.Write("flat/f.jpg", "f");
  temp_.Write("flat/f.txt", "3 0 0 0 0");
  EXPECT_THAT(Values<int64_t>(*Opened("yolo:images=@/flat"), "labels", 0), ElementsAre(3));
}

TEST_F(YoloTest, NamesMustCoverAllClasses) {
  temp_.Write("data.yaml", "names: [a, b, c]\n");
  EXPECT_THAT(Opened("yolo:images=@/images/train,names=@/data.yaml")->classes(),
              ElementsAre("a", "b", "c"));
  temp_.Write("classes.txt", "a\nb\n");
  EXPECT_THAT(Refusal("yolo:images=@/images/train,names=@/classes.txt"),
              HasSubstr("labels/train/a.txt' has an object of class 2; the file of names has 2"));
}

TEST_F(YoloTest, ALabelThatAppearsMakesAnotherDataset) {
  const std::string before = Identity("yolo:images=@/images/train");
  temp_.Write("labels/train/c.txt", "");
  EXPECT_NE(Identity("yolo:images=@/images/train"), before);
}

TEST_F(YoloTest, WhatIsWrongIsNamed) {
  temp_.Write("labels/train/c.txt", "0 1 2\n");
  EXPECT_THAT(Refusal("yolo:images=@/images/train"),
              HasSubstr(temp_.At("labels/train/c.txt") + ":1: the line has 3 numbers"));
  temp_.Write("labels/train/c.txt", std::string(5 << 20, ' '));
  EXPECT_THAT(Refusal("yolo:images=@/images/train"), HasSubstr("at most 4.0 MiB"));
  temp_.Write("none/images/a.jpg", "a");
  EXPECT_THAT(Refusal("yolo:images=@/none/images"), HasSubstr("labels"));
  temp_.MakeFolder("none/labels");
  EXPECT_THAT(Refusal("yolo:images=@/none/images"),
              HasSubstr("none of 1 images has a file of labels"));
}

}  // namespace
}  // namespace penstock::source
