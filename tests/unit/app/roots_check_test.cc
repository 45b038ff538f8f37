#include "server/app/catalog/roots_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>

#include "tests/support/files/temp_folder.h"
#include "tests/support/message_of.h"

namespace penstock::app {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::TempFolder;

constexpr std::chrono::seconds kPatience(60);

TEST(RootsCheckTest, WhatIsMissingNoFolderOrClosedIsRefusedWithTheRemedy) {
  TempFolder folder;
  folder.Write("file", "x");
  folder.MakeFolder("closed");
  std::filesystem::permissions(folder.At("closed"), std::filesystem::perms::none);
  folder.Link("loop", "loop");
  const testing::WithoutPrivileges nobody;

  for (const char* name : {"none", "file", "file/below", "closed", "closed/below", "loop"}) {
    const absl::Status status = LookAtFolder(folder.At(name));
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << name << ": " << status;
    EXPECT_THAT(MessageOf(status), HasSubstr(folder.At(name)));
  }
  EXPECT_THAT(MessageOf(LookAtFolder(folder.At("none"))), HasSubstr("mount it, or correct"));
  EXPECT_THAT(MessageOf(LookAtFolder(folder.At("closed"))), HasSubstr("let user"));
  EXPECT_TRUE(LookAtFolder(folder.path()).ok());
}

TEST(RootsCheckTest, TheFirstMissingOneIsNamedByItsKeyWhateverElseFails) {
  const auto look = [](const std::string& path) {
    if (path == "/stale") return absl::UnavailableError("/stale: Stale file handle");
    return path == "/gone" ? absl::FailedPreconditionError("/gone: no") : absl::OkStatus();
  };

  const absl::Status missing =
      LookAtRoots({{"a", "/"}, {"b", "/stale"}, {"c", "/gone"}}, kPatience, look);
  const absl::Status stale = LookAtRoots({{"a", "/"}, {"b", "/stale"}}, kPatience, look);

  EXPECT_TRUE(absl::IsFailedPrecondition(missing));
  EXPECT_EQ(missing.message(), "c: /gone: no");
  EXPECT_TRUE(absl::IsUnavailable(stale));
  EXPECT_TRUE(LookAtRoots({}, kPatience, look).ok());
  EXPECT_TRUE(LookAtRoots({{"a", "/"}}, kPatience, look).ok());
}

TEST(RootsCheckTest, ADatasetThatLiesOutsideOfTheRootsIsNamed) {
  TempFolder folder;
  for (const char* name : {"root/in", "out"}) folder.MakeFolder(name);
  folder.Link("root/leads-out", folder.At("out"));
  folder.Link("leads-in", folder.At("root/in"));
  config::v1::Config config;
  const auto outside = [&](const std::string& path) {
    config.clear_datasets();
    config.add_datasets()->set_text("cifar:/elsewhere");
    config.add_datasets()->set_folder(path);
    return LookForDatasetOutside(config, kPatience);
  };
  EXPECT_TRUE(outside(folder.At("out")).ok());  // without roots each has its own

  config.mutable_source()->add_roots(folder.At("root"));

  for (const char* name : {"root", "root/in", "leads-in", "none"})
    EXPECT_TRUE(outside(folder.At(name)).ok()) << name;
  for (const char* name : {"out", "root/leads-out"}) {
    const absl::Status status = outside(folder.At(name));
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << name;
    EXPECT_THAT(MessageOf(status), HasSubstr("datasets[1].folder: '" + folder.At(name)));
    EXPECT_THAT(MessageOf(status), HasSubstr("add its folder to source.roots"));
  }
}

TEST(RootsCheckTest, AFileServerThatIsAwayHoldsUpNobody) {
  const auto away = std::make_shared<std::promise<void>>();
  const auto look = [back = std::shared_future<void>(away->get_future())](const std::string& path) {
    if (path == "/nfs") back.wait();
    return absl::OkStatus();
  };

  const absl::Status status =
      LookAtRoots({{"a", "/"}, {"source.roots[1]", "/nfs"}}, std::chrono::milliseconds(20), look);

  EXPECT_TRUE(absl::IsDeadlineExceeded(status));
  EXPECT_EQ(status.message(), "source.roots[1]: /nfs: no answer");
  away->set_value();
}

TEST(RootsCheckTest, WithoutRootsTheDatasetsOwnFoldersAreThem) {
  config::v1::Config config;
  config.add_datasets()->set_folder("/data/a");
  config.add_datasets()->mutable_synthetic()->set_samples(9);
  config.add_datasets()->set_folder("/data/c");

  ASSERT_THAT(RootsOf(config), SizeIs(2));
  EXPECT_EQ(RootsOf(config)[1].key, "datasets[2].folder");
  EXPECT_EQ(RootsOf(config)[1].path, "/data/c");

  config.mutable_source()->add_roots("/data");
  ASSERT_THAT(RootsOf(config), SizeIs(1));
  EXPECT_EQ(RootsOf(config)[0].key, "source.roots[0]");
  EXPECT_THAT(RootsOf(config::v1::Config()), IsEmpty());
}

}  // namespace
}  // namespace penstock::app
