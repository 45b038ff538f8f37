// Images with a mask of the same name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fakes/unpacked.h"
#include "tests/unit/source/annotated/annotated_fixture.h"

namespace penstock::source {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PairsTest : public AnnotatedTest {
 protected:
  PairsTest() {
    for (const char* name : {"images/b/y.jpg", "images/a/x.jpg", "images/a/z.JPEG"})
      temp_.Write(name, name);
    for (const char* name : {"masks/a/x.png", "masks/b/y.png", "masks/a/z.png"})
      temp_.Write(name, name);
  }
};

TEST_F(PairsTest, EachImageHasTheMaskOfItsName) {
  const auto dataset = Opened("pairs:images=@/images,masks=@/masks");

  EXPECT_EQ(dataset->kind(), "pairs");
  EXPECT_FALSE(dataset->labeled());
  EXPECT_THAT(NamesOf(*dataset),
              ElementsAre("images/a/x.jpg", "images/a/z.JPEG", "images/b/y.jpg"));
  EXPECT_THAT(FieldsOf(*dataset), ElementsAre("mask"));
  EXPECT_EQ(FieldOf(*dataset, "mask").target.fill, 255u);
  EXPECT_EQ(MaskOf(*dataset, 1), "masks/a/z.png");
  EXPECT_EQ(MaskOf(*dataset, 2), "masks/b/y.png");
  const auto reader = dataset->NewReader();
  EXPECT_EQ(penstock::testing::ReadUnpacked(*reader, 2)->image, "images/b/y.jpg");
}

TEST_F(PairsTest, AMaskAsItIsStoredIsItsFile) {
  const auto dataset = Opened("pairs:images=@/images,masks=@/masks");
  const FieldRequest request[] = {{.name = "mask", .most = 20, .as_stored = true}};
  const Selection selection = dataset->Select(request).value();
  std::string bytes(20, 'x');
  int32_t length = 0;
  std::byte* rows[] = {reinterpret_cast<std::byte*>(bytes.data()),
                       reinterpret_cast<std::byte*>(&length)};
  const auto reader = dataset->NewReader();

  ASSERT_TRUE(reader->Open(0).ok());
  EXPECT_EQ(reader->ReadFields(selection, rows).value(), base::Fault::kNone);

  EXPECT_EQ(length, 13);
  EXPECT_EQ(bytes, std::string("masks/a/x.png") + std::string(7, '\0'));
}

TEST_F(PairsTest, SuffixesTellNamesApart) {
  temp_.Write("city/aachen/one_left.png", "image");
  temp_.Write("city/aachen/one_ids.png", "mask");
  const auto dataset =
      Opened("pairs:images=@/city,masks=@/city,image_suffix=_left.png,mask_suffix=_ids.png");

  EXPECT_THAT(NamesOf(*dataset), ElementsAre("city/aachen/one_left.png"));
  EXPECT_EQ(MaskOf(*dataset, 0), "mask");
  EXPECT_THAT(Refusal("pairs:images=@/city,masks=@/city,image_suffix=_x.png"),
              HasSubstr("holds 2 images; none has a name that ends in '_x.png'"));
}

TEST_F(PairsTest, ASplitNamesTheSamplesInItsOrder) {
  temp_.Write("s.txt", "b/y\na/z\n\nb/y\n");
  const auto dataset = Opened("pairs:images=@/images,masks=@/masks,split=@/s.txt");
  EXPECT_THAT(NamesOf(*dataset),
              ElementsAre("images/b/y.jpg", "images/a/z.JPEG", "images/b/y.jpg"));
  EXPECT_EQ(MaskOf(*dataset, 1), "masks/a/z.png");

  temp_.Write("t.txt", "a/x\n");
  EXPECT_EQ(
      Opened("pairs:images=@/images,masks=@/masks,split=@/t.txt,image_suffix=.jpg")->samples(), 1u);
  temp_.Write("none.txt", "a/x\na/none\n");
  EXPECT_THAT(Refusal("pairs:images=@/images,masks=@/masks,split=@/none.txt"),
              HasSubstr("none.txt:2: there is no image 'a/none.*'"));
  EXPECT_THAT(Refusal("pairs:images=@/images,masks=@/masks,split=@/none.txt,image_suffix=.jpg"),
              HasSubstr("none.txt:2"));
  temp_.Write("images/a/x.png", "another");
  EXPECT_THAT(Refusal("pairs:images=@/images,masks=@/masks,split=@/t.txt"),
              HasSubstr("several images are called 'a/x.*'"));
}

TEST_F(PairsTest, AMissingMaskIsRefusedOrSkipped) {
  temp_.Write("images/c.jpg", "c");
  EXPECT_THAT(Refusal("pairs:images=@/images,masks=@/masks"),
              HasSubstr("the image 'c.jpg' has no mask: '" + temp_.At("masks/c.png") + "'"));

  const auto opened = Open("pairs:images=@/images,masks=@/masks,missing=skip");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->dataset->samples(), 3u);
  EXPECT_EQ(MaskOf(*opened->dataset, 0), "masks/a/x.png");
  EXPECT_THAT(opened->warning, HasSubstr("1 of 4 images have no mask"));
  EXPECT_THAT(Refusal("pairs:images=@/images,masks=@/masks,mask_suffix=.gif,missing=skip"),
              HasSubstr("none of 4 images has a mask"));
}

