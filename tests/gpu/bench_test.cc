// Runs the suite of penstock-bench that needs a GPU, at small size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/programs/program.h"

namespace penstock {
namespace {

TEST(CopyBenchTest, RunsAndComparesWithAPlainPinnedCopy) {
  const testing::Ended ended = testing::RunProgram("penstock-bench", {"copy", "--small"});

  EXPECT_EQ(ended.exit_code, 0) << ended.output;
  EXPECT_THAT(ended.output, ::testing::HasSubstr("a plain pinned copy, a batch of 38.5 MB"));
  EXPECT_THAT(ended.output, ::testing::HasSubstr("decoded on the GPU"));  // or why not
  std::printf("%s", ended.output.c_str());
}

}  // namespace
}  // namespace penstock
