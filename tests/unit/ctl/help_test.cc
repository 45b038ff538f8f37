// The help and the manual page of each command: all are there, and both say the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/ctl/command_table.h"
#include "client/ctl/help/page.h"

namespace penstock::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string FirstWord(const std::string& words) { return words.substr(0, words.find(' ')); }

// A manual page's text as a reader sees it, roughly: without requests and escapes.
std::string Read(const std::string& page) {
  std::string text;
  for (const absl::string_view line : absl::StrSplit(page, '\n'))
    if (!absl::StartsWith(line, ".")) absl::StrAppend(&text, line, "\n");
  return absl::StrReplaceAll(
      text, {{"\\-", "-"}, {"\\fB", ""}, {"\\fR", ""}, {"\\&", ""}, {"\\e", "\\"}});
}

// The text as one line, because help is wrapped and a page is not.
std::string Unwrapped(const std::string& text) {
  const std::vector<std::string> words =
      absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  return absl::StrJoin(words, " ");
}

TEST(HelpTest, EveryCommandHasATopicAndEveryTopicIsACommand) {
  std::set<std::string> commands, topics;
  for (const CommandForm& form : Commands()) commands.insert(FirstWord(form.words));
  for (const HelpTopic& topic : HelpTopics()) topics.insert(topic.name);

  EXPECT_EQ(topics, commands);
}

TEST(HelpTest, EveryTopicHasUsageTextAndAnExample) {
  for (const HelpTopic& topic : HelpTopics()) {
    EXPECT_FALSE(topic.usage.empty()) << topic.name;
    EXPECT_FALSE(topic.paragraphs.empty()) << topic.name;
    EXPECT_FALSE(topic.examples.empty()) << topic.name;
    for (const char* const usage : topic.usage) EXPECT_EQ(FirstWord(usage), topic.name);
  }
}

TEST(HelpTest, ATopicHasTheOptionsOfItsCommandsAndNoOther) {
  for (const HelpTopic& topic : HelpTopics()) {
    std::set<std::string> wanted, there;
    for (const CommandForm& form : Commands()) {
      if (FirstWord(form.words) != topic.name) continue;
      for (const OptionForm& option : Options())
        if (IsOwnOption(option, form.words)) wanted.insert(option.name);
    }
    for (const HelpOption& option : topic.options)
      for (const absl::string_view word : absl::StrSplit(option.form, ' '))
        if (absl::StartsWith(word, "--")) there.insert(std::string(word));

    EXPECT_EQ(there, wanted) << topic.name;
  }
}

TEST(HelpTest, TheExamplesAreCallsThatTheParserTakes) {
  for (const HelpTopic& topic : HelpTopics()) {
    for (const HelpExample& example : topic.examples) {
      std::string line = example.line;
      const size_t at = line.find("penstockctl ");
      ASSERT_NE(at, std::string::npos) << line;
      line = line.substr(at + 12);
      line = line.substr(0, line.find_first_of("|&>)"));
      const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
      EXPECT_TRUE(ParseCommandLine(words).ok()) << example.line << ParseCommandLine(words).status();
    }
  }
}

TEST(HelpTest, AHelpFitsEightyColumns) {
  for (const HelpTopic& topic : HelpTopics())
    for (const absl::string_view line : absl::StrSplit(HelpText(topic), '\n'))
      EXPECT_LE(line.size(), 80u) << topic.name << ": " << line;
}

TEST(HelpTest, TheManualPageSaysWhatTheHelpSays) {
  for (const HelpTopic& topic : HelpTopics()) {
    const std::string help = Unwrapped(HelpText(topic));
    const std::string page = Unwrapped(Read(ManPage(topic)));

    std::vector<std::string> said = {topic.summary};
    for (const char* const usage : topic.usage) said.push_back(usage);
    for (const char* const paragraph : topic.paragraphs) said.push_back(paragraph);
    for (const HelpOption& option : topic.options)
      said.insert(said.end(), {option.form, option.what});
    for (const HelpExample& each : topic.examples) said.insert(said.end(), {each.line, each.what});
    for (const std::string& text : said) {
      EXPECT_THAT(help, HasSubstr(Unwrapped(text))) << topic.name;
      EXPECT_THAT(page, HasSubstr(Unwrapped(text))) << topic.name;
    }
  }
}

TEST(HelpTest, NoWordOfATopicIsARequestOfAManualPage) {
  const HelpTopic topic = {.name = "x",
                           .summary = ".so /etc/passwd",
                           .usage = {".It"},
                           .paragraphs = {"'tis \\fBbold -"},
                           .examples = {{".TH", "x"}}};
  const std::string page = ManPage(topic);

  EXPECT_THAT(page, HasSubstr("\\&'tis \\efBbold \\-\n"));
  EXPECT_THAT(page, HasSubstr("\n\\&.TH\n"));
  EXPECT_THAT(page, Not(HasSubstr("\n.It")));
}

}  // namespace
}  // namespace penstock::ctl
