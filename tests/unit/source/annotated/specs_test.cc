// How users name annotated images.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/source/annotated/annotated_spec.h"

namespace penstock::source {
namespace {

using ::testing::HasSubstr;

TEST(AnnotatedSpecTest, WhatIsWrittenReturnsAsText) {
  for (const std::string text :
       {"pairs:images=/d/i,masks=/d/m",
        "pairs:images=/d,masks=/d,image_suffix=_a.png,mask_suffix=_b.png,split=/s.txt,missing=skip",
        "coco:annotations=/a.json,images=/d",
        "coco:annotations=/a.json,images=/d,empty=skip,labels=contiguous,crowd=skip",
        "voc:/d/VOC2012,split=train", "voc:/d,split=val,set=Segmentation",
        "voc:/d,split=train,names=/n.txt", "yolo:images=/d/images/train",
        "yolo:images=/d/images,labels=/l,names=/data.yaml"}) {
    const auto spec = ParseAnnotatedText(text);
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_EQ(ToString(*spec), text);
    EXPECT_EQ(KindOf(*spec), text.substr(0, text.find(':')));
    EXPECT_TRUE(IsAnnotatedText(text));
  }
}

TEST(AnnotatedSpecTest, DefaultsMayBeWritten) {
  const auto text = [](const std::string& given) {
    return ToString(ParseAnnotatedText(given).value());
  };
  EXPECT_EQ(text("voc:/d,set=Main,split=x"), "voc:/d,split=x");
  EXPECT_EQ(text("coco:labels=ids,images=/d,annotations=/a"), "coco:annotations=/a,images=/d");
  EXPECT_EQ(text("pairs:mask_suffix=.png,masks=/m,images=/i"), "pairs:images=/i,masks=/m");
}

TEST(AnnotatedSpecTest, WhatIsMissingOrStrangeIsNamed) {
  const auto refusal = [](const std::string& text) {
    return std::string(ParseAnnotatedText(text).status().message());
  };
  EXPECT_THAT(refusal("pairs:images=/d"), HasSubstr("masks= is missing; wanted pairs:images="));
  EXPECT_THAT(refusal("pairs:images=d,masks=/m"), HasSubstr("'images=d' is no absolute path"));
  EXPECT_THAT(refusal("pairs:images=/d,masks=/d"), HasSubstr("image_suffix= must tell them apart"));
  EXPECT_THAT(refusal("pairs:images=/d,masks=/m,missing=ok"), HasSubstr("'missing=ok'"));
  EXPECT_THAT(refusal("pairs:images=/d,masks=/m,mask_suffix=/x"), HasSubstr("a slash"));
  EXPECT_THAT(refusal("pairs:images=/d,masks=/m,mask_suffix="), HasSubstr("is empty"));
  EXPECT_THAT(refusal("coco:annotations=/a,images=/d,images=/e"),
              HasSubstr("'images=/e' is not understood"));
  EXPECT_THAT(refusal("coco:/a,images=/d"), HasSubstr("'/a' is not understood"));
  EXPECT_THAT(refusal("coco:"), HasSubstr("is not understood; wanted coco:annotations="));
  EXPECT_THAT(refusal("voc:split=train"), HasSubstr("the folder is missing"));
  EXPECT_THAT(refusal("voc:/d"), HasSubstr("split= is missing"));
  EXPECT_THAT(refusal("voc:/d,split=../x"), HasSubstr("the split has a slash"));
  EXPECT_THAT(refusal("voc:/d,split=x,set=Layout"), HasSubstr("'set=Layout'"));
  EXPECT_THAT(refusal("voc:/d,split=x,set=Segmentation,names=/n"), HasSubstr("for boxes only"));
  EXPECT_THAT(refusal("yolo:labels=/l"), HasSubstr("images= is missing"));
  EXPECT_THAT(refusal("yolo:images=/l,x=y"), HasSubstr("'x=y' is not understood"));
  EXPECT_THAT(refusal("list:/x"), HasSubstr("does not begin with"));
}

}  // namespace
}  // namespace penstock::source
