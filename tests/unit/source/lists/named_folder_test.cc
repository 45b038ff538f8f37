// Folders of images whose labels are in their names.
#include "server/source/lists/named_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files/temp_folder.h"

namespace penstock::source {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class NamedFolderTest : public ::testing::Test {
 protected:
  absl::StatusOr<OpenedNamedFolder> Open(const std::string& pattern) const {
    return OpenNamedFolder({.spec = {.folder = temp_.At("d"), .pattern = pattern}});
  }
  std::string Refusal(const std::string& pattern) const {
    return std::string(Open(pattern).status().message());
  }

  penstock::testing::TempFolder temp_;
};

TEST_F(NamedFolderTest, TheGroupIsTheLabelAndOtherFilesAreNoSamples) {
  for (const char* name : {"pug_2.jpg", "pug_10.jpg", "Abyssinian_1.jpg", "list.txt", "pug_1.mat"})
    temp_.Write(std::string("d/") + name, name);

  const auto opened = Open(R"(([^/]*)_\d+\.jpg)");

  ASSERT_TRUE(opened.ok()) << opened.status();
  const Dataset& dataset = *opened->dataset;
  EXPECT_EQ(dataset.kind(), "folder");
  EXPECT_THAT(dataset.classes(), ElementsAre("Abyssinian", "pug"));
  ASSERT_EQ(dataset.samples(), 3u);
  EXPECT_THAT(dataset.path(0), EndsWith("/Abyssinian_1.jpg"));
  EXPECT_THAT(dataset.path(1), EndsWith("/pug_10.jpg"));
  EXPECT_EQ(dataset.label(0), 0);
  EXPECT_EQ(dataset.label(1), 1);
}

TEST_F(NamedFolderTest, FoldersAreSearchedAndThePatternSeesTheWholePath) {
  temp_.Write("d/n02/images/a.JPEG", "a");
  temp_.Write("d/n01/images/b.JPEG", "b");
  temp_.MakeFolder("d/empty");

  const auto opened = Open("([^/]+)/images/.*");

  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_THAT(opened->dataset->classes(), ElementsAre("n01", "n02"));
}

TEST_F(NamedFolderTest, NumbersStayNumbers) {
  temp_.Write("d/0007_c1.jpg", "a");
  temp_.Write("d/-1_c2.jpg", "b");

  const auto opened = Open("(-?[0-9]+)_.*");

  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->dataset->label(0), -1);
  EXPECT_EQ(opened->dataset->label(1), 7);
}

TEST_F(NamedFolderTest, AnImageThatDoesNotMatchIsRefusedByName) {
  temp_.Write("d/a_1.jpg", "a");
  temp_.Write("d/b.jpg", "b");

  EXPECT_THAT(Refusal("(.*)_1[.]jpg"), AllOf(HasSubstr("does not match"), HasSubstr("d/b.jpg")));
  EXPECT_THAT(Refusal("(x?).*"), HasSubstr("a_1.jpg': the label is empty"));
}

TEST_F(NamedFolderTest, AFolderWithoutImagesIsNotFound) {
  temp_.Write("d/a.txt", "a");

  EXPECT_TRUE(absl::IsNotFound(Open("(.*)").status()));
}

TEST_F(NamedFolderTest, TheIdentityChangesWithAnyFile) {
  temp_.Write("d/a_1.jpg", "a");
  const std::string before = Open("(.*)_1[.]jpg")->identity;
  EXPECT_EQ(Open("(.*)_1[.]jpg")->identity, before);

  temp_.Write("d/a_1.jpg", "b");

  EXPECT_NE(Open("(.*)_1[.]jpg")->identity, before);
}

TEST(NamedFolderTextTest, ThePatternIsTheRestOfTheText) {
  const auto spec = ParseNamedFolderText("folder:/d/x,label=(a{1,2})_[0-9]+");

  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->folder, "/d/x");
  EXPECT_EQ(spec->pattern, "(a{1,2})_[0-9]+");
  EXPECT_EQ(ToString(*spec), "folder:/d/x,label=(a{1,2})_[0-9]+");
}

TEST(NamedFolderTextTest, WrongTextsAreRefused) {
  for (const char* text : {"folder:/d", "folder:d,label=(a)", "folder:/d,label=a",
                           "folder:/d,label=(", "folder:/d,label=(a)(b)", "folder:/d,label="})
    EXPECT_TRUE(absl::IsInvalidArgument(ParseNamedFolderText(text).status())) << text;
}

}  // namespace
}  // namespace penstock::source
