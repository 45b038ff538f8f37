#include "client/ctl/command_table.h"

#include <algorithm>
#include <iterator>

namespace penstock::ctl {
namespace {

constexpr CommandForm kCommands[] = {
    {"status", Command::kStatus, Word::kNone, "state of the daemon, its pool and its feeds"},
    {"sessions", Command::kSessions, Word::kNone, "trainers, and what each waits for"},
    {"workers", Command::kWorkers, Word::kNone, "decoding processes"},
    {"datasets", Command::kDatasets, Word::kNone, "available datasets"},
    {"top", Command::kTop, Word::kNone, "all of this, live, on one screen"},
    {"trace", Command::kTrace, Word::kNone, "write a timeline of samples and batches"},
    {"index", Command::kIndex, Word::kDataset, "build or check a dataset index"},
    {"digest", Command::kDigest, Word::kDataset, "print the SHA-256 of a dataset"},
    {"quarantine list", Command::kQuarantineList, Word::kMaybeDataset,
     "samples that could not be used, with the reason"},
    {"quarantine clear", Command::kQuarantineClear, Word::kDataset,
     "let new sessions try them again"},
    {"drain", Command::kDrain, Word::kNone, "refuse new sessions, wait for the end of epochs"},
    {"reload", Command::kReload, Word::kNone, "read the configuration again"},
    {"check", Command::kCheck, Word::kNone, "list what would keep this machine from serving"},
    {"completion", Command::kCompletion, Word::kShell, "print the completion script for a shell"},
    {"help", Command::kHelp, Word::kNone, "show the help"},
};

constexpr OptionForm kOptions[] = {
    {"--address", "", Value::kFile, "PATH", "", "socket of the daemon"},
    {"--output", "-o", Value::kFormat, "table|json", "",
     "output format, for people or for programs"},
    {"--color", "", Value::kColor, "auto|always|never", "", "colors in tables"},
    {"--config", "", Value::kFile, "FILE", "check", "also check this configuration"},
    {"--deadline", "", Value::kText, "TIME", "drain", "stop waiting after this time"},
    {"--cancel", "", Value::kNone, "", "drain", "serve again"},
    {"--set", "", Value::kText, "N", "workers", "number of workers, until the daemon restarts"},
    {"--seconds", "", Value::kText, "N", "trace", "trace duration in seconds, default 5"},
    {"--help", "-h", Value::kNone, "", "", "show the help"},
    {"--version", "", Value::kNone, "", "", "show the version"},
};

}  // namespace

std::span<const CommandForm> Commands() { return kCommands; }
std::span<const OptionForm> Options() { return kOptions; }

const CommandForm* FindCommand(const std::string& words) {
  const auto found = std::find_if(std::begin(kCommands), std::end(kCommands),
                                  [&](const CommandForm& each) { return words == each.words; });
  return found == std::end(kCommands) ? nullptr : found;
}

const OptionForm* FindOption(const std::string& name) {
  const auto found = std::find_if(std::begin(kOptions), std::end(kOptions), [&](const auto& each) {
    return !name.empty() && (name == each.name || name == each.letter);
  });
  return found == std::end(kOptions) ? nullptr : found;
}

}  // namespace penstock::ctl
