#include "server/app/catalog/offered_datasets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penstock::app {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr gid_t kStaff = 100;

class OfferedDatasetsTest : public ::testing::Test {
 protected:
  static NamedDataset Named(const std::string& name, std::vector<gid_t> groups = {}) {
    return {.name = name, .path = "/data/" + name, .groups = std::move(groups)};
  }
  static NamedDataset Mixture(std::vector<std::string> parts) {
    NamedDataset mixture = Named("mixture");
    mixture.mixture = NamedMixture{.parts = std::move(parts), .plan = {}};
    return mixture;
  }
  std::vector<std::string> NamesFor(const std::optional<Opener>& opener) const {
    std::vector<std::string> names;
    for (const NamedDataset& each : offered_.For(opener)) names.push_back(each.name);
    return names;
  }

  const Opener anybody_{.uid = 1};
  const Opener member_{.uid = 2, .groups = {5, kStaff}};
  const Opener operator_{.uid = 3, .is_operator = true};
  const OfferedDatasets offered_{
      {.datasets = {Named("open"), Named("secret", {kStaff}), Mixture({"open", "secret"})},
       .faults = {}}};
};

TEST_F(OfferedDatasetsTest, ADatasetWithoutGroupsIsForEverybody) {
  EXPECT_EQ(offered_.Locate("open", &anybody_)->path, "/data/open");
}

TEST_F(OfferedDatasetsTest, ADatasetWithGroupsIsForMembersOperatorsAndTheDaemon) {
  EXPECT_FALSE(offered_.Locate("secret", &anybody_).ok());
  EXPECT_TRUE(offered_.Locate("secret", &member_).ok());
  EXPECT_TRUE(offered_.Locate("secret", &operator_).ok());
  EXPECT_TRUE(offered_.Locate("secret", nullptr).ok());
}

// Only a private daemon lets its user's processes make batches.
TEST_F(OfferedDatasetsTest, ASystemDaemonHasNoPythonDatasets) {
  const std::string text = "python:samples=12,id=00FF";
  const OfferedDatasets of_private_daemon({}, /*any_path=*/true);

  for (const Opener* opener : {&anybody_, &operator_, static_cast<const Opener*>(nullptr)}) {
    const absl::Status refused = offered_.Locate(text, opener).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("open the dataset on a private daemon"));
  }
  const NamedDataset found = of_private_daemon.Locate(text, &anybody_).value();
  EXPECT_EQ(found.path, "python:id=00ff,samples=12");
  EXPECT_EQ(found.python, (source::PythonSpec{.id = "00ff", .samples = 12}));
  EXPECT_EQ(of_private_daemon.Locate("python:id=x,samples=1", nullptr).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(OfferedDatasetsTest, WhatIsKeptFromAUserSoundsLikeWhatIsNotThere) {
  std::string kept(offered_.Locate("secret", &anybody_).status().message());
  const std::string missing(offered_.Locate("absent", &anybody_).status().message());

  EXPECT_EQ(kept.replace(kept.find("secret"), 6, "absent"), missing);
  EXPECT_THAT(missing, Not(HasSubstr("secret")));
  EXPECT_TRUE(offered_.IsKeptFrom("secret", anybody_));
  EXPECT_FALSE(offered_.IsKeptFrom("absent", anybody_));
}

TEST_F(OfferedDatasetsTest, AMixtureIsForThoseWhoMayHaveAllOfItsParts) {
  EXPECT_FALSE(offered_.Locate("mixture", &anybody_).ok());
  EXPECT_TRUE(offered_.Locate("mixture", &member_).ok());
}

TEST_F(OfferedDatasetsTest, AListHasWhatOneMayOpen) {
  EXPECT_EQ(NamesFor(anybody_), std::vector<std::string>{"open"});
  EXPECT_EQ(NamesFor(std::nullopt).size(), 3u);
}

TEST_F(OfferedDatasetsTest, PathsAreForPrivateDaemons) {
  EXPECT_EQ(offered_.Locate("/data/x", &operator_).status().code(),
            absl::StatusCode::kPermissionDenied);

  const OfferedDatasets any({}, /*any_path=*/true);
  EXPECT_TRUE(any.Locate("/data/x", &anybody_)->by_path);
}

TEST_F(OfferedDatasetsTest, WhoSeesWhatWasOpenedByAPath) {
  EXPECT_FALSE(offered_.SeesUnnamed(anybody_));
  EXPECT_TRUE(offered_.SeesUnnamed(operator_));
  EXPECT_TRUE(offered_.SeesUnnamed(std::nullopt));
  EXPECT_TRUE(OfferedDatasets({}, true).SeesUnnamed(anybody_));
}

TEST_F(OfferedDatasetsTest, ANameIsNeeded) {
  EXPECT_EQ(offered_.Locate("", nullptr).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace penstock::app
