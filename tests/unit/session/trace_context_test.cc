#include "server/session/trace_context.h"

#include <gtest/gtest.h>

namespace penstock::session {
namespace {

// The standard's own example.
constexpr char kExample[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceContextTest, TheStandardsExampleIsRead) {
  const auto context = ParseTraceParent(kExample);

  ASSERT_TRUE(context);
  EXPECT_EQ(context->trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(context->parent_id, "00f067aa0ba902b7");
}

TEST(TraceContextTest, ALaterVersionMayAppendMore) {
  const std::string later = "cc" + std::string(kExample).substr(2);

  EXPECT_TRUE(ParseTraceParent(later));
  EXPECT_TRUE(ParseTraceParent(later + "-what-the-future-brings"));
  EXPECT_FALSE(ParseTraceParent(later + "x"));
  EXPECT_FALSE(ParseTraceParent(std::string(kExample) + "-more"));
}

TEST(TraceContextTest, WhatTheStandardForbidsIsIgnored) {
  for (const char* text : {"", "00", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                           "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                           "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                           "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                           "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
                           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
                           "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
                           "0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g"})
    EXPECT_FALSE(ParseTraceParent(text)) << text;
}

}  // namespace
}  // namespace penstock::session
