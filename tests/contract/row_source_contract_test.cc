// What every source of stored rows promises: shape, labels, rows in any order by any thread,
// bounds, changes on disk. A source joins with a Store of its own, which says how its datasets are
// made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/source/idx.h"
#include "tests/support/idx_maker.h"
#include "tests/support/row_copy.h"
#include "tests/support/temp_folder.h"

namespace penstock::source {
namespace {

using penstock::testing::Gzip;
using penstock::testing::IdxImages;
using penstock::testing::IdxLabels;

constexpr uint32_t kHeight = 30, kWidth = 40;
constexpr uint64_t kRow = kHeight * kWidth;

// Row i, byte j is 7 · i + j, and label i is 3 · i modulo 10.
class Store {
 public:
  virtual ~Store() = default;
  virtual void Write(uint32_t rows) = 0;
  virtual void CutOff(uint64_t bytes) = 0;  // what holds the rows
  virtual absl::StatusOr<std::unique_ptr<Dataset>> Open() = 0;
};

class IdxStore final : public Store {
 public:
  IdxStore(bool packed, Tree::Confinement confinement)
      : packed_(packed), confinement_(confinement) {}

  void Write(uint32_t rows) override {
    const std::string images = IdxImages(rows, kHeight, kWidth), labels = IdxLabels(rows);
    temp_.Write("images", packed_ ? Gzip(images) : images);
    temp_.Write("labels", packed_ ? Gzip(labels) : labels);
  }
  void CutOff(uint64_t bytes) override { std::filesystem::resize_file(temp_.At("images"), bytes); }
  absl::StatusOr<std::unique_ptr<Dataset>> Open() override {
    return OpenIdx({.files = {temp_.At("images"), temp_.At("labels")},
                    .roots = {},
                    .confinement = confinement_});
  }

 private:
  const bool packed_;
  const Tree::Confinement confinement_;
  penstock::testing::TempFolder temp_;
};

struct Source {
  std::string name;
  std::function<std::unique_ptr<Store>()> make_store;
};

class RowSourceContract : public ::testing::TestWithParam<Source> {
 protected:
  std::unique_ptr<Dataset> Open(uint32_t rows) {
    store_->Write(rows);
    auto dataset = store_->Open();
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    return *std::move(dataset);
  }
  // Whether the rows are those; or the source's own trouble, in words.
  static std::string Check(const Dataset& dataset, const std::vector<uint64_t>& samples) {
    std::vector<std::byte> rows(samples.size() * kRow, std::byte{0xA5});
    const absl::Status copied = testing::CopyRows(dataset, samples, rows.data());
    if (!copied.ok()) return absl::IsUnavailable(copied) ? "trouble" : copied.ToString();
    for (size_t i = 0; i < samples.size(); ++i)
      for (uint64_t j = 0; j < kRow; ++j)
        if (rows[i * kRow + j] != static_cast<std::byte>(7 * samples[i] + j)) return "wrong";
    return "right";
  }

  const std::unique_ptr<Store> store_ = GetParam().make_store();
};

TEST_P(RowSourceContract, WhatIsNotThereCannotBeOpened) {
  EXPECT_TRUE(absl::IsNotFound(store_->Open().status()));
}

TEST_P(RowSourceContract, RowsOfAFileThatIsCutOffAreTroubleOrRightAndNeverHalf) {
  const auto dataset = Open(100);
  for (const uint64_t bytes : {50'000, 4097, 100, 0}) {
    store_->CutOff(bytes);
    for (const uint64_t sample : {0, 3, 50, 99})
      EXPECT_NE(Check(*dataset, {sample}), "wrong") << sample << " at " << bytes;
  }
}

TEST_P(RowSourceContract, ShapeLabelsClassesAndPathsAreThoseOfTheSamples) {
  const auto dataset = Open(100);

  EXPECT_EQ(dataset->storage(), Storage::kRows);
  EXPECT_EQ(dataset->samples(), 100u);
  EXPECT_EQ(testing::ShapeOf(*dataset), (RowShape{kHeight, kWidth, 1}));
  EXPECT_EQ(dataset->classes().size(), 10u);
  for (uint64_t sample = 0; sample < 100; ++sample)
    EXPECT_EQ(dataset->label(sample), static_cast<int64_t>(3 * sample % 10));
  EXPECT_NE(dataset->path(1), dataset->path(2));
}

TEST_P(RowSourceContract, RowsComeInWhateverOrderAndAsOftenAsTheyAreAsked) {
  const auto dataset = Open(100);

  EXPECT_EQ(Check(*dataset, {}), "right");
  EXPECT_EQ(Check(*dataset, {99}), "right");
  EXPECT_EQ(Check(*dataset, {5, 6, 7, 3, 3, 99, 0, 1}), "right");
}

TEST_P(RowSourceContract, ManyThreadsCopyAtOnce) {
  const auto dataset = Open(100);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&dataset, t] {
      for (uint64_t i = 0; i < 200; ++i)
        ASSERT_EQ(Check(*dataset, {(t * 31 + i) % 100, i % 100}), "right");
    });

  for (std::thread& thread : threads) thread.join();
}

TEST_P(RowSourceContract, TheDigestStaysUntilSomethingChanges) {
  const uint64_t digest = Open(100)->digest();
  EXPECT_EQ(Open(100)->digest(), digest);

  EXPECT_NE(Open(101)->digest(), digest);
}

using RowSourceContractDeathTest = RowSourceContract;

TEST_P(RowSourceContractDeathTest, ASampleBeyondTheLastIsNeverLookedUp) {
  const auto dataset = Open(3);

  EXPECT_DEATH((void)dataset->label(3), "cannot happen");
  EXPECT_DEATH((void)dataset->path(3), "cannot happen");
  EXPECT_DEATH((void)Check(*dataset, {0, 3}), "cannot happen");
  EXPECT_DEATH((void)dataset->NewReader(), "cannot happen");
}

const Source kSources[] = {
    {"Idx", [] { return std::make_unique<IdxStore>(false, Tree::Confinement::kKernel); }},
    {"IdxPortable", [] { return std::make_unique<IdxStore>(false, Tree::Confinement::kPortable); }},
    {"IdxGzip", [] { return std::make_unique<IdxStore>(true, Tree::Confinement::kKernel); }},
};

INSTANTIATE_TEST_SUITE_P(Sources, RowSourceContract, ::testing::ValuesIn(kSources),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Sources, RowSourceContractDeathTest, ::testing::ValuesIn(kSources),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace penstock::source
