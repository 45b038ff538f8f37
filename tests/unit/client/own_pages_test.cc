#include "client/src/core/own_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "common/posix/memory.h"

namespace penstock::client {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kPages = 10000;  // more than one read of the page map
constexpr size_t kLooked = 16;

class OwnPagesTest : public ::testing::Test {
 protected:
  OwnPagesTest() { std::memset(file_.data(), 1, file_.size()); }

  // Whether the page is in the process's page tables.
  bool IsMapped(size_t page) {
    std::FILE* const pagemap = std::fopen("/proc/self/pagemap", "r");
    uint64_t entry = 0;
    std::fseek(pagemap,
               static_cast<long>(reinterpret_cast<uintptr_t>(view_.data()) / kPage + page) * 8,
               SEEK_SET);
    EXPECT_EQ(std::fread(&entry, sizeof(entry), 1, pagemap), 1u);
    std::fclose(pagemap);
    return entry >> 63 != 0;
  }
  // Of the first bytes of every page, which the tests write to.
  uint64_t Sum() {
    uint64_t sum = 0;
    for (size_t page = 0; page < kPages; ++page)
      for (size_t i = 0; i < kLooked; ++i)
        sum += static_cast<uint64_t>(view_.data()[page * kPage + i]);
    return sum;
  }

  const posix::Fd memory_ = posix::MakeMemory("own-pages", kPages* kPage).value();
  const posix::Mapping file_ =
      posix::Mapping::Map(memory_, kPages* kPage, posix::Access::kReadWrite).value();
  const posix::Mapping view_ =
      posix::Mapping::MapPrivately(posix::ReadOnlyView(memory_).value(), 0, kPages* kPage).value();
  const OwnPages own_pages_;
};

TEST_F(OwnPagesTest, PagesThatWereWrittenToShowTheFileAgain) {
  for (const size_t page :
       {size_t{0}, size_t{1}, size_t{4095}, size_t{4096}, size_t{5000}, kPages - 1})
    view_.data()[page * kPage + 7] = std::byte{200};
  EXPECT_EQ(Sum(), kPages * kLooked + 6 * 199);

  ASSERT_TRUE(own_pages_.Drop(view_.bytes()).ok());

  EXPECT_EQ(Sum(), kPages * kLooked);
}

TEST_F(OwnPagesTest, PagesThatWereOnlyReadStayMapped) {
  EXPECT_EQ(Sum(), kPages * kLooked);
  view_.data()[5 * kPage] = std::byte{200};

  ASSERT_TRUE(own_pages_.Drop(view_.bytes()).ok());

  EXPECT_TRUE(IsMapped(4));
  EXPECT_FALSE(IsMapped(5));
  EXPECT_TRUE(IsMapped(6));
}

TEST_F(OwnPagesTest, APartOfAMappingMayEndWithinAPage) {
  view_.data()[kPage + 10] = std::byte{200};
  view_.data()[3 * kPage] = std::byte{200};

  ASSERT_TRUE(own_pages_.Drop(view_.bytes().first(kPage + 11)).ok());

  EXPECT_EQ(Sum(), kPages * kLooked + 199);
}

TEST_F(OwnPagesTest, TheFileIsNeverWritten) {
  std::memset(view_.data(), 9, view_.size());

  ASSERT_TRUE(own_pages_.Drop(view_.bytes()).ok());

  EXPECT_EQ(std::memcmp(view_.data(), file_.data(), file_.size()), 0);
  EXPECT_EQ(file_.data()[0], std::byte{1});
}

}  // namespace
}  // namespace penstock::client