TEST_F(PairsTest, AMaskThatIsEmptyOrNoFileIsMalformed) {
  temp_.Write("masks/a/x.png", "");
  const auto dataset = Opened("pairs:images=@/images,masks=@/masks");
  EXPECT_EQ(MaskOf(*dataset, 0), "a field is malformed");
}

TEST_F(PairsTest, AMaskThatChangesIsNoticed) {
  const std::string text = "pairs:images=@/images,masks=@/masks";
  const auto dataset = Opened(text);
  const std::string before = Identity(text);
  const uint64_t stamp = dataset->stamp(0);
  EXPECT_EQ(Identity(text), before);
  EXPECT_TRUE(dataset->IsUnchanged(0));

  temp_.Write("masks/a/x.png", "masks/a/y.png");

  EXPECT_FALSE(dataset->IsUnchanged(0));
  EXPECT_FALSE(dataset->changed());
  const FieldRequest request[] = {{.name = "mask"}};
  const Selection selection = dataset->Select(request).value();
  const auto reader = dataset->NewReader();
  ASSERT_TRUE(reader->Open(0).ok());
  EXPECT_TRUE(absl::IsDataLoss(reader->OpenMask(selection, 0).status()));
  EXPECT_TRUE(dataset->changed());
  EXPECT_NE(Identity(text), before);
  EXPECT_NE(Opened(text)->stamp(0), stamp);
}

TEST_F(PairsTest, TheDigestIsOfImagesAndMasks) {
  const std::string text = "pairs:images=@/images,masks=@/masks";
  const auto dataset = Opened(text);
  const auto sum = [](const Dataset& of) {
    std::string all;
    for (uint64_t i = 0; i < of.content_pieces(); ++i) {
      Sha256 piece;
      EXPECT_TRUE(of.AddContent(i, piece).ok());
      all += ToHex(piece.Finish());
    }
    return all;
  };
  const std::string content = sum(*dataset);
  const uint64_t digest = dataset->digest();

  temp_.Write("masks/a/x.png", "masks/a/_.png");

  EXPECT_EQ(Opened(text)->digest(), digest);  // paths and sizes are the same
  EXPECT_NE(sum(*Opened(text)), content);
  temp_.Write("masks/a/x.png", "longer than before");
  EXPECT_NE(Opened(text)->digest(), digest);
}

TEST_F(PairsTest, NothingOutsideOfTheRootsIsRead) {
  EXPECT_TRUE(absl::IsPermissionDenied(
      Open("pairs:images=@/images,masks=@/masks", {temp_.At("images")}).status()));
  penstock::testing::TempFolder other;
  other.Write("secret.png", "secret");
  temp_.Write("images/s.jpg", "s");
  temp_.Link("masks/s.png", other.At("secret.png"));
  EXPECT_THAT(Refusal("pairs:images=@/images,masks=@/masks"), HasSubstr("outside of the allowed"));
}

}  // namespace
}  // namespace penstock::source
