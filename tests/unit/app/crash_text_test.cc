#include "server/app/crash_text.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace penstock::app {
namespace {

std::string ToString(const CrashText& text) { return {text.data(), text.size()}; }

TEST(CrashTextTest, NumbersAreWrittenInBothBases) {
  const auto text = std::make_unique<CrashText>();

  text->AddNumber(0).Add(" ").AddNumber(UINT64_MAX).Add(" ").AddHex(0x7f01a);

  EXPECT_EQ(ToString(*text), "0 18446744073709551615 0x7f01a");
}

TEST(CrashTextTest, NamesStayOneJsonString) {
  const auto text = std::make_unique<CrashText>();

  text->AddJson("operator\"\"_x(\\\n)");

  EXPECT_EQ(ToString(*text), "operator\\\"\\\"_x(\\\\ )");
}

TEST(CrashTextTest, WhatDoesNotFitIsCut) {
  const auto text = std::make_unique<CrashText>();
  const std::string part(1000, 'x');

  for (int i = 0; i < 100; ++i) text->Add(part.c_str());

  EXPECT_EQ(text->size(), size_t{64} << 10);
}

}  // namespace
}  // namespace penstock::app
