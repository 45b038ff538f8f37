// The contract of every source of stored rows: fields, labels, rows in any order and on any thread,
// limits, damaged files, and files that change. To add a source, write a Store for it, which
// creates its datasets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "server/source/arrays/idx.h"
#include "server/source/arrays/npy.h"
#include "server/source/arrays/tokens.h"
#include "server/source/core/content_digest.h"
#include "server/source/parse/directly.h"
#include "tests/support/files/array_maker.h"
#include "tests/support/files/idx_maker.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::source {
namespace {

using penstock::testing::Gzip;
using penstock::testing::IdxImages;
using penstock::testing::IdxLabels;
using penstock::testing::LlmC;
using penstock::testing::Megatron;
using penstock::testing::Npy;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint32_t kHeight = 30, kWidth = 40;
constexpr uint64_t kRow = kHeight * kWidth;

// Byte j of row i is 7 · i + j, modulo 256. Label i is 3 · i, modulo 10.
std::string RowBytes(uint32_t rows) {
  constexpr size_t kHeader = 16;
  return IdxImages(rows, kHeight, kWidth).substr(kHeader);
}

class Store {
 public:
  virtual ~Store() = default;
  virtual void Write(uint32_t rows) = 0;
  virtual std::string path() const = 0;  // the file with the rows
  virtual absl::StatusOr<std::unique_ptr<Dataset>> Open() = 0;
  virtual bool labeled() const { return true; }
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
  std::string path() const override { return temp_.At("images"); }
  absl::StatusOr<std::unique_ptr<Dataset>> Open() override {
    return OpenIdx({.files = {temp_.At("images"), temp_.At("labels")},
                    .roots = {},
                    .confinement = confinement_},
                   *DirectParsers());
  }

 private:
  const bool packed_;
  const Tree::Confinement confinement_;
  penstock::testing::TempFolder temp_;
};

class NpyStore final : public Store {
 public:
  void Write(uint32_t rows) override {
    const std::string count = std::to_string(rows);
    temp_.Write("x.npy", Npy("|u1", "(" + count + ", 30, 40)", RowBytes(rows)));
    temp_.Write("y.npy", Npy("|i1", "(" + count + ",)", IdxLabels(rows).substr(8)));
  }
  std::string path() const override { return temp_.At("x.npy"); }
  absl::StatusOr<std::unique_ptr<Dataset>> Open() override {
    return OpenNpy(
        {.spec = {.arrays = {{"image", temp_.At("x.npy")}, {"label", temp_.At("y.npy")}}}},
        *DirectParsers());
  }

 private:
  penstock::testing::TempFolder temp_;
};

// Rows of 600 tokens that don't overlap: windows of 599 tokens, each with one more for the last
// target.
class TokensStore final : public Store {
 public:
  explicit TokensStore(TokenFormat format) : format_(format) {}

  void Write(uint32_t rows) override {
    const std::string bytes = RowBytes(rows);
    std::vector<uint16_t> tokens(bytes.size() / 2);
    std::memcpy(tokens.data(), bytes.data(), bytes.size());
    if (format_ == TokenFormat::kLlmC) return temp_.Write("x.bin", LlmC(tokens));
    if (format_ == TokenFormat::kNpy)
      return temp_.Write("x.bin", Npy("<u2", "(" + std::to_string(tokens.size()) + ",)", bytes));
    temp_.Write("x.bin", bytes);
    if (format_ == TokenFormat::kMegatron)
      temp_.Write("x.idx", Megatron::Of(std::vector<int32_t>(4 * rows, 150)).Bytes());
  }
  std::string path() const override { return temp_.At("x.bin"); }
  absl::StatusOr<std::unique_ptr<Dataset>> Open() override {
    return OpenTokens({.spec = {.files = {temp_.At("x.bin")},
                                .length = 599,
                                .stride = 600,
                                .vocabulary = 65'536,
                                .format = format_}},
                      *DirectParsers());
  }
  bool labeled() const override { return false; }

 private:
  const TokenFormat format_;
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
  static bool keeps_rows() { return GetParam().name.find("Gzip") != std::string::npos; }
  void CutOff(uint64_t bytes) { std::filesystem::resize_file(store_->path(), bytes); }

