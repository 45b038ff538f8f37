// A dataset's files and their order, and refusals.
#include "server/source/images/scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/source/files/roots.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::source {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ScanTest : public ::testing::Test {
 protected:
  absl::StatusOr<Scan> Run(const ScanOptions& options = {.threads = 2, .progress = {}}) const {
    const auto tree = Tree::Open(temp_.At("data"), {temp_.At("data")});
    if (!tree.ok()) return tree.status();
    return ScanDataset(*tree, options);
  }
  std::string Refusal() const {
    const auto scan = Run();
    return scan.ok() ? "not refused" : scan.status().ToString();
  }
  std::vector<std::string> Paths() const {
    const auto scan = Run();
    EXPECT_TRUE(scan.ok()) << scan.status();
    std::vector<std::string> paths;
    if (!scan.ok()) return paths;
    for (const ScannedFolder& folder : scan->folders)
      for (const ScannedFile& file : folder.files)
        paths.push_back(absl::StrCat(folder.path, "/", folder.NameOf(file)));
    return paths;
  }

  penstock::testing::TempFolder temp_;
};

TEST_F(ScanTest, AFolderWithoutClassesIsRefusedAndTheMessageSaysWhatWasLookedFor) {
  temp_.Write("data/loose.jpg", "x");

  EXPECT_THAT(Refusal(), AllOf(HasSubstr("NOT_FOUND"), HasSubstr("no class folders"),
                               HasSubstr(".jpg .jpeg .png .ppm .bmp .pgm .tif .tiff .webp"),
                               HasSubstr("1 entries, none a folder")));
}

TEST_F(ScanTest, ClassesWithoutSamplesAreRefusedByName) {
  temp_.Write("data/cats/one.jpg", "x");
  temp_.MakeFolder("data/dogs");
  temp_.Write("data/birds/notes.txt", "x");
  temp_.MakeFolder("data/.hidden/deeper");

  EXPECT_THAT(Refusal(), AllOf(HasSubstr("NOT_FOUND"), HasSubstr(".hidden, birds, dogs of"),
                               HasSubstr("ImageFolder")));
}

TEST_F(ScanTest, OfManyEmptyClassesOnlyAFewAreNamed) {
  for (int i = 0; i < 9; ++i) temp_.MakeFolder("data/c" + std::to_string(i));

  EXPECT_THAT(Refusal(), HasSubstr("c0, c1, c2, c3, c4 and 4 more of"));
}

TEST_F(ScanTest, AFolderThatCannotBeReadIsNamed) {
  temp_.Write("data/cats/one.jpg", "x");
  temp_.Write("data/cats/locked/two.jpg", "x");
  std::filesystem::permissions(temp_.At("data/cats/locked"), std::filesystem::perms::none);

  const penstock::testing::WithoutPrivileges nobody;

  EXPECT_THAT(Refusal(), AllOf(HasSubstr("PERMISSION_DENIED"), HasSubstr("data/cats/locked")));
}

TEST_F(ScanTest, ALinkedSampleOutsideIsRefused) {
  temp_.Write("outside/secret.jpg", "x");
  temp_.Link("data/cats/one.jpg", temp_.At("outside/secret.jpg"));

  EXPECT_THAT(Refusal(), AllOf(HasSubstr("PERMISSION_DENIED"), HasSubstr("data/cats/one.jpg")));
}

TEST_F(ScanTest, LinkedFoldersOutsideAreRefusedAsClassesAndWithinOnes) {
  temp_.Write("outside/secret.jpg", "x");
  temp_.Write("data/cats/one.jpg", "x");

  temp_.Link("data/dogs", temp_.At("outside"));
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("PERMISSION_DENIED"), HasSubstr("data/dogs")));

  std::filesystem::rename(temp_.At("data/dogs"), temp_.At("data/cats/more"));
  EXPECT_THAT(Refusal(), HasSubstr("data/cats/more"));
}

TEST_F(ScanTest, ASampleThatLinksNowhereIsRefused) {
  temp_.Link("data/cats/one.jpg", "missing.jpg");
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("NOT_FOUND"), HasSubstr("data/cats/one.jpg")));

  std::filesystem::remove(temp_.At("data/cats/one.jpg"));
  temp_.Link("data/cats/self.jpg", "self.jpg");
  EXPECT_THAT(Refusal(), HasSubstr("data/cats/self.jpg"));
}

TEST_F(ScanTest, FoldersInACircleAreRefused) {
  temp_.Write("data/cats/one.jpg", "x");
  temp_.Link("data/cats/deeper/again", "../../cats");

  EXPECT_THAT(Refusal(), AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("leads back to"),
                               HasSubstr("data/cats/deeper/again")));
}

