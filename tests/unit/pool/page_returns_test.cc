// Tests that memory is given back by a thread, all of it, whatever ends first.
#include "server/pool/page_returns.h"

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

TEST(PageReturnsTest, ItMayEndWithMuchToDo) {
  for (int round = 0; round < 20; ++round) {
    PageReturns returns;
    for (int i = 0; i < round; ++i) returns.Take(FullMemory());
  }
}

}  // namespace
}  // namespace penstock::pool
