#include "server/app/catalog/place_looks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

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

constexpr uint64_t kAnna = 1000, kBen = 2000;
constexpr auto kReadable = DatasetPlace::SIGHT_READABLE, kSilent = DatasetPlace::SIGHT_SILENT;

class PlaceLooksTest : public ::testing::Test {
 protected:
  using Answer = absl::StatusOr<v1::ListDatasetsResponse>;
  using Sights = std::vector<DatasetPlace::Sight>;

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
  static Sights SightsOf(const Answer& answer) {
    Sights sights;
    if (answer.ok())
      for (const v1::DatasetStatus& each : answer->datasets())
        sights.push_back(each.place().sight());
    return sights;
  }

  // Hangs below /nfs until the storage is back. Its thread may outlive the test's objects.
  PlaceLooks::Look LookThatMayHang() {
    return [this, back = back_](const std::string& path) {
      if (path.starts_with("/nfs")) {
        ++hanging_;
        back.wait();
      }
      return Readable(path);
    };
  }

  std::promise<void> storage_;
  const std::shared_future<void> back_{storage_.get_future()};
  std::atomic<int> hanging_{0};
};

TEST_F(PlaceLooksTest, EachDatasetWithFilesGetsItsPlace) {
  PlaceLooks looks(Readable, {});
  std::optional<Answer> answer;

  looks.Ask(ListOf({"/data", "synthetic:1"}), kAnna, Into(answer));

  const Answer list = Wait(looks, answer);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->datasets(0).place().path(), "/data");
  EXPECT_FALSE(list->datasets(1).has_place());
}

TEST_F(PlaceLooksTest, ADatasetThatHangsHoldsUpNoOther) {
  PlaceLooks looks(LookThatMayHang(), {.patience = milliseconds(500)});
  std::optional<Answer> first, second, third;

  looks.Ask(ListOf({"/data", "/nfs", "/more"}), kAnna, Into(first));

  EXPECT_EQ(SightsOf(Wait(looks, first)), (Sights{kReadable, kSilent, kReadable}));
  looks.Ask(ListOf({"/nfs", "/data"}), kBen, Into(second));
  EXPECT_EQ(SightsOf(Wait(looks, second)), (Sights{kSilent, kReadable}));
  EXPECT_EQ(hanging_, 1);  // no second thread looks there
  storage_.set_value();
  looks.Ask(ListOf({"/nfs"}), kAnna, Into(third));
  EXPECT_EQ(SightsOf(Wait(looks, third)), (Sights{kReadable}));
}

TEST_F(PlaceLooksTest, AUserWhoseThreadsAllHangHoldsUpNoOtherUserAtASharedDataset) {
  PlaceLooks looks(LookThatMayHang(), {.patience = milliseconds(500), .most_threads_of_a_user = 2});
  std::optional<Answer> annas, bens, annas_later;

  looks.Ask(ListOf({"/nfs/1", "/nfs/2", "/data"}), kAnna, Into(annas));
  looks.Tick(base::Now());
  looks.Ask(ListOf({"/more", "/data"}), kBen, Into(bens));

  EXPECT_EQ(SightsOf(Wait(looks, bens)), (Sights{kReadable, kReadable}));
  EXPECT_EQ(SightsOf(Wait(looks, annas)), (Sights{kSilent, kSilent, kReadable}));
  looks.Ask(ListOf({"/nfs/3", "/data"}), kAnna, Into(annas_later));
  EXPECT_EQ(SightsOf(Wait(looks, annas_later)), (Sights{kSilent, kSilent}));
  EXPECT_EQ(hanging_, 2);
  storage_.set_value();
}

TEST_F(PlaceLooksTest, ThreadsAreLimitedInAll) {
  PlaceLooks looks(LookThatMayHang(), {.patience = milliseconds(500), .most_threads = 1});
  std::optional<Answer> annas, bens, bens_later;

  looks.Ask(ListOf({"/nfs"}), kAnna, Into(annas));
  looks.Tick(base::Now());
  looks.Ask(ListOf({"/data"}), kBen, Into(bens));

  EXPECT_EQ(SightsOf(Wait(looks, bens)), (Sights{kSilent}));
  storage_.set_value();
  looks.Ask(ListOf({"/data"}), kBen, Into(bens_later));
  EXPECT_EQ(SightsOf(Wait(looks, bens_later)), (Sights{kReadable}));
}

TEST_F(PlaceLooksTest, NotMoreWaitThanTheLimitsAndAtTheEndTheyAreRefused) {
  std::vector<absl::StatusCode> codes;
  {
    PlaceLooks looks(Readable, {.most_waiting = 3, .most_waiting_of_a_user = 2});
    for (const uint64_t user : {kAnna, kAnna, kAnna, kBen, kBen})
      looks.Ask(ListOf({"/data"}), user,
                [&](const Answer& list) { codes.push_back(list.status().code()); });
    ASSERT_EQ(codes, std::vector(2, absl::StatusCode::kResourceExhausted));
  }
  EXPECT_EQ(codes.size(), 5u);
  EXPECT_EQ(codes.back(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace penstock::app
