// The error for an invalid configuration.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "server/app/config/config.h"

namespace penstock::app {

// Returns the error message, which must be one line, or "not refused". The file name is "p.yaml".
inline std::string Refusal(const std::string& text) {
  const auto config = ParseConfig(text, "p.yaml");
  if (config.ok()) return "not refused";
  EXPECT_TRUE(absl::IsInvalidArgument(config.status())) << config.status();
  const std::string message(config.status().message());
  EXPECT_EQ(message.find('\n'), std::string::npos) << "more than one line: " << message;
  return message;
}

}  // namespace penstock::app
