#include "client/ctl/command_table.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_split.h"

namespace penstock::ctl {
namespace {

constexpr CommandForm kCommands[] = {
    {"status", Command::kStatus, Word::kNone},
    {"sessions", Command::kSessions, Word::kNone},
    {"workers", Command::kWorkers, Word::kNone},
    {"datasets", Command::kDatasets, Word::kNone},
    {"top", Command::kTop, Word::kNone},
    {"trace", Command::kTrace, Word::kNone},
    {"index", Command::kIndex, Word::kDataset},
    {"digest", Command::kDigest, Word::kDataset},
    {"fetch", Command::kFetch, Word::kDataset},
    {"cache list", Command::kCacheList, Word::kMaybeFolder},
    {"cache verify", Command::kCacheVerify, Word::kMaybeFolder},
    {"cache clear", Command::kCacheClear, Word::kMaybeFolder},
    {"cache warm", Command::kFetch, Word::kDataset},
    {"quarantine list", Command::kQuarantineList, Word::kMaybeDataset},
    {"quarantine clear", Command::kQuarantineClear, Word::kDataset},
    {"drain", Command::kDrain, Word::kNone},
    {"reload", Command::kReload, Word::kNone},
    {"check", Command::kCheck, Word::kNone},
    {"wait", Command::kWait, Word::kNone},
    {"version", Command::kServerVersion, Word::kNone},
    {"completion", Command::kCompletion, Word::kShell},
    {"help", Command::kHelp, Word::kMaybeTopic},
};

constexpr OptionForm kOptions[] = {
    {"--address", "", Value::kFile, ""},
    {"--tls", "", Value::kFile, ""},
    {"--all", "", Value::kText, "top"},
    {"--output", "-o", Value::kFormat, ""},
    {"--color", "", Value::kColor, ""},
    {"--config", "", Value::kFile, "check"},
    {"--deadline", "", Value::kText, "drain"},
    {"--cancel", "", Value::kNone, "drain"},
    {"--set", "", Value::kText, "workers"},
    {"--seconds", "", Value::kText, "trace"},
    {"--export", "", Value::kNone, "index"},
    {"--to", "", Value::kFile, "index"},
    {"--watch", "-w", Value::kNone, "status,sessions,workers,datasets,quarantine list"},
    {"--for", "", Value::kCondition, "wait"},
    {"--timeout", "", Value::kText, "wait"},
    {"--help", "-h", Value::kNone, ""},
    {"--version", "", Value::kNone, ""},
};

}  // namespace

std::span<const CommandForm> Commands() { return kCommands; }
std::span<const OptionForm> Options() { return kOptions; }

bool IsOwnOption(const OptionForm& option, const std::string& command) {
  const std::vector<std::string> owners = absl::StrSplit(option.only_with, ',');
  return std::find(owners.begin(), owners.end(), command) != owners.end();
}

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
