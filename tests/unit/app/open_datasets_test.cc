#include "server/app/catalog/open_datasets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/app/canary_picture.h"
#include "server/source/core/synthetic.h"
#include "server/source/made/python_dataset.h"

namespace penstock::app {
namespace {

using std::chrono::seconds;

constexpr base::TimePoint kOpenedAt{seconds(1000)};

class OpenDatasetsTest : public ::testing::Test {
 protected:
  using State = OpenDatasets::State;

  static State NewState(const std::string& name,
                        std::shared_ptr<const source::Dataset> dataset = MakeCanaryDataset()) {
    return std::make_shared<feed::DatasetState>(feed::DatasetState{.name = name,
                                                                   .dataset = std::move(dataset),
                                                                   .quarantine = {},
                                                                   .policy = feed::FaultPolicy(1)});
  }
  static NamedDataset At(const std::string& path) { return {.name = path, .path = path}; }
  // Opens by that path the dataset with that key.
  State Open(const std::string& path, const std::string& key, const std::string& stamp = "1") {
    const DatasetIdentity identity{.key = key, .stamp = stamp};
    open_.Name(At(path), key);
    const State state = NewState(path);
    if (!open_.Reserve(identity, *state->dataset).ok()) return nullptr;
    return open_.Add(identity, state, nullptr, /*may_share=*/true);
  }
  static State OpenPython(OpenDatasets& open, uint64_t number) {
    const std::string path = absl::StrCat("python:id=", number, ",samples=1");
    open.Name(At(path), path);
    auto dataset = source::MakePython(source::ParsePython(path).value());
    if (!open.Reserve({.key = path}, *dataset).ok()) return nullptr;
    return open.Add({.key = path}, NewState(path, std::move(dataset)), nullptr, true);
  }
  std::vector<std::string> Others() const {
    std::vector<std::string> paths;
    for (const DatasetView& view : open_.List({}, [](const State&) { return true; }))
      paths.push_back(view.path);
    return paths;
  }

