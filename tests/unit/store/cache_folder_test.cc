// Pieces that a folder keeps: over restarts, damage, other versions, and a full folder.
#include "server/store/cache/cache_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

namespace penstock::store {
namespace {

constexpr ObjectId kOne = {1, 2}, kOther = {1, 3};
constexpr uint64_t kObjectBytes = 1 << 20, kPlenty = 1 << 30;

std::vector<std::byte> Bytes(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = std::byte(random());
  return bytes;
}

class CacheFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "cache-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(path_); }

  std::unique_ptr<CacheFolder> Open(uint64_t most = kPlenty) {
    auto opened = CacheFolder::Open(path_, most);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }
  // The only file that ends so.
  std::string FileEnding(const std::string& ending) {
    std::string found;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      if (entry.path().extension() == ending) found = entry.path();
    return found;
  }
  static bool Holds(Mirror& mirror, uint64_t offset, const std::vector<std::byte>& wanted) {
    std::vector<std::byte> into(wanted.size());
    return mirror.Read(offset, into) && into == wanted;
  }

  std::string path_;
};

TEST_F(CacheFolderTest, WhatIsKeptIsReadAgainAlsoByALaterProcess) {
  const auto first = Bytes(100'000, 1), second = Bytes(33, 2);
  {
    const auto folder = Open();
    const auto mirror = folder->OpenMirror(kOne, kObjectBytes);
    EXPECT_FALSE(mirror->Has(512, first.size()));
    mirror->Keep(512, first);
    mirror->Keep(200'000, second);
    mirror->Keep(512, first);  // once more
    EXPECT_TRUE(mirror->Has(512, first.size()));
    EXPECT_FALSE(mirror->Has(512, first.size() - 1));
    EXPECT_TRUE(Holds(*mirror, 512, first));
    EXPECT_EQ(folder->counts().kept, 2u);
  }
  const auto folder = Open();
  EXPECT_GE(folder->counts().bytes, first.size());
  const auto mirror = folder->OpenMirror(kOne, kObjectBytes);
  EXPECT_TRUE(Holds(*mirror, 512, first));
  EXPECT_TRUE(Holds(*mirror, 200'000, second));
  EXPECT_EQ(folder->counts().found, 2u);
  EXPECT_EQ(folder->OpenMirror(kOne, kObjectBytes), mirror);
  EXPECT_FALSE(folder->OpenMirror(kOther, kObjectBytes)->Has(512, first.size()));
}

TEST_F(CacheFolderTest, ADamagedPieceIsNotDeliveredAndCanBeKeptAnew) {
  const auto piece = Bytes(5000, 1);
  const auto folder = Open();
  const auto mirror = folder->OpenMirror(kOne, kObjectBytes);
  mirror->Keep(4096, piece);
  {
    std::fstream file(FileEnding(".data"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096 + 2500);
    file.put(static_cast<char>(~static_cast<unsigned char>(piece[2500])));
  }
  EXPECT_FALSE(Holds(*mirror, 4096, piece));
  EXPECT_EQ(folder->counts().damaged, 1u);
  EXPECT_FALSE(mirror->Has(4096, piece.size()));
  mirror->Keep(4096, piece);
  EXPECT_TRUE(Holds(*mirror, 4096, piece));
}

TEST_F(CacheFolderTest, AnIndexCutOffAnywhereLosesOnlyWhatWasCutOff) {
  const auto piece = Bytes(1000, 1);
  for (const size_t cut : {1u, 31u, 32u, 33u, 64u, 70u, 95u, 1000u}) {
    std::filesystem::remove_all(path_);
    uint64_t whole = 0;
    {
      const auto folder = Open();
      const auto mirror = folder->OpenMirror(kOne, kObjectBytes);
      for (uint64_t i = 0; i < 3; ++i) mirror->Keep(1000 * i, piece);
    }
    const std::string index = FileEnding(".index");
    const uint64_t size = std::filesystem::file_size(index);
    std::filesystem::resize_file(index, size - std::min<uint64_t>(cut, size));
    {
      const auto folder = Open();
      const auto mirror = folder->OpenMirror(kOne, kObjectBytes);
      for (uint64_t i = 0; i < 3; ++i) whole += Holds(*mirror, 1000 * i, piece);
      EXPECT_EQ(whole, cut > 96 ? 0 : 3 - (cut + 31) / 32) << cut;
      for (uint64_t i = 0; i < 3; ++i) mirror->Keep(1000 * i, piece);
    }
    const auto folder = Open();
    const auto mirror = folder->OpenMirror(kOne, kObjectBytes);
    for (uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(Holds(*mirror, 1000 * i, piece)) << cut;
  }
}

TEST_F(CacheFolderTest, GarbageInTheIndexIsNotBelieved) {
  const auto piece = Bytes(1000, 1);
  {
    const auto folder = Open();
    folder->OpenMirror(kOne, kObjectBytes)->Keep(0, piece);
  }
  {
    std::ofstream index(FileEnding(".index"), std::ios::app | std::ios::binary);
    index << std::string(320, 'x');
  }
  const auto folder = Open();
  const auto mirror = folder->OpenMirror(kOne, kObjectBytes);
  EXPECT_TRUE(Holds(*mirror, 0, piece));
  mirror->Keep(2000, piece);
  EXPECT_TRUE(Holds(*mirror, 2000, piece));
}

TEST_F(CacheFolderTest, AnotherSizeOfTheObjectBeginsAnew) {
  const auto piece = Bytes(1000, 1);
  {
    const auto folder = Open();
    folder->OpenMirror(kOne, kObjectBytes)->Keep(0, piece);
  }
  const auto folder = Open();
  EXPECT_FALSE(folder->OpenMirror(kOne, kObjectBytes + 1)->Has(0, piece.size()));
}

TEST_F(CacheFolderTest, TheLimitHoldsAndOnlyObjectsThatNobodyReadsMakeRoom) {
  const auto piece = Bytes(100'000, 1);
  const auto folder = Open(350'000);
  auto first = folder->OpenMirror(kOne, kObjectBytes);
  for (uint64_t i = 0; i < 5; ++i) first->Keep(piece.size() * i, piece);
  EXPECT_EQ(folder->counts().kept, 3u);
  EXPECT_EQ(folder->counts().no_room, 2u);
  EXPECT_LE(folder->counts().bytes, 350'000u);

  first.reset();
  const auto limited = CacheFolder::Open(path_, 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(limited.status()));  // it is in use
}

TEST_F(CacheFolderTest, AnObjectThatNobodyReadsGoesFirst) {
  const auto piece = Bytes(100'000, 1);
  const auto folder = Open(350'000);
  auto old = folder->OpenMirror(kOne, kObjectBytes);
  for (uint64_t i = 0; i < 3; ++i) old->Keep(piece.size() * i, piece);
  old.reset();
  const auto other = folder->OpenMirror(kOther, kObjectBytes);
  for (uint64_t i = 0; i < 3; ++i) other->Keep(piece.size() * i, piece);
  EXPECT_EQ(folder->counts().removed, 1u);
  for (uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(Holds(*other, piece.size() * i, piece));
  EXPECT_FALSE(folder->OpenMirror(kOne, kObjectBytes)->Has(0, piece.size()));
}

TEST_F(CacheFolderTest, FilesThatSomebodyDeletedAreMadeAnew) {
  const auto piece = Bytes(1000, 1);
  const auto folder = Open();
  const auto mirror = folder->OpenMirror(kOne, kObjectBytes);
  mirror->Keep(0, piece);
  std::filesystem::remove(FileEnding(".data"));
  EXPECT_FALSE(Holds(*mirror, 0, piece));
  mirror->Keep(0, piece);
  EXPECT_TRUE(Holds(*mirror, 0, piece));
  EXPECT_EQ(folder->counts().no_room, 0u);
}

TEST_F(CacheFolderTest, AFolderThatOthersMayReadIsRefused) {
  ASSERT_EQ(::chmod(path_.c_str(), 0755), 0);
  const auto opened = CacheFolder::Open(path_, kPlenty);
  EXPECT_THAT(opened.status().message(), ::testing::HasSubstr("chmod 700"));
  EXPECT_FALSE(CacheFolder::Open(path_ + "/absent/folder", kPlenty).ok());
}

TEST_F(CacheFolderTest, ManyThreadsKeepAndReadAtOnce) {
  const auto folder = Open(8 << 20);
  const auto mirror = folder->OpenMirror(kOne, 64 << 20);
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < 8; ++thread)
    threads.emplace_back([&, thread] {
      for (uint64_t i = 0; i < 400; ++i) {
        const uint64_t number = (i * 7 + thread) % 300;
        const auto piece = Bytes(1000 + number, number);
        if (mirror->Has(4000 * number, piece.size())) {
          EXPECT_TRUE(Holds(*mirror, 4000 * number, piece));
        } else {
          mirror->Keep(4000 * number, piece);
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(folder->counts().damaged, 0u);
  EXPECT_EQ(folder->counts().kept, 300u);
}

}  // namespace
}  // namespace penstock::store
