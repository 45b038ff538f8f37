#include "client/ctl/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/ctl/command_table.h"

namespace penstock::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The error message for invalid arguments; expects that it is one line.
std::string WordsTo(const std::vector<std::string>& arguments) {
  const auto call = ParseCommandLine(arguments);
  EXPECT_TRUE(absl::IsInvalidArgument(call.status()));
  const std::string words(call.status().message());
  EXPECT_THAT(words, Not(HasSubstr("\n")));
  return words;
}

TEST(CommandLineTest, AWrongCallIsToldWhatToWriteInstead) {
  EXPECT_THAT(WordsTo({}), HasSubstr("a command is missing"));
  EXPECT_THAT(WordsTo({"-o", "json"}), HasSubstr("a command is missing"));
  EXPECT_THAT(WordsTo({"explode"}), HasSubstr("there is no command 'explode'"));
  EXPECT_THAT(WordsTo({"stauts"}), HasSubstr("did you mean 'status'?"));
  EXPECT_THAT(WordsTo({"quarantine", "lsit"}), HasSubstr("did you mean 'quarantine list'?"));
  EXPECT_THAT(WordsTo({"quarantine"}), HasSubstr("quarantine clear DATASET"));
  EXPECT_THAT(WordsTo({"--adress", "x", "status"}), HasSubstr("there is no option '--adress'"));
  EXPECT_THAT(WordsTo({"status", "--address"}), HasSubstr("--address needs a value"));
  EXPECT_THAT(WordsTo({"--address=", "status"}), HasSubstr("--address needs a value"));
  EXPECT_THAT(WordsTo({"trace"}), HasSubstr("-o trace.json, or -o -"));
  EXPECT_THAT(WordsTo({"trace", "-o", "f", "--seconds", "61"}), HasSubstr("0.1 to 60, not '61'"));
  EXPECT_THAT(WordsTo({"trace", "-o", "f", "--seconds", "nan"}), HasSubstr("not 'nan'"));
  EXPECT_THAT(WordsTo({"status", "--seconds", "2"}), HasSubstr("goes with 'trace'"));
  EXPECT_THAT(WordsTo({"-o", "xml", "status"}), HasSubstr("'table', 'json' or 'yaml', not 'xml'"));
  EXPECT_THAT(WordsTo({"-o", "man", "status"}), HasSubstr("'yaml', not 'man'"));
  EXPECT_THAT(WordsTo({"-w", "drain"}), HasSubstr("goes with 'status', 'sessions', 'workers'"));
  EXPECT_THAT(WordsTo({"-w", "workers", "--set", "2"}), HasSubstr("leave out one"));
  EXPECT_THAT(WordsTo({"wait", "--for=gone"}), HasSubstr("takes 'ready', not 'gone'"));
  EXPECT_THAT(WordsTo({"wait", "--timeout", "25h"}), HasSubstr("at most 24h, not '25h'"));
  EXPECT_THAT(WordsTo({"status", "--timeout", "1s"}), HasSubstr("goes with 'wait' only"));
  EXPECT_THAT(WordsTo({"help", "drian"}), HasSubstr("did you mean 'drain'?"));
  EXPECT_THAT(WordsTo({"index"}), HasSubstr("needs a dataset"));
  EXPECT_THAT(WordsTo({"fetch"}), HasSubstr("needs a dataset"));
  EXPECT_THAT(WordsTo({"cache"}), HasSubstr("needs a second word"));
  EXPECT_THAT(WordsTo({"cache", "fill"}), HasSubstr("there is no command"));
  EXPECT_THAT(WordsTo({"index", "a", "b"}), HasSubstr("does not take 'a b'"));
  EXPECT_THAT(WordsTo({"quarantine", "clear"}), HasSubstr("needs a dataset"));
  EXPECT_THAT(WordsTo({"status", "now"}), HasSubstr("does not take 'now'"));
  EXPECT_THAT(WordsTo({"--config", "x", "status"}), HasSubstr("goes with 'check' only"));
  EXPECT_THAT(WordsTo({"status", "--deadline", "1s"}), HasSubstr("goes with 'drain' only"));
  EXPECT_THAT(WordsTo({"reload", "--cancel"}), HasSubstr("goes with 'drain' only"));
  EXPECT_THAT(WordsTo({"drain", "--deadline", "soon"}), HasSubstr("like 30s or 10m, not 'soon'"));
  EXPECT_THAT(WordsTo({"drain", "--deadline", "0s"}), HasSubstr("like 30s or 10m"));
  EXPECT_THAT(WordsTo({"workers", "--set", "0"}), HasSubstr("1 to 1024 workers, not '0'"));
  EXPECT_THAT(WordsTo({"workers", "--set", "-1"}), HasSubstr("1 to 1024 workers"));
  EXPECT_THAT(WordsTo({"status", "--set", "2"}), HasSubstr("goes with 'workers' only"));
}

TEST(CommandLineTest, WrongShellsColoursAndValuesAreToldWhatThereIs) {
  EXPECT_THAT(WordsTo({"completion"}), HasSubstr("needs a shell: 'bash', 'zsh' or 'fish'"));
  EXPECT_THAT(WordsTo({"completion", "tcsh"}), HasSubstr("not 'tcsh'"));
  EXPECT_THAT(WordsTo({"completion", "zsh", "fish"}), HasSubstr("does not take 'zsh fish'"));
  EXPECT_THAT(WordsTo({"status", "--color", "blue"}), HasSubstr("'never', not 'blue'"));
  EXPECT_THAT(WordsTo({"drain", "--cancel=yes"}), HasSubstr("no option '--cancel=yes'"));
  EXPECT_THAT(WordsTo({"--help=me"}), HasSubstr("no option '--help=me'"));
  EXPECT_THAT(WordsTo({"status", "-"}), HasSubstr("does not take '-'"));
}

