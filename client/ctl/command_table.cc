#include "client/ctl/command_table.h"

#include <algorithm>
#include <iterator>

namespace penstock::ctl {
namespace {

constexpr CommandForm kCommands[] = {
    {"status", Command::kStatus, Word::kNone, "is it serving, and what do its feeds do"},
    {"sessions", Command::kSessions, Word::kNone, "the trainers, and what each waits for"},
    {"workers", Command::kWorkers, Word::kNone, "the decoding processes"},
    {"datasets", Command::kDatasets, Word::kNone, "what can be fed"},
    {"top", Command::kTop, Word::kNone, "all of it, live, on one screen"},
    {"trace", Command::kTrace, Word::kNone, "what happens to batches, as a timeline"},
    {"index", Command::kIndex, Word::kDataset, "build or check the index of a dataset"},
    {"digest", Command::kDigest, Word::kDataset, "the SHA-256 of its content"},
    {"quarantine list", Command::kQuarantineList, Word::kMaybeDataset,
     "samples that could not be used, and why"},
    {"quarantine clear", Command::kQuarantineClear, Word::kDataset, "let them be tried again"},
    {"drain", Command::kDrain, Word::kNone, "let trainers finish their epochs, and nobody in"},
    {"reload", Command::kReload, Word::kNone, "read the configuration again"},
    {"check", Command::kCheck, Word::kNone, "what would keep this machine from serving"},
    {"completion", Command::kCompletion, Word::kShell, "what completes these words in a shell"},
    {"help", Command::kHelp, Word::kNone, "what there is"},
};

constexpr OptionForm kOptions[] = {
    {"--address", "", Value::kFile, "PATH", "", "the socket of the daemon"},
    {"--output", "-o", Value::kFormat, "table|json", "", "for people or for programs"},
    {"--color", "", Value::kColor, "auto|always|never", "", "colours"},
    {"--config", "", Value::kFile, "FILE", "check", "the configuration is looked at, too"},
    {"--deadline", "", Value::kText, "TIME", "drain", "give up waiting then"},
    {"--cancel", "", Value::kNone, "", "drain", "serve again"},
    {"--set", "", Value::kText, "N", "workers", "so many, until the next start"},
    {"--seconds", "", Value::kText, "N", "trace", "so long"},
    {"--help", "-h", Value::kNone, "", "", "what there is"},
    {"--version", "", Value::kNone, "", "", "the version of penstockctl"},
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
