#include "server/app/config/log_format.h"

#include <gtest/gtest.h>

namespace penstock::app {
namespace {

TEST(LogFormatTest, JsonIsFoundHoweverItIsWritten) {
  for (const char* yaml :
       {"log: {format: json}\n", "log: {level: info, format: \"json\"}", "log:\n  format: json\n",
        "pool: {max: 1}\nlog:\n  level: debug\n\n  # a comment\n  format: 'json'  # and why\nx: "
        "1\n"})
    EXPECT_TRUE(AsksForJsonLogs(yaml)) << yaml;
}

TEST(LogFormatTest, ItIsFoundInAFileThatIsOtherwiseInvalid) {
  EXPECT_TRUE(AsksForJsonLogs("pool: {max: [}\nlog: {format: json}\nnonsense"));
}

TEST(LogFormatTest, NothingElseIsTakenForIt) {
  for (const char* yaml :
       {"", "log: {format: text}\n", "log:\n  level: info\n", "# log: {format: json}\n",
        "log:\n  # format: json\n", "log: {format: text} # format: json\n",
        "log: {format: jsonx}\n", "datasets: [{name: a, tokens: {format: json}}]\n",
        "log: {}\ntokens:\n  format: json\n", "blog: {format: json}\n"})
    EXPECT_FALSE(AsksForJsonLogs(yaml)) << yaml;
}

TEST(LogFormatTest, AFileThatIsNotThereAsksForNothing) {
  EXPECT_FALSE(FileAsksForJsonLogs("/nowhere/penstock.yaml"));
  EXPECT_FALSE(FileAsksForJsonLogs("/"));
}

}  // namespace
}  // namespace penstock::app