  OpenDatasets open_{2};
};

TEST_F(OpenDatasetsTest, TwoNamesForTheSameFilesShareOneState) {
  const State state = Open("/link", "/real");

  EXPECT_EQ(open_.FindUnchanged(At("/real"), {.key = "/real", .stamp = "1"}), state);
  EXPECT_EQ(open_.Find(At("/link")), state);
  EXPECT_EQ(open_.Find(At("/real")), state);
  EXPECT_EQ(open_.Find(At("/other")), nullptr);
}

TEST_F(OpenDatasetsTest, FilesThatChangedAreNotShared) {
  const State state = Open("/a", "/a", "1");

  EXPECT_EQ(open_.FindUnchanged(At("/a"), {.key = "/a", .stamp = "2"}), nullptr);
  const State next = Open("/a", "/a", "2");

  EXPECT_NE(next, state);
  EXPECT_EQ(open_.Find(At("/a")), next);
}

// A trainer that opens a session for each epoch finds what it had; a random id is soon forgotten.
TEST_F(OpenDatasetsTest, TheLastUnusedPythonDatasetsStayOpen) {
  OpenDatasets open{256};
  const State used = OpenPython(open, 0);
  for (uint64_t number = 1; number <= kUnusedPythonDatasets; ++number)
    ASSERT_NE(OpenPython(open, number), nullptr);
  const DatasetIdentity first{.key = "python:id=1,samples=1"};
  ASSERT_NE(open.FindUnchanged(At(first.key), first), nullptr);  // opened once more

  ASSERT_NE(OpenPython(open, 100), nullptr);
  ASSERT_NE(OpenPython(open, 101), nullptr);

  EXPECT_EQ(open.Find(At("python:id=0,samples=1")), used);
  EXPECT_NE(open.Find(At(first.key)), nullptr);
  EXPECT_EQ(open.Find(At("python:id=2,samples=1")), nullptr);
  EXPECT_NE(open.Find(At("python:id=3,samples=1")), nullptr);
  EXPECT_EQ(open.List({}, [](const State&) { return true; }).size(), kUnusedPythonDatasets + 2);
}

TEST_F(OpenDatasetsTest, OfTwoThatOpenAtOnceTheFirstIsShared) {
  const State first = Open("/link", "/a");

  EXPECT_EQ(Open("/a", "/a"), first);
}

TEST_F(OpenDatasetsTest, OneThatMustNotBeSharedIsReplaced) {
  const State first = Open("/a", "/a");
  const State next = NewState("/a");

  EXPECT_EQ(open_.Add({.key = "/a", .stamp = "1"}, next, first, true), next);
  EXPECT_EQ(open_.Add({.key = "/a", .stamp = "1"}, first, nullptr, false), first);
}

TEST_F(OpenDatasetsTest, ALookThatBeganAfterTheQuestionIsEnough) {
  const State state = Open("/a", "/a");
  EXPECT_EQ(open_.FindExamined(At("/a"), "/a", kOpenedAt), nullptr);

  open_.NoteExamined(state, kOpenedAt);

  EXPECT_EQ(open_.FindExamined(At("/a"), "/a", kOpenedAt), state);
  EXPECT_EQ(open_.FindExamined(At("/a"), "/a", kOpenedAt + seconds(1)), nullptr);
  EXPECT_EQ(open_.examinations(), 1u);
}

TEST_F(OpenDatasetsTest, OnesThatNobodyUsesMakePlace) {
  const State used = Open("/a", "/a");
  Open("/b", "/b");

  const State third = Open("/c", "/c");

  EXPECT_NE(third, nullptr);
  EXPECT_EQ(Others(), (std::vector<std::string>{"/a", "/c"}));
}

TEST_F(OpenDatasetsTest, WhenAllAreInUseNoMoreAreOpened) {
  const State a = Open("/a", "/a"), b = Open("/b", "/b");

  const auto reserve = [&](const std::string& key) {
    return open_.Reserve({.key = key}, *a->dataset);
  };
  EXPECT_EQ(reserve("/c").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(reserve("/a").ok());  // already open
}

TEST_F(OpenDatasetsTest, GeneratedOnesTakeNoPlaceOfOthers) {
  std::vector<State> used;
  for (int i = 0; i < 5; ++i) {
    const std::string key = absl::StrCat("synthetic:", i);
    auto dataset = source::MakeSynthetic(*source::ParseSynthetic("synthetic:"));
    ASSERT_TRUE(open_.Reserve({.key = key}, *dataset).ok()) << i;
    used.push_back(open_.Add({.key = key}, NewState(key, std::move(dataset)), nullptr, true));
  }

  EXPECT_NE(Open("/a", "/a"), nullptr);
  EXPECT_EQ(Others().size(), 6u);
}

TEST_F(OpenDatasetsTest, AListHasTheNamedOnesOpenOrNotThenTheOthersThatAreShown) {
  const State a = Open("/a", "/a"), b = Open("/b", "/b");

  const auto views = open_.List({At("/a"), At("/x")}, [](const State&) { return true; });
  ASSERT_EQ(views.size(), 3u);
  EXPECT_EQ(views[0].state, a);
  EXPECT_EQ(views[1].state, nullptr);
  EXPECT_EQ(views[2].path, "/b");

  EXPECT_EQ(open_.List({}, [](const State&) { return false; }).size(), 0u);
}

TEST_F(OpenDatasetsTest, NamesOfWhatIsOpenNoMoreAreForgottenOnceThereAreMany) {
  open_.SetConfigured(1);
  const State a = Open("/link0", "/a");
  for (int i = 1; i < 10; ++i) open_.Name(At(absl::StrCat("/gone", i)), "/gone");

  EXPECT_EQ(open_.Find(At("/link0")), a);
}

}  // namespace
}  // namespace penstock::app
