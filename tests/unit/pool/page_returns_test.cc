// Tests that memory is given back by a thread, all of it, whatever ends first.
#include "server/pool/page_returns.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <vector>

namespace penstock::pool {
namespace {

constexpr size_t kBytes = 1 << 20;

// Memory whose pages are all there.
MappedMemory FullMemory() {
  MappedMemory memory = {.memory = posix::MakeMemory("test", kBytes).value(), .bytes = kBytes};
  memory.mapping = posix::Mapping::Map(memory.memory, kBytes, posix::Access::kReadWrite).value();
  std::memset(memory.mapping.data(), 'x', kBytes);
  return memory;
}

uint64_t PagesOf(const posix::Fd& memory) {
  struct stat status;
  EXPECT_EQ(::fstat(memory.get(), &status), 0);
  return static_cast<uint64_t>(status.st_blocks) * 512;
}

TEST(PageReturnsTest, MemoryThatOthersHaveOpenLosesItsPages) {
  PageReturns returns;
  std::vector<posix::Fd> theirs;
  for (int i = 0; i < 20; ++i) {
    MappedMemory memory = FullMemory();
    theirs.push_back(memory.memory.Duplicate().value());
    returns.Take(std::move(memory));
  }

  returns.Wait();

  EXPECT_EQ(returns.bytes(), 0u);
  for (const posix::Fd& each : theirs) EXPECT_EQ(PagesOf(each), 0u);
}

TEST(PageReturnsTest, WhatIsOnItsWayIsCounted) {
  PageReturns returns;
  EXPECT_EQ(returns.bytes(), 0u);
  uint64_t most = 0;
  for (int round = 0; round < 1000 && most == 0; ++round) {  // the thread may be faster
    returns.Take(FullMemory());
    most = returns.bytes();
  }
  EXPECT_EQ(most, kBytes);
  returns.Wait();
  EXPECT_EQ(returns.bytes(), 0u);
}

TEST(PageReturnsTest, MemoryThatIsNotMappedIsClosed) {
  PageReturns returns;
  returns.Take({.memory = posix::MakeMemory("test", kBytes).value(), .bytes = kBytes});
  returns.Wait();
  EXPECT_EQ(returns.bytes(), 0u);
}

// The thread may be in the middle of the first one, or be done already.
TEST(PageReturnsTest, WhoeverNeedsItGivesAllOfItBack) {
  for (int round = 0; round < 50; ++round) {
    PageReturns returns;
    std::vector<posix::Fd> theirs;
    for (int i = 0; i < 8; ++i) {
      MappedMemory memory = FullMemory();
      theirs.push_back(memory.memory.Duplicate().value());
      returns.Take(std::move(memory));
    }

    returns.Hurry();

    EXPECT_EQ(returns.bytes(), 0u);
    for (const posix::Fd& each : theirs) ASSERT_EQ(PagesOf(each), 0u);
    MappedMemory more = FullMemory();
    const posix::Fd later = more.memory.Duplicate().value();
    returns.Take(std::move(more));
    returns.Wait();
    EXPECT_EQ(returns.bytes(), 0u);
    EXPECT_EQ(PagesOf(later), 0u);
  }
}

// As the pool's preallocated memory has.
TEST(PageReturnsTest, PagesThatWereNeverWrittenReturnToo) {
  constexpr uint64_t kPieces = uint64_t{10} << 20;
  MappedMemory memory = {.memory = posix::MakeMemory("test", kPieces).value(), .bytes = kPieces};
  ASSERT_EQ(::fallocate(memory.memory.get(), 0, 0, kPieces), 0);
  const posix::Fd theirs = memory.memory.Duplicate().value();
  ASSERT_EQ(PagesOf(theirs), kPieces);
  PageReturns returns;

  returns.Take(std::move(memory));
  returns.Wait();

  EXPECT_EQ(PagesOf(theirs), 0u);
}

TEST(PageReturnsTest, MemoryOfManyPiecesLosesAllPages) {
  constexpr uint64_t kLarge = uint64_t{1} << 33;
  MappedMemory memory = {.memory = posix::MakeMemory("test", kLarge).value(), .bytes = kBytes};
  memory.mapping = posix::Mapping::Map(memory.memory, kLarge, posix::Access::kReadWrite).value();
  for (uint64_t at = 0; at < kLarge; at += kLarge / 64)
    std::memset(memory.mapping.data() + at, 'x', 9 << 12);
  const posix::Fd theirs = memory.memory.Duplicate().value();
  PageReturns returns;

  returns.Take(std::move(memory));
  returns.Wait();

  EXPECT_EQ(PagesOf(theirs), 0u);
}

TEST(PageReturnsTest, ItMayEndWithMuchToDo) {
  for (int round = 0; round < 20; ++round) {
    PageReturns returns;
    for (int i = 0; i < round; ++i) returns.Take(FullMemory());
  }
}

}  // namespace
}  // namespace penstock::pool
