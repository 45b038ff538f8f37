#include "server/app/catalog/place_looks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <thread>

#include "tests/support/files/temp_folder.h"

namespace penstock::app {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using testing::TempFolder;
using v1::DatasetPlace;

TEST(LookAtPlaceTest, WhatIsThereMissingOrClosedIsSaidWithThePartAtFault) {
  TempFolder folder;
  folder.MakeFolder("open/data");
  folder.MakeFolder("closed/data");
  folder.Write("file", "x");
  std::filesystem::permissions(folder.At("closed"), std::filesystem::perms::none);
  const testing::WithoutPrivileges nobody;

  EXPECT_EQ(LookAtPlace(folder.At("open/data")).sight(), DatasetPlace::SIGHT_READABLE);
  EXPECT_NE(LookAtPlace(folder.At("open/data")).file_system(), "");
  EXPECT_EQ(LookAtPlace(folder.At("file")).sight(), DatasetPlace::SIGHT_READABLE);
  EXPECT_EQ(LookAtPlace("/").sight(), DatasetPlace::SIGHT_READABLE);
  const DatasetPlace missing = LookAtPlace(folder.At("open/none/below"));
  EXPECT_EQ(missing.sight(), DatasetPlace::SIGHT_MISSING);
  EXPECT_THAT(missing.error(), HasSubstr(folder.At("open/none") + ": No such"));
  const DatasetPlace closed = LookAtPlace(folder.At("closed/data"));
  EXPECT_EQ(closed.sight(), DatasetPlace::SIGHT_CLOSED);
  EXPECT_THAT(closed.error(), HasSubstr(folder.At("closed") + ": Permission denied: user"));
  EXPECT_THAT(closed.error(), HasSubstr("may not enter it"));
}

v1::ListDatasetsResponse ListOf(const std::vector<std::string>& paths) {
  v1::ListDatasetsResponse list;
  for (const std::string& path : paths) list.add_datasets()->set_path(path);
  return list;
}

DatasetPlace Readable(const std::string& path) {
  DatasetPlace place;
  place.set_path(path);
  place.set_sight(DatasetPlace::SIGHT_READABLE);
  return place;
}

class PlaceLooksTest : public ::testing::Test {
 protected:
  using Answer = absl::StatusOr<v1::ListDatasetsResponse>;

  // Ticks until there is an answer.
  static Answer Wait(PlaceLooks& looks, std::optional<Answer>& answer) {
    for (int i = 0; i < 1000 && !answer; ++i) {
      looks.Tick(base::Now());
      std::this_thread::sleep_for(milliseconds(5));
    }
    return answer.value_or(absl::InternalError("no answer at all"));
  }
  static PlaceLooks::Done Into(std::optional<Answer>& answer) {
    return [&answer](const Answer& list) { answer = list; };
  }
};

TEST_F(PlaceLooksTest, EachDatasetWithFilesGetsItsPlace) {
  PlaceLooks looks(Readable);
  std::optional<Answer> answer;

  looks.Ask(ListOf({"/data", "synthetic:1"}), Into(answer));

  const Answer list = Wait(looks, answer);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->datasets(0).place().path(), "/data");
  EXPECT_FALSE(list->datasets(1).has_place());
}

TEST_F(PlaceLooksTest, StorageThatHangsHoldsUpNobodyForLong) {
  std::promise<void> back;
  const auto look = [until = std::shared_future<void>(back.get_future())](const std::string& path) {
    if (path == "/nfs") until.wait();
    return Readable(path);
  };
  PlaceLooks looks(look, milliseconds(100));
  std::optional<Answer> first, second, third;

  looks.Ask(ListOf({"/data", "/nfs", "/more"}), Into(first));
  looks.Ask(ListOf({"/data"}), Into(second));

  const Answer partly = Wait(looks, first);
  ASSERT_TRUE(partly.ok()) << partly.status();
  EXPECT_EQ(partly->datasets(0).place().sight(), DatasetPlace::SIGHT_READABLE);
  EXPECT_EQ(partly->datasets(1).place().sight(), DatasetPlace::SIGHT_SILENT);
  EXPECT_EQ(partly->datasets(2).place().sight(), DatasetPlace::SIGHT_SILENT);
  EXPECT_EQ(Wait(looks, second)->datasets(0).place().sight(), DatasetPlace::SIGHT_SILENT);
  back.set_value();
  std::this_thread::sleep_for(milliseconds(50));
  looks.Ask(ListOf({"/data"}), Into(third));
  EXPECT_EQ(Wait(looks, third)->datasets(0).place().sight(), DatasetPlace::SIGHT_READABLE);
}

TEST_F(PlaceLooksTest, NotMoreWaitThanTheLimitAndAtTheEndTheyAreRefused) {
  std::vector<absl::StatusCode> codes;
  {
    PlaceLooks looks(Readable);
    for (int i = 0; i < 65; ++i)
      looks.Ask(ListOf({"/data"}),
                [&](const Answer& list) { codes.push_back(list.status().code()); });
    ASSERT_EQ(codes, std::vector{absl::StatusCode::kResourceExhausted});
  }
  EXPECT_EQ(codes.size(), 65u);
  EXPECT_EQ(codes.back(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace penstock::app
