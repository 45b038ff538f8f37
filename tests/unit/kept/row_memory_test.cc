// Tests that the memory of rows is left out of forks, and given back when they go.
#include "server/kept/row_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace penstock::kept {
namespace {

constexpr size_t kRow = 150 * base::kKiB + 1;

// The flags of the mapping that has this address, as in proc_pid_smaps(5); empty: there is none.
std::string FlagsOf(const std::byte* address) {
  const auto number = reinterpret_cast<uintptr_t>(address);
  std::ifstream maps("/proc/self/smaps");
  bool is_it = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t first = 0, end = 0;
    char dash = 0;
    std::istringstream range(line);
    if (range >> std::hex >> first >> dash >> end && dash == '-')
      is_it = first <= number && number < end;
    if (is_it && line.starts_with("VmFlags:")) return line + " ";
  }
  return "";
}

bool IsLeftOutOfForks(const std::byte* address) {
  return FlagsOf(address).find(" dc ") != std::string::npos;
}

// How many of the pages that lie within these bytes exist.
size_t PagesIn(std::byte* row, size_t bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto place = reinterpret_cast<uintptr_t>(row);
  const uintptr_t first = (place + page - 1) / page * page, end = (place + bytes) / page * page;
  std::vector<unsigned char> pages((end - first) / page);
  EXPECT_EQ(::mincore(row + (first - place), end - first, pages.data()), 0);
  return static_cast<size_t>(std::ranges::count_if(pages, [](auto each) { return each & 1; }));
}

TEST(RowMemoryTest, RowsAreLeftOutOfForks) {
  RowMemory memory;
  for (const size_t bytes : {size_t{0}, size_t{3}, kRow, RowMemory::kChunkBytes + 1})
    EXPECT_TRUE(IsLeftOutOfForks(memory.Take(bytes).get())) << bytes;
}

bool HoldsOnly(const std::byte* row, size_t bytes, int value) {
  const std::vector<std::byte> wanted(bytes, static_cast<std::byte>(value));
  return std::memcmp(row, wanted.data(), bytes) == 0;
}

TEST(RowMemoryTest, RowsDoNotOverlapWhateverTheirSizes) {
  RowMemory memory;
  std::vector<std::pair<std::shared_ptr<std::byte[]>, size_t>> rows;
  for (int i = 0; i < 600; ++i) {
    const size_t bytes = 1 + (static_cast<size_t>(i) * 7919 * 61) % (3 * kRow);
    rows.emplace_back(memory.Take(bytes), bytes);
    std::memset(rows.back().first.get(), i % 256, bytes);
  }
  for (int i = 0; i < 600; ++i)
    EXPECT_TRUE(HoldsOnly(rows[i].first.get(), rows[i].second, i % 256)) << i;
}

TEST(RowMemoryTest, ARowGivesItsPagesBackAndItsNeighboursKeepTheirs) {
  RowMemory memory;
  std::vector<std::shared_ptr<std::byte[]>> rows;
  for (int i = 0; i < 3; ++i) std::memset(rows.emplace_back(memory.Take(kRow)).get(), i + 1, kRow);
  std::byte* const middle = rows[1].get();
  EXPECT_GE(PagesIn(middle, kRow), kRow / 4096 - 1);

  rows[1].reset();

  EXPECT_EQ(PagesIn(middle, kRow), 0u);
  for (const int i : {0, 2}) EXPECT_TRUE(HoldsOnly(rows[i].get(), kRow, i + 1)) << i;
}

TEST(RowMemoryTest, SmallRowsGiveTheirPagesBackTogether) {
  constexpr size_t kSmall = 1000;
  RowMemory memory;
  std::vector<std::shared_ptr<std::byte[]>> rows;
  for (int i = 0; i < 1000; ++i)
    std::memset(rows.emplace_back(memory.Take(kSmall)).get(), i % 256, kSmall);
  std::byte* const first = rows.front().get();
  const size_t all = static_cast<size_t>(rows.back().get() - first);

  for (int i = 0; i < 1000; i += 2) rows[i].reset();
  EXPECT_EQ(PagesIn(first, all), all / 4096);
  for (int i = 1; i < 1000; i += 2) EXPECT_TRUE(HoldsOnly(rows[i].get(), kSmall, i % 256)) << i;

  for (int i = 0; i < 999; ++i) rows[i].reset();
  EXPECT_LE(PagesIn(first, all), 1u);
  EXPECT_TRUE(HoldsOnly(rows[999].get(), kSmall, 999 % 256));
}

// The page in which the next row will begin may go, too.
TEST(RowMemoryTest, ARowThatBeginsWhereOthersWentIsAsWritten) {
  RowMemory memory;
  auto first = memory.Take(100);
  std::memset(first.get(), 1, 100);
  first.reset();
  const auto second = memory.Take(100);
  std::memset(second.get(), 2, 100);
  memory.Take(100).reset();

  EXPECT_TRUE(HoldsOnly(second.get(), 100, 2));
}

TEST(RowMemoryTest, ManyThreadsTakeAndGiveBackAtOnce) {
  RowMemory memory;
  std::vector<std::thread> threads;
  for (int number = 1; number <= 4; ++number)
    threads.emplace_back([&memory, number] {
      std::vector<std::shared_ptr<std::byte[]>> rows(16);
      for (size_t i = 0; i < 4000; ++i) {
        const size_t bytes = 1 + i * 131 % 9000;
        auto& row = rows[i % rows.size()];
        row = memory.Take(bytes);
        std::memset(row.get(), number, bytes);
        EXPECT_TRUE(HoldsOnly(row.get(), bytes, number));
        const auto& other = rows[i * 7 % rows.size()];
        EXPECT_TRUE(other == nullptr || other[0] == static_cast<std::byte>(number));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(RowMemoryTest, AChunkEndsWithItsLastRowAlsoAfterTheMemoryDid) {
  auto memory = std::make_unique<RowMemory>();
  auto first = memory->Take(kRow), second = memory->Take(kRow);
  const std::byte* const address = first.get();
  memory.reset();
  first.reset();
  EXPECT_TRUE(IsLeftOutOfForks(address));

  second.reset();

  EXPECT_FALSE(IsLeftOutOfForks(address));
}

}  // namespace
}  // namespace penstock::kept