TEST_F(ScanTest, AClassWhoseNameIsNotUtf8IsRefused) {
  temp_.Write("data/caf\xe9/one.jpg", "x");

  EXPECT_THAT(Refusal(), AllOf(HasSubstr("not UTF-8"), HasSubstr("'caf\\xe9'")));
}

TEST_F(ScanTest, SayingNoToProgressCancels) {
  temp_.Write("data/cats/one.jpg", "x");

  const auto scan = Run({.threads = 1, .progress = [](const ScanProgress&) { return false; }});

  EXPECT_TRUE(absl::IsCancelled(scan.status())) << scan.status();
}

TEST_F(ScanTest, ProgressEndsWithAllFilesFoundAndExamined) {
  for (int i = 0; i < 1100; ++i) temp_.Write("data/cats/" + std::to_string(i) + ".jpg", "x");
  ScanProgress last;

  const auto scan = Run({.threads = 3, .progress = [&](const ScanProgress& progress) {
                           EXPECT_GE(progress.found, last.found);
                           EXPECT_LE(progress.examined, progress.found);
                           last = progress;
                           return true;
                         }});

  ASSERT_TRUE(scan.ok()) << scan.status();
  EXPECT_EQ(last.found, 1100u);
  EXPECT_EQ(last.examined, 1100u);
}

TEST_F(ScanTest, OnlyKnownExtensionsCountInAnyCase) {
  for (const char* name :
       {"a.jpg", "b.JPEG", "c.Png", "d.ppm", "e.BMP", "f.pgm", "g.tif", "h.TIFF", "i.webp", ".jpg"})
    temp_.Write(std::string("data/c/") + name, "x");
  for (const char* name : {"a.gif", "b.jpg.txt", "cjpg", "d.jpgx", "e.jpg ", "f", "g.jp"})
    temp_.Write(std::string("data/c/") + name, "x");

  EXPECT_THAT(Paths(), ElementsAre("c/.jpg", "c/a.jpg", "c/b.JPEG", "c/c.Png", "c/d.ppm", "c/e.BMP",
                                   "c/f.pgm", "c/g.tif", "c/h.TIFF", "c/i.webp"));
}

TEST_F(ScanTest, FoldersOfAClassSortByTheirWholePathAndBeforeThatClassesByName) {
  for (const char* path : {"a/z.jpg", "a/b/x.jpg", "a/b-c/x.jpg", "a/b/d/x.jpg", "a-b/x.jpg",
                           "B/x.jpg", "a/b.jpg/x.jpg"})
    temp_.Write(std::string("data/") + path, "x");

  EXPECT_THAT(Paths(), ElementsAre("B/x.jpg", "a/z.jpg", "a/b/x.jpg", "a/b-c/x.jpg",
                                   "a/b.jpg/x.jpg", "a/b/d/x.jpg", "a-b/x.jpg"));
}

TEST_F(ScanTest, LinksInsideCountAsWhatTheyLeadTo) {
  temp_.Write("data/cats/one.jpg", "12345");
  temp_.Link("data/cats/two.jpg", "one.jpg");
  temp_.Link("data/dogs", "cats");
  temp_.Link("data/notes", "../missing");
  temp_.Link("data/cats/notes.txt", "../../missing");

  const auto scan = Run();

  EXPECT_THAT(Paths(), ElementsAre("cats/one.jpg", "cats/two.jpg", "dogs/one.jpg", "dogs/two.jpg"));
  ASSERT_TRUE(scan.ok());
  EXPECT_EQ(scan->folders[1].files[1].bytes, 5u);
}

TEST_F(ScanTest, ThreadsDoNotChangeWhatIsFound) {
  for (int c = 0; c < 7; ++c)
    for (int i = 0; i < 40; ++i)
      temp_.Write("data/c" + std::to_string(c) + "/" + std::to_string(i * 37 % 40) + ".jpg", "x");

  std::vector<std::vector<std::string>> found;
  for (size_t threads : {1, 2, 16}) {
    const auto scan = Run({.threads = threads, .progress = {}});
    ASSERT_TRUE(scan.ok());
    auto& paths = found.emplace_back();
    for (const ScannedFolder& folder : scan->folders)
      for (const ScannedFile& file : folder.files)
        paths.push_back(absl::StrCat(folder.path, "/", folder.NameOf(file)));
  }

  EXPECT_EQ(found[0].size(), 280u);
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[0], found[2]);
}

}  // namespace
}  // namespace penstock::source
