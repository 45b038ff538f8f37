#include "common/posix/memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace penstock::posix {
namespace {

constexpr size_t kBytes = 3 * 4096;

Fd Memory() {
  auto memory = MakeMemory("test", kBytes);
  EXPECT_TRUE(memory.ok()) << memory.status();
  return std::move(memory).value();
}

TEST(MemoryTest, NoBytesAndTooManyAreRefused) {
  EXPECT_EQ(MakeMemory("none", 0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeMemory("huge", size_t{1} << 63).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(MemoryTest, ItCanBeNeitherShrunkNorGrownNorSealedFurther) {
  const Fd memory = Memory();

  EXPECT_NE(::ftruncate(memory.get(), kBytes - 4096), 0);
  EXPECT_NE(::ftruncate(memory.get(), kBytes + 4096), 0);
  EXPECT_NE(::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_WRITE), 0);
  EXPECT_EQ(*SizeOf(memory), kBytes);
}

TEST(MemoryTest, NobodyElseMayOpenItAndNoChildInheritsIt) {
  const Fd memory = Memory();
  struct stat status;

  ASSERT_EQ(::fstat(memory.get(), &status), 0);

  EXPECT_EQ(status.st_mode & 07777, 0600u);
  EXPECT_EQ(::fcntl(memory.get(), F_GETFD), FD_CLOEXEC);
}

TEST(MemoryTest, AReadOnlyViewCanBeNeitherWrittenNorMappedWritable) {
  const Fd memory = Memory();
  const auto view = ReadOnlyView(memory);
  ASSERT_TRUE(view.ok()) << view.status();

  EXPECT_EQ(::write(view->get(), "x", 1), -1);
  EXPECT_EQ(Mapping::Map(*view, kBytes, Access::kReadWrite).status().code(),
            absl::StatusCode::kPermissionDenied);
  const auto mapping = Mapping::Map(*view, kBytes, Access::kReadOnly);
  ASSERT_TRUE(mapping.ok()) << mapping.status();
  EXPECT_NE(::mprotect(mapping->data(), kBytes, PROT_READ | PROT_WRITE), 0);
}

TEST(MemoryTest, AViewShowsWhatTheOwnerWrites) {
  const Fd memory = Memory();
  const auto view = ReadOnlyView(memory);
  ASSERT_TRUE(view.ok());
  const auto ours = Mapping::Map(memory, kBytes, Access::kReadWrite);
  const auto theirs = Mapping::Map(*view, kBytes, Access::kReadOnly);
  ASSERT_TRUE(ours.ok() && theirs.ok());

  ours->data()[kBytes - 1] = std::byte{42};

  EXPECT_EQ(theirs->data()[kBytes - 1], std::byte{42});
  EXPECT_EQ(theirs->data()[0], std::byte{0});
}

TEST(MemoryTest, PagesThatWereWrittenAreFoundUntilTheyAreGivenBack) {
  constexpr size_t kPage = 4096, kPages = 100;
  const Fd memory = MakeMemory("test", kPages * kPage).value();
  EXPECT_EQ(FindPages(memory, 0), std::nullopt);
  const auto mapping = Mapping::Map(memory, kPages * kPage, Access::kReadWrite);
  mapping->data()[7 * kPage + 1] = std::byte{1};
  mapping->data()[90 * kPage] = std::byte{1};

  EXPECT_EQ(FindPages(memory, 0), 7 * kPage);
  EXPECT_EQ(FindPages(memory, 8 * kPage), 90 * kPage);
  EXPECT_EQ(FindPages(memory, 91 * kPage), std::nullopt);
  ASSERT_TRUE(GiveBackPages(memory, 0, 50 * kPage).ok());
  EXPECT_EQ(FindPages(memory, 0), 90 * kPage);
}

TEST(MappingTest, MoreThanThereIsCannotBeMapped) {
  const Fd memory = Memory();

  EXPECT_EQ(Mapping::Map(memory, kBytes + 1, Access::kReadOnly).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Mapping::Map(memory, 0, Access::kReadOnly).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(MappingTest, MovingLeavesNothingBehind) {
  const Fd memory = Memory();
  auto first = Mapping::Map(memory, kBytes, Access::kReadWrite);
  ASSERT_TRUE(first.ok());

  const Mapping second = std::move(*first);

  EXPECT_EQ(first->data(), nullptr);
  EXPECT_EQ(first->size(), 0u);
  EXPECT_EQ(second.bytes().size(), kBytes);
}

}  // namespace
}  // namespace penstock::posix