TEST(CommandLineTest, TheHelpNamesEveryCommandAndEveryOption) {
  for (const CommandForm& form : Commands()) {
    if (form.command == Command::kHelp) continue;
    EXPECT_THAT(kHelp, HasSubstr(std::string("\n  ") + form.words));
  }
  for (const OptionForm& option : Options()) EXPECT_THAT(kHelp, HasSubstr(option.name));
}

TEST(CommandLineTest, EveryCommandIsUnderstood) {
  EXPECT_EQ(ParseCommandLine({"status"})->command, Command::kStatus);
  EXPECT_EQ(ParseCommandLine({"sessions"})->command, Command::kSessions);
  EXPECT_EQ(ParseCommandLine({"workers"})->command, Command::kWorkers);
  EXPECT_EQ(ParseCommandLine({"datasets"})->command, Command::kDatasets);
  EXPECT_EQ(ParseCommandLine({"index", "flowers"})->dataset, "flowers");
  EXPECT_EQ(ParseCommandLine({"fetch", "s3://b/x/"})->dataset, "s3://b/x/");
  EXPECT_EQ(ParseCommandLine({"cache", "warm", "s3://b/x/"})->command, Command::kFetch);
  EXPECT_EQ(ParseCommandLine({"cache", "list", "/x"})->file, "/x");
  EXPECT_EQ(ParseCommandLine({"cache", "clear"})->file, "");
  EXPECT_EQ(ParseCommandLine({"quarantine", "list"})->command, Command::kQuarantineList);
  EXPECT_EQ(ParseCommandLine({"quarantine", "list", "flowers"})->dataset, "flowers");
  EXPECT_EQ(ParseCommandLine({"quarantine", "clear", "flowers"})->command,
            Command::kQuarantineClear);
  EXPECT_EQ(ParseCommandLine({"check", "--config", "a.yaml"})->config, "a.yaml");
  EXPECT_EQ(ParseCommandLine({"top"})->command, Command::kTop);
  EXPECT_EQ(ParseCommandLine({"completion", "fish"})->shell, "fish");
  EXPECT_EQ(ParseCommandLine({"status", "--color=never"})->color, ColorChoice::kNever);
  EXPECT_EQ(ParseCommandLine({"reload"})->command, Command::kReload);
  EXPECT_EQ(ParseCommandLine({"workers", "--set", "3"})->set_workers, 3u);
  EXPECT_TRUE(ParseCommandLine({"drain", "--cancel"})->cancel);
  EXPECT_TRUE(ParseCommandLine({"-w", "sessions"})->watch);
  EXPECT_EQ(ParseCommandLine({"-o", "yaml", "status"})->output, Output::kYaml);
  EXPECT_EQ(ParseCommandLine({"wait", "--for=ready"})->timeout, std::chrono::seconds(30));
  EXPECT_EQ(ParseCommandLine({"wait", "--timeout", "2m"})->timeout, std::chrono::minutes(2));
  EXPECT_EQ(ParseCommandLine({"wait", "--timeout", "0s"})->timeout, base::Duration{});
  EXPECT_EQ(ParseCommandLine({"version"})->command, Command::kServerVersion);
  EXPECT_EQ(ParseCommandLine({"help", "drain"})->topic, "drain");
  EXPECT_EQ(ParseCommandLine({"quarantine", "list", "--help"})->topic, "quarantine");
  EXPECT_EQ(ParseCommandLine({"drain", "--deadline", "2m"})->deadline, std::chrono::minutes(2));
}

TEST(CommandLineTest, OptionsMayStandAnywhereAndWithAnEqualsSign) {
  const auto call = ParseCommandLine({"--address=/a.sock", "status", "-o", "json"});

  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_EQ(call->address, "/a.sock");
  EXPECT_EQ(call->output, Output::kJson);
}

TEST(CommandLineTest, BehindTwoDashesNothingIsAnOption) {
  EXPECT_EQ(ParseCommandLine({"index", "--", "-o"})->dataset, "-o");
}

TEST(CommandLineTest, HelpAndVersionNeedNothingElse) {
  EXPECT_EQ(ParseCommandLine({"--help"})->command, Command::kHelp);
  EXPECT_EQ(ParseCommandLine({"index", "-h"})->command, Command::kHelp);
  EXPECT_EQ(ParseCommandLine({"--version"})->command, Command::kVersion);
}

TEST(CommandLineTest, HelpNamesEveryCommandAndFitsATerminal) {
  const std::string help = kHelp;
  for (const char* word : {"status", "sessions", "workers", "datasets", "index DATASET",
                           "quarantine list", "quarantine clear", "digest", "check", "--address"}) {
    EXPECT_THAT(help, HasSubstr(word));
  }
  size_t start = 0;
  for (size_t end; (end = help.find('\n', start)) != std::string::npos; start = end + 1) {
    EXPECT_LE(end - start, 100u) << help.substr(start, end - start);
  }
}

}  // namespace
}  // namespace penstock::ctl
