#include "common/posix/tcp.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock::posix {
namespace {

TEST(TcpAddressTest, WhatIsNoNumbersAddressWithAPortIsRefusedAndQuoted) {
  for (const std::string text :
       {"", ":", "7741", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536",
        "127.0.0.1:-1", "127.0.0.1: 7", "127.0.0.1:7741x", "localhost:7741", "::1:7741", "[::1]",
        "[::1", "[]:1", "[127.0.0.1]:1", "256.0.0.1:1", "127.0.0.1:99999999999"}) {
    const absl::Status refused = ParseTcpAddress(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << text;
    EXPECT_NE(refused.message().find(absl::StrCat("'", text, "'")), absl::string_view::npos);
  }
}

TEST(TcpAddressTest, BothKindsOfNumbersAreReadAndWrittenAlike) {
  for (const std::string text : {"127.0.0.1:7741", "0.0.0.0:1", "[::1]:7741", "[::]:65535"}) {
    const auto address = ParseTcpAddress(text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->ToString(), text);
    EXPECT_EQ(address->v6, text[0] == '[');
  }
}

}  // namespace
}  // namespace penstock::posix
