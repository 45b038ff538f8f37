// Tests that the memory of rows is left out of forks, and given back when they go.
#include "server/kept/row_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
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

size_t PagesOf(std::byte* row, size_t bytes) {
  std::vector<unsigned char> pages(bytes / 4096);
  EXPECT_EQ(::mincore(row, pages.size() * 4096, pages.data()), 0);
  size_t count = 0;
  for (const unsigned char page : pages) count += page & 1;
  return count;
}

TEST(RowMemoryTest, LargeRowsAreLeftOutOfForks) {
  RowMemory memory;
  EXPECT_TRUE(IsLeftOutOfForks(memory.Take(kRow).get()));
  EXPECT_TRUE(IsLeftOutOfForks(memory.Take(RowMemory::kLeast).get()));
  EXPECT_TRUE(IsLeftOutOfForks(memory.Take(RowMemory::kChunkBytes + 1).get()));
  EXPECT_FALSE(IsLeftOutOfForks(memory.Take(100).get()));
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
  EXPECT_EQ(PagesOf(middle, kRow), kRow / 4096);

  rows[1].reset();

  EXPECT_EQ(PagesOf(middle, kRow), 0u);
  for (const int i : {0, 2}) EXPECT_TRUE(HoldsOnly(rows[i].get(), kRow, i + 1)) << i;
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
