#include "server/source/files/tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/files/temp_folder.h"

namespace penstock::source {
namespace {

class TreeTest : public ::testing::TestWithParam<Tree::Confinement> {
 protected:
  TreeTest() {
    temp_.Write("root/data/cats/one.jpg", "one");
    temp_.Write("root/store/blob", "blob");
    temp_.Write("outside/secret.jpg", "secret");
  }

  Tree OpenTree() const {
    auto tree = Tree::Open(temp_.At("root/data"), {temp_.At("root")}, GetParam());
    EXPECT_TRUE(tree.ok()) << tree.status();
    return *std::move(tree);
  }

  static std::string Content(const Tree& tree, const std::string& relative) {
    const auto fd = tree.OpenBeneath(relative, O_RDONLY);
    if (!fd.ok()) return std::string(fd.status().message());
    char bytes[64];
    const ssize_t count = ::read(fd->get(), bytes, sizeof bytes);
    return count < 0 ? "cannot be read" : std::string(bytes, static_cast<size_t>(count));
  }

  penstock::testing::TempFolder temp_;
};

TEST_P(TreeTest, AMissingFolderCannotBeOpened) {
  EXPECT_TRUE(absl::IsNotFound(Tree::Open(temp_.At("no"), {temp_.path()}, GetParam()).status()));
}

TEST_P(TreeTest, AMissingFileIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(OpenTree().OpenBeneath("cats/two.jpg", O_RDONLY).status()));
}

TEST_P(TreeTest, DotDotOutOfTheRootsIsRefused) {
  const auto opened = OpenTree().OpenBeneath("../../outside/secret.jpg", O_RDONLY);

  EXPECT_TRUE(absl::IsPermissionDenied(opened.status())) << opened.status();
}

TEST_P(TreeTest, ARelativeAndAnAbsoluteLinkOutOfTheRootsAreRefused) {
  temp_.Link("root/data/cats/relative.jpg", "../../../outside/secret.jpg");
  temp_.Link("root/data/cats/absolute.jpg", temp_.At("outside/secret.jpg"));

  const Tree tree = OpenTree();

  for (const std::string name : {"cats/relative.jpg", "cats/absolute.jpg"}) {
    const auto opened = tree.OpenBeneath(name, O_RDONLY);
    EXPECT_TRUE(absl::IsPermissionDenied(opened.status())) << name << ": " << opened.status();
  }
}

TEST_P(TreeTest, AFolderThatBecameALinkOutOfTheRootsIsRefused) {
  const Tree tree = OpenTree();
  ASSERT_EQ(Content(tree, "cats/one.jpg"), "one");

  std::filesystem::rename(temp_.At("root/data/cats"), temp_.At("root/data/old"));
  temp_.Write("outside/one.jpg", "stolen");
  temp_.Link("root/data/cats", temp_.At("outside"));

  EXPECT_TRUE(absl::IsPermissionDenied(tree.OpenBeneath("cats/one.jpg", O_RDONLY).status()));
}

TEST_P(TreeTest, ALinkThroughProcIsNoWayOut) {
  const int secret = ::open(temp_.At("outside").c_str(), O_PATH | O_DIRECTORY);
  temp_.Link("root/data/proc", "/proc/self/fd/" + std::to_string(secret));

  EXPECT_TRUE(
      absl::IsPermissionDenied(OpenTree().OpenBeneath("proc/secret.jpg", O_RDONLY).status()));
  ::close(secret);
}

TEST_P(TreeTest, LinksWithinTheFolderAndWithinTheRootsAreFollowed) {
  temp_.Link("root/data/inner.jpg", "cats/one.jpg");
  temp_.Link("root/data/relative.jpg", "../store/blob");
  temp_.Link("root/data/absolute.jpg", temp_.At("root/store/blob"));

  const Tree tree = OpenTree();

  EXPECT_EQ(Content(tree, "inner.jpg"), "one");
  EXPECT_EQ(Content(tree, "relative.jpg"), "blob");
  EXPECT_EQ(Content(tree, "absolute.jpg"), "blob");
}

TEST_P(TreeTest, TheFolderItselfIsTheEmptyPath) {
  EXPECT_TRUE(OpenTree().OpenBeneath("", O_RDONLY | O_DIRECTORY).ok());
}

TEST_P(TreeTest, DescriptorsAreNotInheritedByPrograms) {
  const auto fd = OpenTree().OpenBeneath("cats/one.jpg", O_RDONLY);

  ASSERT_TRUE(fd.ok());
  EXPECT_EQ(::fcntl(fd->get(), F_GETFD), FD_CLOEXEC);
}

TEST_P(TreeTest, ATreeUnderTheRootOfTheFileSystemOpensAnything) {
  temp_.Link("root/data/out.jpg", temp_.At("outside/secret.jpg"));

  const auto tree = Tree::Open(temp_.At("root/data"), {"/"}, GetParam());

  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(Content(*tree, "out.jpg"), "secret");
  EXPECT_EQ(Content(*tree, "cats/one.jpg"), "one");
}

INSTANTIATE_TEST_SUITE_P(BothWays, TreeTest,
                         ::testing::Values(Tree::Confinement::kKernel,
                                           Tree::Confinement::kPortable),
                         [](const auto& info) {
                           return info.param == Tree::Confinement::kKernel ? "Kernel" : "Portable";
                         });

}  // namespace
}  // namespace penstock::source