  // Returns "right" or "wrong", "trouble" if the source is unavailable, or any other error.
  static std::string Check(const Dataset& dataset, const std::vector<uint64_t>& samples) {
    std::vector<std::byte> rows(samples.size() * kRow, std::byte{0xA5});
    const Selection selection = dataset.Select({}).value();
    if (selection.layout.blocks != std::vector{kRow}) return "not one block of rows";
    std::byte* const into = rows.data();
    const absl::Status copied = dataset.CopyRows(selection, samples, std::span(&into, 1));
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
    CutOff(bytes);
    for (const uint64_t sample : {0, 3, 50, 99})
      EXPECT_NE(Check(*dataset, {sample}), "wrong") << sample << " at " << bytes;
  }
}

TEST_P(RowSourceContract, AFileThatLacksItsLastByteCannotBeOpenedAndIsNamed) {
  store_->Write(100);
  CutOff(std::filesystem::file_size(store_->path()) - 1);

  const absl::Status refused = store_->Open().status();

  EXPECT_TRUE(absl::IsInvalidArgument(refused) || absl::IsDataLoss(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("'" + store_->path() + "'"));
}

TEST_P(RowSourceContract, AFileThatIsWrittenToIsTroubleOrRightUntilItIsOpenedAnew) {
  const auto before = Open(100);
  const auto after = Open(101);

  EXPECT_NE(Check(*before, {0, 99}), "wrong");
  EXPECT_EQ(Check(*after, {0, 100}), "right");
}

// Compressed files are unpacked into memory when they are opened, so their rows stay right.
TEST_P(RowSourceContract, RowsOverwrittenInPlaceAreChangedOrRightThoughSizeAndTimeAreWhatTheyWere) {
  const auto dataset = Open(100);
  ASSERT_EQ(Check(*dataset, {0, 99}), "right");
  const auto time = std::filesystem::last_write_time(store_->path());

  std::fstream file(store_->path(), std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(-1, std::ios::end).put('?');
  file.close();
  std::filesystem::last_write_time(store_->path(), time);

  const std::string checked = Check(*dataset, {0, 99});
  if (!dataset->changed()) {
    EXPECT_EQ(checked, "right");
    EXPECT_EQ(Check(*dataset, {0, 99}), "right");
  } else {
    EXPECT_THAT(checked, AllOf(HasSubstr("DATA_LOSS"), HasSubstr(store_->path()),
                               HasSubstr("changed since it was indexed")));
  }
  EXPECT_EQ(dataset->changed(), !keeps_rows());
}

TEST_P(RowSourceContract, TheContentDigestIsOfEveryByte) {
  const std::string digest = ContentDigest(*Open(100), ParallelFor{.threads = 2}).value();

  EXPECT_EQ(digest.size(), 64u);
  EXPECT_EQ(ContentDigest(*Open(100), ParallelFor{}).value(), digest);
  EXPECT_NE(ContentDigest(*Open(101), ParallelFor{}).value(), digest);
}

TEST_P(RowSourceContract, WhatIsWishedForAndNotThereIsRefusedWithWhatIs) {
  const auto dataset = Open(3);
  const FieldRequest requests[] = {{"nothing"}};

  const absl::Status refused = dataset->Select(requests).status();

  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr(dataset->fields()[0].name));
}

TEST_P(RowSourceContract, FieldsLabelsAndPathsAreThoseOfTheSamples) {
  const auto dataset = Open(100);

  EXPECT_EQ(dataset->storage(), Storage::kRows);
  EXPECT_EQ(dataset->samples(), 100u);
  EXPECT_EQ(dataset->Select({})->layout.tensors.size(), dataset->fields().size());
  EXPECT_EQ(dataset->labeled(), store_->labeled());
  EXPECT_EQ(dataset->classes().size(), store_->labeled() ? 10u : 0u);
  for (uint64_t sample = 0; sample < 100; ++sample)
    EXPECT_EQ(dataset->label(sample),
              store_->labeled() ? static_cast<int64_t>(3 * sample % 10) : 0);
  EXPECT_NE(dataset->path(1), dataset->path(2));
}

TEST_P(RowSourceContract, LabelsOfManySamplesAreThoseOfEach) {
  const auto dataset = Open(100);
  const uint64_t samples[] = {7, 99, 7};
  int64_t labels[3] = {-1, -1, -1};

  dataset->CopyLabels(samples, reinterpret_cast<std::byte*>(labels));

  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(labels[i], dataset->label(samples[i]));
}

TEST_P(RowSourceContract, RowsComeInWhateverOrderAndAsOftenAsTheyAreAsked) {
  const auto dataset = Open(100);

  EXPECT_EQ(Check(*dataset, {}), "right");
  EXPECT_EQ(Check(*dataset, {99}), "right");
  EXPECT_EQ(Check(*dataset, {5, 6, 7, 3, 3, 99, 0, 1}), "right");
}

TEST_P(RowSourceContract, EveryRangeIsThoseSamplesOfTheWholeUnderTheirOwnNumbers) {
  const auto dataset = Open(100);
  for (const auto& [begin, end] : {std::pair(0, 100), {0, 1}, {99, 100}, {37, 61}}) {
    std::vector<uint64_t> range(static_cast<size_t>(end - begin));
    std::iota(range.begin(), range.end(), static_cast<uint64_t>(begin));

    EXPECT_EQ(Check(*dataset, range), "right") << begin << ".." << end;
  }
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
    {"Npy", [] { return std::make_unique<NpyStore>(); }},
    {"TokensRaw", [] { return std::make_unique<TokensStore>(TokenFormat::kRaw); }},
    {"TokensLlmC", [] { return std::make_unique<TokensStore>(TokenFormat::kLlmC); }},
    {"TokensNpy", [] { return std::make_unique<TokensStore>(TokenFormat::kNpy); }},
    {"TokensMegatron", [] { return std::make_unique<TokensStore>(TokenFormat::kMegatron); }},
};

INSTANTIATE_TEST_SUITE_P(Sources, RowSourceContract, ::testing::ValuesIn(kSources),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Sources, RowSourceContractDeathTest, ::testing::ValuesIn(kSources),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace penstock::source
