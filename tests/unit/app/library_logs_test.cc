#include "server/app/library_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace penstock::app {
namespace {

using ::testing::HasSubstr;

TEST(LibraryLogsTest, EachLineOfTextBecomesAnEvent) {
  std::FILE* const before = stderr;
  ::testing::internal::CaptureStderr();
  LogTextOnStderr();
  std::FILE* const ours = stderr;

  std::fprintf(stderr, "a library says \"%s\"\n\nand ", "x");
  std::fprintf(stderr, "more\n");
  stderr = before;
  std::fclose(ours);

  const std::string written = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(written, HasSubstr("level=error event=text text=\"a library says \\\"x\\\"\"\n"));
  EXPECT_THAT(written, HasSubstr("level=error event=text text=\"and more\"\n"));
}

}  // namespace
}  // namespace penstock::app
