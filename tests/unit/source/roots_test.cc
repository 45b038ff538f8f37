#include "server/source/files/roots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files/temp_folder.h"

namespace penstock::source {
namespace {

using ::testing::HasSubstr;

class RootsTest : public ::testing::Test {
 protected:
  RootsTest() {
    temp_.MakeFolder("allowed/data");
    temp_.MakeFolder("allowed-not/data");
    temp_.MakeFolder("elsewhere/secret");
  }

  absl::StatusOr<std::string> Resolve(const std::string& path) const {
    return ResolveUnderRoots(path, {temp_.At("allowed")});
  }

  penstock::testing::TempFolder temp_;
};

TEST_F(RootsTest, WhatIsNotAnAbsolutePathIsRefused) {
  for (const std::string path : {"", "data", "./data", "~/data"})
    EXPECT_TRUE(absl::IsInvalidArgument(Resolve(path).status())) << path;
  EXPECT_TRUE(absl::IsInvalidArgument(Resolve(std::string("/a\0b", 4)).status()));
}

TEST_F(RootsTest, DotDotIsRefusedEvenWhereItWouldStayInside) {
  for (const std::string path : {"/..", "/data/..", "/data/../data", "/../elsewhere/secret"})
    EXPECT_TRUE(absl::IsPermissionDenied(Resolve(temp_.At("allowed") + path).status())) << path;
}

TEST_F(RootsTest, ANameThatOnlyContainsDotsIsNoDotDot) {
  temp_.MakeFolder("allowed/..data..");

  EXPECT_EQ(*Resolve(temp_.At("allowed/..data..")), temp_.At("allowed/..data.."));
}

TEST_F(RootsTest, AMissingPathIsNotFound) {
  const auto status = Resolve(temp_.At("allowed/missing")).status();

  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("allowed/missing"));
}

TEST_F(RootsTest, ANeighbourWhoseNameBeginsLikeARootIsOutside) {
  EXPECT_TRUE(absl::IsPermissionDenied(Resolve(temp_.At("allowed-not/data")).status()));
}

TEST_F(RootsTest, ALinkThatLeadsOutIsRefusedAndTheMessageNamesPathTargetAndRoots) {
  temp_.Link("allowed/way-out", temp_.At("elsewhere/secret"));

  const auto status = Resolve(temp_.At("allowed/way-out")).status();

  EXPECT_TRUE(absl::IsPermissionDenied(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(temp_.At("allowed/way-out")));
  EXPECT_THAT(std::string(status.message()), HasSubstr(temp_.At("elsewhere/secret")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("allowed roots: " + temp_.At("allowed")));
}

TEST_F(RootsTest, ALinkAboveThatLeadsOutIsRefused) {
  temp_.Link("allowed/hop", "../elsewhere");

  EXPECT_TRUE(absl::IsPermissionDenied(Resolve(temp_.At("allowed/hop/secret")).status()));
}

TEST_F(RootsTest, WithoutRootsNothingIsAllowed) {
  EXPECT_TRUE(absl::IsPermissionDenied(ResolveUnderRoots(temp_.At("allowed"), {}).status()));
}

TEST_F(RootsTest, ARootThatDoesNotExistAllowsNothing) {
  EXPECT_TRUE(absl::IsPermissionDenied(
      ResolveUnderRoots(temp_.At("allowed"), {temp_.At("missing")}).status()));
}

TEST_F(RootsTest, TheRootItselfAndWhatLiesBeneathAreGivenInCanonicalForm) {
  EXPECT_EQ(*Resolve(temp_.At("allowed")), temp_.At("allowed"));
  EXPECT_EQ(*Resolve(temp_.At("allowed//./data/")), temp_.At("allowed/data"));
}

TEST_F(RootsTest, LinksThatStayInsideAreFollowed) {
  temp_.Link("allowed/alias", "data");
  temp_.Link("elsewhere/in", temp_.At("allowed/data"));

  EXPECT_EQ(*Resolve(temp_.At("allowed/alias")), temp_.At("allowed/data"));
  EXPECT_EQ(*Resolve(temp_.At("elsewhere/in")), temp_.At("allowed/data"));
}

TEST_F(RootsTest, ARootMayItselfBeALink) {
  temp_.Link("root", temp_.At("allowed"));

  EXPECT_EQ(*ResolveUnderRoots(temp_.At("root/data"), {temp_.At("root")}),
            temp_.At("allowed/data"));
}

TEST_F(RootsTest, TheRootOfTheFileSystemAllowsEverything) {
  EXPECT_EQ(*ResolveUnderRoots(temp_.At("elsewhere"), {"/"}), temp_.At("elsewhere"));
  EXPECT_EQ(*ResolveUnderRoots("/", {"/"}), "/");
}

TEST_F(RootsTest, ALinkThatLeadsBackToItselfIsTheCallersToMendAndNoFaultOfOurs) {
  temp_.Link("loop", temp_.At("pool"));
  temp_.Link("pool", temp_.At("loop"));

  const absl::Status refused = ResolveUnderRoots(temp_.At("loop"), {temp_.path()}).status();

  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_NE(refused.message().find("remove it"), absl::string_view::npos) << refused;
}

}  // namespace
}  // namespace penstock::source
