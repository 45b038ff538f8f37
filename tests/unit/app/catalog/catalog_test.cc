// The catalogue with real folders. It only indexes them, so their files need not be photographs.
#include "server/app/catalog/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <thread>

#include "tests/support/files/array_maker.h"
#include "tests/support/files/idx_maker.h"
#include "tests/support/files/tar_maker.h"
#include "tests/support/message_of.h"
#include "tests/unit/app/catalog/catalog_rig.h"

namespace penstock::app {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using CatalogTest = CatalogRig;

// ---- Access. ----

TEST_F(CatalogTest, NoNameAndNoFolderAreRefused) {
  EXPECT_EQ(Open("").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Open(folder_.At("nothing")).status().code(), absl::StatusCode::kNotFound);
}

// ---- Shards. ----

class CatalogShardsTest : public CatalogTest {
 protected:
  void MakeShard(const std::string& path, const std::string& image) {
    folder_.Write(path, testing::TarFile("a.jpg", image) + testing::TarEnd());
  }
};

TEST_F(CatalogShardsTest, OutsideOfTheRootsNoneAreOpenedWhateverTheBracesSay) {
  MakeShard("shards/0.tar", "x");
  options_.roots = {folder_.At("flowers")};
  catalog_.emplace(options_);

  for (const std::string path : {"shards", "shards/0.tar", "shards/{0..0}.tar"})
    EXPECT_EQ(Open(folder_.At(path)).status().code(), absl::StatusCode::kPermissionDenied) << path;
}

TEST_F(CatalogShardsTest, AreFoundByFileFolderAndBracesAndHaveOneState) {
  MakeShard("shards/0.tar", "x");

  const Catalog::State state = Open(folder_.At("shards")).value();

  EXPECT_EQ(state->dataset->kind(), "tar");
  EXPECT_EQ(Open(folder_.At("shards/0.tar")).value(), state);
  EXPECT_EQ(Open(folder_.At("shards/{0..0}.tar")).value(), state);
  EXPECT_TRUE(Index(folder_.At("shards"))->from_cache);
}

TEST_F(CatalogShardsTest, ThatChangedGetANewState) {
  MakeShard("shards/0.tar", "x");
  const Catalog::State before = Open(folder_.At("shards")).value();
  MakeShard("shards/0.tar", "longer");

  EXPECT_NE(Open(folder_.At("shards")).value(), before);

  MakeShard("shards/1.tar", "y");
  EXPECT_EQ(Open(folder_.At("shards")).value()->dataset->samples(), 2u);
}

// ---- Rows that need no decoding. ----

TEST_F(CatalogTest, AFolderOfSeveralIdxPairsListsThemAndOnlyUnderTheRoots) {
  for (const std::string part : {"train", "t10k"})
    folder_.Write(absl::StrCat("raw/", part, "-images-idx3-ubyte"), "");

  EXPECT_THAT(MessageOf(Open(folder_.At("raw")).status()), HasSubstr("'t10k-images-idx3-ubyte'"));

  options_.roots = {folder_.At("flowers")};
  catalog_.emplace(options_);
  EXPECT_EQ(Open(folder_.At("raw")).status().code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(CatalogTest, AnIdxPairIsFoundByItsImagesAndByItsFolderAndHasOneState) {
  folder_.Write("raw/train-images-idx3-ubyte.gz", testing::Gzip(testing::IdxImages(5, 4, 4)));
  folder_.Write("raw/train-labels-idx1-ubyte", testing::IdxLabels(5));

  const Catalog::State state = Open(folder_.At("raw")).value();

  EXPECT_EQ(state->dataset->kind(), "idx");
  EXPECT_EQ(Open(folder_.At("raw/train-images-idx3-ubyte.gz")).value(), state);
  EXPECT_TRUE(Index(folder_.At("raw"))->from_cache);
}

TEST_F(CatalogTest, AnIdxPairThatChangedGetsANewState) {
  folder_.Write("raw/images-idx3", testing::IdxImages(5, 4, 4));
  folder_.Write("raw/labels-idx1", testing::IdxLabels(5));
  const Catalog::State before = Open(folder_.At("raw")).value();
  folder_.Write("raw/images-idx3", testing::IdxImages(6, 4, 4));
  folder_.Write("raw/labels-idx1", testing::IdxLabels(6));

  const Catalog::State after = Open(folder_.At("raw")).value();

  EXPECT_NE(after, before);
  EXPECT_EQ(before->dataset->samples(), 5u);
  EXPECT_EQ(after->dataset->samples(), 6u);
}

TEST_F(CatalogTest, ATextThatNamesFilesIsForPrivateDaemonsAlone) {
  ServeByName();

  for (const std::string text : {"npy:x=/data/x.npy", "tokens:/data/x.bin,length=8"}) {
    const auto state = Open(text);
    EXPECT_EQ(state.status().code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(MessageOf(state.status()), HasSubstr("only by name; known are: flowers, trees"));
  }
}

TEST_F(CatalogTest, ATextThatNamesFilesOpensNothingOutsideTheRoots) {
  options_.roots = {folder_.At("flowers")};
  folder_.Write("x.npy", testing::Npy("|u1", "(3,)", "abc"));

  for (const std::string& text : {folder_.At("x.npy"), "npy:x=" + folder_.At("x.npy"),
                                  "tokens:" + folder_.At("x.npy") + ",length=2"})
    EXPECT_EQ(Open(text).status().code(), absl::StatusCode::kPermissionDenied) << text;
}

TEST_F(CatalogTest, ATextThatIsNotUnderstoodIsRefusedWithTheGrammar) {
  EXPECT_THAT(MessageOf(Open("tokens:/a").status()), HasSubstr("wanted tokens:/FILE"));
  EXPECT_THAT(MessageOf(Open("npy:/a").status()), HasSubstr("wanted npy:NAME=/FILE.npy"));
}

TEST_F(CatalogTest, ArraysAndTokensHaveOneStateUntilAFileChanges) {
  folder_.Write("x.npy", testing::Npy("|u1", "(5,)", "abcde"));
  const std::pair<std::string, std::string> texts[] = {
      {folder_.At("x.npy"), "npy"},
      {"npy:x=" + folder_.At("x.npy"), "npy"},
      {"tokens:" + folder_.At("x.npy") + ",length=2", "tokens"}};
  std::vector<Catalog::State> before;
  for (const auto& [text, kind] : texts) {
    before.push_back(Open(text).value());
    EXPECT_EQ(before.back()->dataset->kind(), kind);
    EXPECT_EQ(Open(text).value(), before.back());
    EXPECT_EQ(catalog().FindOpen(text, {}).value(), before.back());
  }

  folder_.Write("x.npy", testing::Npy("|u1", "(6,)", "abcdef"));

  for (size_t i = 0; i < before.size(); ++i) EXPECT_NE(Open(texts[i].first).value(), before[i]);
}

TEST_F(CatalogTest, ConfiguredTokensAreOpenedByTheirName) {
  folder_.Write("x.bin", "0123456789");
  source::TokensSpec spec{.files = {folder_.At("x.bin")}, .length = 2};
  options_.any_path = false;
  options_.offer.datasets = {
      {.name = "text", .path = ToString(spec), .groups = {}, .tokens = spec}};

  EXPECT_EQ(Open("text").value()->dataset->samples(), 2u);
  EXPECT_NE(catalog().FindOpen("text", {}).value(), nullptr);
  EXPECT_EQ(catalog().List().size(), 1u);
}

TEST_F(CatalogTest, ASyntheticDatasetIsForEverybodyAndKeptForNobody) {
  ServeByName();

  EXPECT_EQ(Open("synthetic:8x8x3,samples=100").value()->dataset->samples(), 100u);
  EXPECT_EQ(Open("synthetic:8x8").status().code(), absl::StatusCode::kInvalidArgument);
  const Catalog::State held = Open("synthetic:8x8x3,samples=7").value();

  EXPECT_EQ(Open("synthetic:8x8x3,samples=7,classes=1000").value(), held);
  for (uint32_t i = 0; i < 2 * options_.max_datasets; ++i)
    ASSERT_TRUE(Open(absl::StrCat("synthetic:1x1x1,seed=", i)).ok());
  // The thread that opened them may still hold a few.
  EXPECT_LE(catalog().List().size(), 10u);
}

// ---- One state per folder. ----

TEST_F(CatalogTest, AFolderHasOneStateByWhateverPath) {
  folder_.Link("link", folder_.At("flowers"));
  const Catalog::State state = Open(folder_.At("flowers")).value();

  EXPECT_EQ(Open(folder_.At("flowers")).value(), state);
  EXPECT_EQ(Open(folder_.At("flowers/")).value(), state);
  EXPECT_EQ(Open(folder_.At("./flowers")).value(), state);
  EXPECT_EQ(Open(folder_.At("link")).value(), state);
  EXPECT_EQ(catalog().List().size(), 1u);
}

TEST_F(CatalogTest, AFolderThatChangedGetsANewStateAndTheOldOneStaysWithItsUsers) {
  const Catalog::State before = Open(folder_.At("flowers")).value();
  folder_.Write("flowers/rose/0.jpg", "another photograph");

  const Catalog::State after = Open(folder_.At("flowers")).value();

  EXPECT_EQ(before->dataset->samples(), 3u);
  EXPECT_EQ(after->dataset->samples(), 4u);
  EXPECT_EQ(catalog().List()[0].state, after);
}

TEST_F(CatalogTest, DatasetsThatNobodyUsesMakeRoomAndUsedOnesDoNot) {
  options_.max_datasets = 1;
  MakeDataset("trees", 1);
  Catalog::State used = Open(folder_.At("flowers")).value();

  const auto refused = Open(folder_.At("trees"));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Open(folder_.At("flowers")).ok());
  used.reset();

  // The thread that opened it may hold it for a moment after its answer.
  bool is_open = false;
  for (int i = 0; i < 5000 && !is_open; ++i) {
    is_open = Open(folder_.At("trees")).ok();
    if (!is_open) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(is_open);
}

// ---- Indexing. ----

TEST_F(CatalogTest, AnIndexSaysWhatItFoundAndThatItIsCached) {
  const rpc::IndexProgress made = Index(folder_.At("flowers")).value();
  const rpc::IndexProgress again = Index(folder_.At("flowers")).value();

  EXPECT_EQ(made.samples, 3u);
  EXPECT_EQ(made.classes, 1u);
  EXPECT_FALSE(made.from_cache);
  EXPECT_TRUE(again.from_cache);
}

TEST_F(CatalogTest, AnIndexGoesOnForAWhileBecauseItMayBeAskedForAgain) {
  EXPECT_TRUE(Index(folder_.At("flowers"), {}, true).ok());
}

TEST_F(CatalogTest, AnIndexThatNobodyWaitsForIsBrokenOff) {
  options_.asked_again_within = {};
  EXPECT_EQ(Index(folder_.At("flowers"), {}, true).status().code(), absl::StatusCode::kCancelled);
}

// ---- Stopping. ----

TEST_F(CatalogTest, WhatWaitsAtTheEndIsAnsweredWithoutBeingOpened) {
  std::promise<void> begun, go_on;
  catalog().Open(folder_.At("flowers"), {}, [&](const absl::StatusOr<Catalog::State>&) {
    begun.set_value();
    go_on.get_future().wait();
  });
  begun.get_future().wait();
  std::promise<absl::Status> waiting;
  catalog().Open(folder_.At("flowers"), {}, [&](const absl::StatusOr<Catalog::State>& state) {
    waiting.set_value(state.status());
  });

  catalog().Close();
  go_on.set_value();
  catalog().Stop();

  EXPECT_EQ(waiting.get_future().get().code(), absl::StatusCode::kUnavailable);
}

TEST_F(CatalogTest, AfterTheEndNothingIsOpened) {
  catalog().Stop();

  EXPECT_EQ(Open(folder_.At("flowers")).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Index(folder_.At("flowers")).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(CatalogTest, MoreThanCanWaitIsRefusedAtOnce) {
  std::promise<void> begun, go_on;
  catalog().Open(folder_.At("flowers"), {}, [&](const absl::StatusOr<Catalog::State>&) {
    begun.set_value();
    go_on.get_future().wait();
  });
  begun.get_future().wait();
  std::atomic<int> answered = 0;
  std::optional<absl::Status> refused;
  int taken = 0;
  for (; !refused && taken < 10'000; ++taken) {
    catalog().Open(folder_.At("flowers"), {}, [&](const absl::StatusOr<Catalog::State>& state) {
      ++answered;
      if (absl::IsResourceExhausted(state.status())) refused = state.status();
    });
  }
  go_on.set_value();
  catalog_.reset();

  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(answered, taken);
}

}  // namespace
}  // namespace penstock::app
