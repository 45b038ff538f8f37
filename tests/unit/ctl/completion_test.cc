// Compares the hand-written completion scripts with the parser's tables.
#include "client/ctl/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/ctl/command_table.h"

namespace penstock::ctl {
namespace {

using ::testing::HasSubstr;
using Words = std::set<std::string>;

const std::string kBash(Completion("bash"));
const std::string kZsh(Completion("zsh"));
const std::string kFish(Completion("fish"));

// The first group of every match.
Words Found(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  Words found;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at)
    found.insert((*at)[1]);
  return found;
}

// The first group of the first match.
std::string First(const std::string& text, const std::string& pattern) {
  std::smatch match;
  return std::regex_search(text, match, std::regex(pattern)) ? match[1].str() : "no match";
}

std::string LineWith(const std::string& text, const std::string& words) {
  for (const absl::string_view line : absl::StrSplit(text, '\n'))
    if (absl::StrContains(line, words)) return std::string(line);
  return absl::StrCat("no line has: ", words);
}

Words Split(const std::string& words) { return absl::StrSplit(words, ' ', absl::SkipEmpty()); }

Words FirstWords() {
  Words words;
  for (const CommandForm& form : Commands())
    words.insert(std::vector<std::string>(absl::StrSplit(form.words, ' ')).front());
  return words;
}

// The names, and the letters if `letters`, of the options that `command` takes and not all do; with
// "", of those that all commands take.
Words OptionsOf(const std::string& command, bool letters) {
  Words names;
  for (const OptionForm& option : Options()) {
    const bool common = *option.only_with == '\0';
    if (command.empty() ? !common : !IsOwnOption(option, command)) continue;
    names.insert(option.name);
    if (letters && *option.letter != '\0') names.insert(option.letter);
  }
  return names;
}

Words AllOptions() {
  Words names;
  for (const OptionForm& option : Options()) names.insert(option.name);
  return names;
}

Words CommandsWithOptions() {
  Words commands;
  for (const CommandForm& form : Commands())
    if (!OptionsOf(form.words, false).empty()) commands.insert(form.words);
  return commands;
}

Words OptionsWithValues(bool letters) {
  Words names;
  for (const OptionForm& option : Options()) {
    if (option.value == Value::kNone) continue;
    names.insert(option.name);
    if (letters && *option.letter != '\0') names.insert(option.letter);
  }
  return names;
}

Words CommandsWithDatasets() {
  Words commands;
  for (const CommandForm& form : Commands())
    if (form.word == Word::kDataset || form.word == Word::kMaybeDataset)
      commands.insert(form.words);
  return commands;
}

TEST(CompletionTest, EveryScriptHasEveryOptionAndNoOther) {
  const std::string asked = "[^\n]*timeout 2[^\n]*";  // the scripts' own call of penstockctl
  for (const std::string& script : {kBash, kZsh})
    EXPECT_EQ(Found(std::regex_replace(script, std::regex(asked), ""), "(--[a-z]+)"), AllOptions());

  Words names;
  for (const std::string& name : Found(kFish, "\ncomplete [^\n]* -l ([a-z]+)"))
    names.insert(absl::StrCat("--", name));
  EXPECT_EQ(names, AllOptions());
}

TEST(CompletionTest, EveryScriptHasEveryCommandAndNoOther) {
  EXPECT_EQ(Split(First(kBash, "\n    ''\\) _penstockctl_of '([^']*)'")), FirstWords());
  EXPECT_EQ(Found(kZsh, "\n    '([a-z]+):"), FirstWords());
  EXPECT_EQ(Found(kFish, "__penstockctl_at \"\"' -a ([a-z]+) "), FirstWords());
}

TEST(CompletionTest, TheSecondWordIsOneOfTheCommandsThatBeginWithTheFirst) {
  for (const std::string first : {"quarantine", "cache"}) {
    Words second;
    for (const CommandForm& form : Commands())
      if (absl::StartsWith(form.words, first + " "))
        second.insert(std::string(form.words).substr(first.size() + 1));

    EXPECT_EQ(Split(First(kBash, "\n    " + first + "\\) _penstockctl_of '([^']*)'")), second);
    EXPECT_EQ(Split(First(kZsh, " " + first + "\\) [^\n]*'1:command:\\(([^)]*)\\)")), second);
    EXPECT_EQ(Found(kFish, "__penstockctl_at " + first + "' -a ([a-z]+) "), second);
  }
}

TEST(CompletionTest, AnOptionIsOfferedToTheCommandThatTakesIt) {
  EXPECT_EQ(Split(First(kBash, "\n    options='([^']*)'")), OptionsOf("", true));
  EXPECT_EQ(Found(kBash, "\n      '([a-z ]+)'\\) options\\+="), CommandsWithOptions());
  for (const std::string& command : CommandsWithOptions()) {
    EXPECT_EQ(Split(First(kBash, "'" + command + "'\\) options\\+='([^']*)'")),
              OptionsOf(command, true));
    const Words own = OptionsOf(command, false);
    const std::string first = command.substr(0, command.find(' '));  // zsh offers it there
    Words in_zsh = Found(LineWith(kZsh, "        " + first + ") "), "(--[a-z]+)");
    in_zsh.erase("--output");  // `trace` has its own --output, which takes a file name
    EXPECT_EQ(in_zsh, own);
    Words in_fish = Found(kFish, "-n '__penstockctl_at " + command + "' [^\n]*-l ([a-z]+)");
    in_fish.erase("output");
    for (const std::string& name : in_fish) EXPECT_EQ(own.count("--" + name), 1u) << name;
    EXPECT_EQ(in_fish.size(), own.size());
  }
}

TEST(CompletionTest, TheWordAfterAnOptionWithAValueIsNoCommand) {
  const Words with_letters = OptionsWithValues(true);

  EXPECT_EQ(Found(First(kBash, "\n      ([^\n]*)\\) wants=\\$word"), "(-[a-z-]+)"), with_letters);
  EXPECT_EQ(Found(First(kFish, "\n            case (--[^\n]*)\n"), "(--?[a-z]+)"), with_letters);
  EXPECT_EQ(Found(kZsh, "(--[a-z]+)="), OptionsWithValues(false));
}

TEST(CompletionTest, ChoicesAreThoseOfTheParser) {
  for (const auto& choices : {absl::StrJoin(kFormats, " "), absl::StrJoin(kConditions, " "),
                              absl::StrJoin(kColorChoices, " "), absl::StrJoin(kShells, " ")}) {
    EXPECT_THAT(kBash, HasSubstr(absl::StrCat("'", choices, "'")));
    EXPECT_THAT(kZsh, HasSubstr(absl::StrCat("(", choices, ")")));
    EXPECT_THAT(kFish, HasSubstr(absl::StrCat("-a '", choices, "'")));
  }
}

TEST(CompletionTest, HelpIsOfferedForEveryCommand) {
  const std::string in_bash = First(kBash, "\n    help\\) _penstockctl_of '([^']*)'");

  EXPECT_EQ(Split(in_bash), FirstWords());
  EXPECT_THAT(LineWith(kZsh, "        help) "), HasSubstr(absl::StrCat(":(", in_bash, ")")));
  EXPECT_THAT(kFish, HasSubstr(absl::StrCat("__penstockctl_at help' -a '", in_bash, "'")));
}

TEST(CompletionTest, DatasetsAreOfferedToTheCommandsThatTakeOne) {
  EXPECT_EQ(Found(LineWith(kBash, ") _penstockctl_of \"$(_penstockctl_datasets"), "'([a-z ]+)'"),
            CommandsWithDatasets());
  EXPECT_EQ(Found(kFish, "__penstockctl_at ([a-z ]+)' -a '\\(__penstockctl_datasets"),
            CommandsWithDatasets());
  for (const std::string& command : CommandsWithDatasets()) {
    const std::string first = *Split(command).begin();
    if (first != command) continue;
    EXPECT_THAT(LineWith(kZsh, "        " + first + ") "), HasSubstr(":_penstockctl_datasets"));
  }
  EXPECT_THAT(LineWith(kZsh, "        quarantine) "),
              HasSubstr("'2:dataset:_penstockctl_datasets"));
}

}  // namespace
}  // namespace penstock::ctl
