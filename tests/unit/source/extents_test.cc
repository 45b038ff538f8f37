// Where the encoded images of folders and tar shards lie, for programs that read them themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "server/source/core/mixture.h"
#include "server/source/images/folder.h"
#include "tests/unit/source/shards/tar_fixture.h"

namespace penstock::source {
namespace {

using penstock::testing::TarFile;

class ExtentsTest : public TarTest {
 protected:
  std::unique_ptr<Dataset> OpenPhotographs() {
    folder_.Write("data/cats/o\xFFne.jpg", "first");
    folder_.Write("data/dogs/two.jpg", "second");
    FolderOptions options;
    options.path = folder_.At("data");
    auto opened = OpenFolder(options);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return opened.ok() ? std::move(opened->dataset) : nullptr;
  }
  // The bytes that any program finds there.
  static std::string At(const std::optional<Extent>& extent) {
    if (!extent) return "nowhere";
    std::ostringstream bytes;
    bytes << std::ifstream(extent->file, std::ios::binary).rdbuf();
    return bytes.str().substr(extent->offset, extent->bytes);
  }
};

TEST_F(ExtentsTest, AFoldersSampleIsAWholeFileUnderItsTrueName) {
  const auto dataset = OpenPhotographs();

  const std::optional<Extent> extent = dataset->extent(0);
  ASSERT_TRUE(extent.has_value());
  EXPECT_EQ(extent->file, folder_.At("data/cats/o\xFFne.jpg"));
  EXPECT_EQ(extent->offset, 0u);
  EXPECT_EQ(extent->bytes, 5u);
  EXPECT_EQ(At(dataset->extent(1)), "second");
}

TEST_F(ExtentsTest, AShardsSampleIsItsImage) {
  folder_.Write("x.tar", TarSampleOf("a", "the image", 1) + TarFile("b.txt", "text") +
                             TarFile("b.jpg", "other") + TarFile("b.cls", "2"));
  const auto dataset = Open();

  for (uint64_t sample = 0; sample < 2; ++sample)
    EXPECT_EQ(At(dataset->extent(sample)), Read(*dataset, sample));
  EXPECT_EQ(At(dataset->extent(1)), "other");
  EXPECT_GT(dataset->extent(0)->offset, 0u);
}

TEST_F(ExtentsTest, ASampleWithoutAnImageHasNone) {
  folder_.Write(
      "x.tar", TarSampleOf("a", "the image", 1) + TarFile("b.txt", "text") + TarFile("b.cls", "2"));

  EXPECT_EQ(At(Open()->extent(1)), "nowhere");
}

TEST_F(ExtentsTest, AMixtureHasThoseOfItsParts) {
  folder_.Write("x.tar", TarSampleOf("a", "the image", 1));
  std::vector<MixturePart> parts;
  parts.push_back({"photographs", OpenPhotographs(), 1, 1});
  parts.push_back({"shards", Open(), 0, 1});
  const auto mixture = Mix(std::move(parts));
  ASSERT_TRUE(mixture.ok()) << mixture.status();

  EXPECT_EQ(At((*mixture)->extent(0)), "second");
  EXPECT_EQ(At((*mixture)->extent(1)), "the image");
}

}  // namespace
}  // namespace penstock::source
