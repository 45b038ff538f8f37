// Files that a killed process leaves next to a state file.
#include "server/source/state/state_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include "common/posix/fd.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::source {
namespace {

absl::Status WriteText(const std::string& path, const std::string& text) {
  return WriteStateFile(path, std::as_bytes(std::span(text)));
}

TEST(StateFileTest, WhatAKilledProcessLeftIsRemovedByTheNextWrite) {
  const testing::TempFolder folder;
  const std::string path = folder.At("list");
  folder.Write("list.new.1.1", "half");
  folder.Write("listed.new.1.1", "of another file");

  ASSERT_TRUE(WriteText(path, "whole").ok());

  EXPECT_EQ(ReadStateFile(path, 100).value(), "whole");
  EXPECT_FALSE(std::filesystem::exists(folder.At("list.new.1.1")));
  EXPECT_TRUE(std::filesystem::exists(folder.At("listed.new.1.1")));
}

TEST(StateFileTest, ReadingRemovesItToo) {
  const testing::TempFolder folder;
  folder.Write("list.new.1.1", "half");

  EXPECT_TRUE(absl::IsNotFound(ReadStateFile(folder.At("list"), 100).status()));

  EXPECT_FALSE(std::filesystem::exists(folder.At("list.new.1.1")));
}

TEST(StateFileTest, WhatAProcessStillWritesStays) {
  const testing::TempFolder folder;
  folder.Write("list.new.1.1", "half");
  const posix::Fd writer(::open(folder.At("list.new.1.1").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(writer.get(), LOCK_EX | LOCK_NB), 0);

  ASSERT_TRUE(WriteText(folder.At("list"), "whole").ok());

  EXPECT_TRUE(std::filesystem::exists(folder.At("list.new.1.1")));
}

}  // namespace
}  // namespace penstock::source
