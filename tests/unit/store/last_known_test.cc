// What stores said last, over restarts and damage of the file.
#include "server/store/files/last_known.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "server/store/cache/known_file.h"

namespace penstock::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const ObjectVersion kVersion = {.bytes = 1'234'567'890'123,
                                .etag = "\"a b\"",
                                .modified = "Mon, 01 Jan 2024 00:00:00 GMT",
                                .modified_ns = 5};

class LastKnownTest : public ::testing::Test {
 protected:
  LastKnownTest() : path_(::testing::TempDir() + "known-" + std::to_string(::getpid())) {
    std::filesystem::remove(path_);
  }
  ~LastKnownTest() override { std::filesystem::remove(path_); }

  const std::string path_;
};

TEST_F(LastKnownTest, WhatWasSaidIsKnownLater) {
  {
    LastKnown known(path_);
    EXPECT_FALSE(known.FindVersion("one"));
    known.NoteVersion("one", {.bytes = 1, .etag = "old"});
    known.NoteVersion("one", kVersion);
    known.NoteNames("folder", {"a b", "ü"});
    known.NoteNames("empty", {});
  }
  const LastKnown known(path_);
  const auto version = known.FindVersion("one");
  ASSERT_TRUE(version.has_value());
  EXPECT_EQ(version->bytes, kVersion.bytes);
  EXPECT_EQ(version->etag, kVersion.etag);
  EXPECT_EQ(version->modified, kVersion.modified);
  EXPECT_EQ(version->modified_ns, 5);
  EXPECT_THAT(known.FindNames("folder").value(), ElementsAre("a b", "ü"));
  EXPECT_THAT(known.FindNames("empty").value(), IsEmpty());
  EXPECT_FALSE(known.FindVersion("other"));
  EXPECT_FALSE(known.FindVersion("folder"));
}

TEST_F(LastKnownTest, WhatWasNotWrittenWholeIsNotBelieved) {
  {
    LastKnown known(path_);
    known.NoteVersion("one", kVersion);
    known.NoteVersion("other", kVersion);
  }
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 3);
  {
    LastKnown known(path_);
    EXPECT_TRUE(known.FindVersion("one"));
    EXPECT_FALSE(known.FindVersion("other"));
    known.NoteVersion("third", kVersion);
  }
  EXPECT_TRUE(LastKnown(path_).FindVersion("third"));
}

TEST_F(LastKnownTest, AFileOfManyChangesIsWrittenAnew) {
  {
    LastKnown known(path_);
    for (uint64_t i = 0; i < 100; ++i) known.NoteVersion("one", {.bytes = i, .etag = "x"});
  }
  const uint64_t before = std::filesystem::file_size(path_);
  EXPECT_EQ(LastKnown(path_).FindVersion("one")->bytes, 99u);
  EXPECT_LT(std::filesystem::file_size(path_), before / 50);
}

TEST_F(LastKnownTest, ThatAnObjectIsNotThereIsKnownUntilItIs) {
  LastKnown known(path_);
  EXPECT_FALSE(known.IsAbsent("one"));
  known.NoteAbsent("one");
  EXPECT_TRUE(LastKnown(path_).IsAbsent("one"));
  EXPECT_FALSE(known.FindVersion("one"));
  known.NoteVersion("one", kVersion);
  EXPECT_FALSE(LastKnown(path_).IsAbsent("one"));
}

TEST_F(LastKnownTest, BytesAreKnownAsTheyWere) {
  const std::vector<std::byte> bytes = {std::byte{0}, std::byte{10}, std::byte{255}};
  std::vector<std::byte> into(3), longer(4);
  {
    LastKnown known(path_);
    known.NoteBytes("one", bytes);
    known.NoteBytes("huge", std::vector<std::byte>((64 << 20) - 2));
    EXPECT_FALSE(known.FindBytes("huge", longer));
  }
  const LastKnown known(path_);
  EXPECT_TRUE(known.FindBytes("one", into));
  EXPECT_EQ(into, bytes);
  EXPECT_FALSE(known.FindBytes("one", longer));
  EXPECT_FALSE(known.FindBytes("other", into));
  EXPECT_LT(std::filesystem::file_size(path_), 1000u);
}

TEST_F(LastKnownTest, AFileThatWasRemovedOrChangedIsWrittenAnew) {
  LastKnown known(path_);
  known.NoteVersion("one", kVersion);
  known.NoteVersion("other", kVersion);
  std::filesystem::remove(path_);
  known.NoteVersion("one", kVersion);  // nothing new
  EXPECT_TRUE(LastKnown(path_).FindVersion("other"));
  std::filesystem::resize_file(path_, 20);
  EXPECT_EQ(VerifyKnown(path_).damaged, 1u);
  known.Mend();
  EXPECT_EQ(VerifyKnown(path_).damaged, 0u);
  EXPECT_EQ(VerifyKnown(path_).whole, 2u);
}

TEST_F(LastKnownTest, WithoutAFileNothingIsKnown) {
  LastKnown known("");
  known.NoteVersion("one", kVersion);
  EXPECT_FALSE(known.FindVersion("one"));
}

TEST_F(LastKnownTest, AStoreIsAwayUntilItAnswers) {
  LastKnown known("");
  EXPECT_FALSE(known.IsAway("bucket"));
  known.NoteAway("bucket");
  EXPECT_TRUE(known.IsAway("bucket"));
  EXPECT_FALSE(known.IsAway("other"));
  known.NoteAnswer("bucket");
  EXPECT_FALSE(known.IsAway("bucket"));
}

}  // namespace
}  // namespace penstock::store
