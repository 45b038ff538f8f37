#include "client/ctl/command_line.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/ctl/command_table.h"
#include "client/ctl/help/topics.h"
#include "client/ctl/nodes/node_address.h"
#include "common/base/arguments.h"
#include "common/base/units.h"

namespace penstock::ctl {

const char kHelp[] =
    R"(penstockctl: inspects and controls Penstock's daemon, which feeds this machine's trainers.

  penstockctl [options] COMMAND

Inspect
  status                    state of the daemon, its pool and its feeds
  sessions                  trainers: the progress of each, and what it waits for
  workers                   decoding processes
  datasets                  available datasets, and whether they are indexed
  top                       all of this, live, on one screen; plain text if not on a terminal
                            --all NODES: a row for each daemon of a list like
                            node1:7070,node2:7070; a name stands for all of its addresses
  trace -o FILE             write a timeline of samples and batches, for ui.perfetto.dev
                            -o -: to standard output
                            --seconds N: trace duration in seconds (default 5)

Control
  index DATASET             build or check a dataset's index before trainers need it
  index --export SHARDS...  write an index of each tar or TFRecord shard beside it: SHARD.idx. Put
                            it beside the shard in a store, and no daemon needs to scan the shard.
                            SHARDS: files, folders, URLs, braces, or the name of a dataset
                            --to FOLDER: write them there; needed for URLs
  digest DATASET            print the SHA-256 of its content, to keep with a checkpoint
  fetch DATASET             fill the cache with a dataset of an object store, by name or URL, before
                            trainers need it; go on where an interrupted fetch ended
  cache list [FOLDER]       what is kept of which object (default: $PENSTOCK_STORE_CACHE)
  cache verify [FOLDER]     read all of it, and report what is damaged
  cache clear [FOLDER]      remove all of it, unless a daemon uses it
  cache warm DATASET        the same as fetch; the other cache commands need no daemon
  quarantine list [DATASET] samples that could not be used, with the reason
  quarantine clear DATASET  let new sessions try its quarantined samples again
  drain                     refuse new sessions, wait until trainers have finished their epochs
                            --deadline 10m: stop waiting after this time, list who is left
                            --cancel: serve again
  reload                    read the configuration again: datasets, limits, log level
  workers --set N           number of decoding processes (until the daemon restarts)
  check                     list what would keep this machine from serving, with remedies;
                            needs no daemon
  wait --for=ready          wait until the daemon serves; there need not be one yet
                            --timeout 5m: how long (default 30s)

About penstockctl
  version                   its version, and the daemon's
  completion SHELL          print the completion script for bash, zsh or fish
  help COMMAND              explain a command, with examples; COMMAND --help is the same

Options
  --address PATH            the daemon's socket. The operators' socket beside it is preferred if it
                            admits you. NODE:PORT: a daemon on another machine, over mutual TLS,
                            at its server.admin_address; it can be looked at, and not changed.
                            Default: $PENSTOCK_ADDRESS, else the first that answers of
                            /run/penstock-admin/admin.sock, /run/penstock/penstock.sock,
                            $XDG_RUNTIME_DIR/penstock/penstock.sock,
                            /tmp/penstock-$UID/penstock.sock
  --tls FOLDER              for other machines: a folder with ca.crt, tls.crt and tls.key. Default:
                            $PENSTOCK_TLS
  -o, --output table|json|yaml
                            tables for people (default), or JSON or YAML for programs
  -w, --watch               for status, sessions, workers, datasets and quarantine list: print it
                            again whenever it changes; on a terminal, over each other until q
  --color auto|always|never colors in tables; auto (default): on a terminal, unless $NO_COLOR is
                            set and not empty
  --config FILE             for check: also check this configuration of the daemon
  --help, --version

drain, reload, workers --set and quarantine clear need an operator: root, the daemon's own user, or
a user in server.admins, through the operators' socket. Other users see only their own sessions.

Examples
  penstockctl status
  penstockctl drain --deadline 30m && systemctl restart penstockd
  penstockctl -o json sessions | jq '.sessions[].state'
  systemctl start penstockd && penstockctl wait --for=ready
  penstockctl index imagenet
  penstockctl index --export s3://bucket/train/ --to indexes
  penstockctl top --all penstock.training.svc:7070 --tls ~/penstock-tls

Exit codes: 0 success; 1 the work failed, or check found a problem; 2 wrong usage.
Errors are one line on standard error: what failed, why, and what to do.
)";

namespace {

constexpr uint32_t kMostWorkers = 1024;
constexpr char kSeeHelp[] = "; see 'penstockctl --help'";
constexpr absl::string_view kHelpOption = "--help";
constexpr absl::string_view kVersionOption = "--version";

template <typename... Words>
absl::Status Wrong(const Words&... words) {
  return absl::InvalidArgumentError(absl::StrCat(words...));
}

// Edit distance, for "did you mean".
size_t Distance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row.back();
}

absl::Status UnknownCommand(const std::string& words) {
  const auto nearest = std::min_element(
      Commands().begin(), Commands().end(), [&](const CommandForm& a, const CommandForm& b) {
        return Distance(a.words, words) < Distance(b.words, words);
      });
  if (Distance(nearest->words, words) <= 2) {
    return Wrong("there is no command '", words, "'; did you mean '", nearest->words, "'?");
  }
  return Wrong("there is no command '", words, "'", kSeeHelp);
}

// The options as the parser wants them.
std::vector<base::Option> ParserOptions() {
  std::vector<base::Option> options;
  for (const OptionForm& form : Options()) {
    const bool is_final = form.name == kHelpOption || form.name == kVersionOption;
    const bool takes_none = form.value == Value::kNone;
    options.push_back({.name = form.name,
                       .kind = is_final     ? base::OptionKind::kFinal
                               : takes_none ? base::OptionKind::kSwitch
                                            : base::OptionKind::kValue,
                       .letter = form.letter});
  }
  return options;
}

absl::Status ReadSeconds(const std::string& value, Call& call) {
  double seconds = 0;
  if (!absl::SimpleAtod(value, &seconds) || !(seconds >= 0.1 && seconds <= 60))
    return Wrong("--seconds takes 0.1 to 60, not '", value, "'");
  call.trace_ms = static_cast<uint32_t>(std::lround(seconds * 1000));
  return absl::OkStatus();
}

absl::Status ReadDeadline(const std::string& value, Call& call) {
  const auto time = base::ParseDuration(value);
  if (!time.ok() || time->count() == 0)
    return Wrong("--deadline takes a time like 30s or 10m, not '", value, "'");
  call.deadline = *time;
  return absl::OkStatus();
}

absl::Status ReadTimeout(const std::string& value, Call& call) {
  const auto time = base::ParseDuration(value);
  if (!time.ok() || *time > std::chrono::hours(24))
    return Wrong("--timeout takes a time like 30s or 10m, at most 24h, not '", value, "'");
  call.timeout = *time;
  return absl::OkStatus();
}

absl::Status ReadWorkers(const std::string& value, Call& call) {
  uint32_t count = 0;
  const bool digits = value.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || !absl::SimpleAtoi(value, &count) || count == 0 || count > kMostWorkers)
    return Wrong("--set takes 1 to ", kMostWorkers, " workers, not '", value, "'");
  call.set_workers = count;
  return absl::OkStatus();
}

absl::Status ReadColor(const std::string& value, Call& call) {
  const auto found = std::find(std::begin(kColorChoices), std::end(kColorChoices), value);
  if (found == std::end(kColorChoices))
    return Wrong("--color takes 'auto', 'always' or 'never', not '", value, "'");
  call.color = static_cast<ColorChoice>(found - std::begin(kColorChoices));
  return absl::OkStatus();
}

// A format; for a trace a file.
absl::Status ReadOutput(const std::string& value, Call& call) {
  if (call.command == Command::kTrace) {
    call.file = value;
    return absl::OkStatus();
  }
  if (call.command == Command::kHelp && value == "man") {
    call.output = Output::kMan;
    return absl::OkStatus();
  }
  const auto found = std::find(std::begin(kFormats), std::end(kFormats), value);
  if (found == std::end(kFormats))
    return Wrong("-o takes 'table', 'json' or 'yaml', not '", value, "'");
  call.output = static_cast<Output>(found - std::begin(kFormats));
  return absl::OkStatus();
}

absl::Status ReadOption(const std::string& name, const std::string& value, Call& call) {
  if (name == "--address") call.address = value;
  if (name == "--config") call.config = value;
  if (name == "--tls") call.tls = value;
  if (name == "--all") call.nodes = value;
  if (name == "--cancel") call.cancel = true;
  if (name == "--export") call.export_indexes = true;
  if (name == "--to") call.to = value;
  if (name == "--output") return ReadOutput(value, call);
  if (name == "--color") return ReadColor(value, call);
  if (name == "--seconds") return ReadSeconds(value, call);
  if (name == "--deadline") return ReadDeadline(value, call);
  if (name == "--timeout") return ReadTimeout(value, call);
  if (name == "--watch") call.watch = true;
  if (name == "--for" && value != kConditions[0])
    return Wrong("--for takes 'ready', not '", value, "'");
  if (name == "--set") return ReadWorkers(value, call);
  return absl::OkStatus();
}

absl::Status ReadTopic(const std::string& word, Call& call) {
  if (FindHelpTopic(word) == nullptr) return UnknownCommand(word);
  call.topic = word;
  return absl::OkStatus();
}

absl::Status ReadWord(const CommandForm& form, const std::vector<std::string>& words, Call& call) {
  const bool has_dataset = form.word == Word::kDataset || form.word == Word::kMaybeDataset;
  const size_t given = words.size() - 1;
  if (form.word == Word::kDataset && given == 0)
    return Wrong("'", form.words, "' needs a dataset; 'penstockctl datasets' lists them");
  if (form.word == Word::kShell && given == 0)
    return Wrong("'completion' needs a shell: 'bash', 'zsh' or 'fish'");
  if (form.command == Command::kIndex)  // checked when the options are known
    call.more_datasets.assign(words.begin() + std::min<ptrdiff_t>(2, std::ssize(words)),
                              words.end());
  else if (given > (form.word == Word::kNone ? 0u : 1u))
    return Wrong("'", form.words, "' does not take '",
                 absl::StrJoin(words.begin() + 1, words.end(), " "), "'", kSeeHelp);
  if (given == 0) return absl::OkStatus();
  if (form.word == Word::kMaybeTopic) return ReadTopic(words[1], call);
  const bool is_folder = form.word == Word::kMaybeFolder;
  (is_folder ? call.file : has_dataset ? call.dataset : call.shell) = words[1];
  if (form.word == Word::kShell &&
      std::find(std::begin(kShells), std::end(kShells), words[1]) == std::end(kShells))
    return Wrong("'completion' takes 'bash', 'zsh' or 'fish', not '", words[1], "'");
  return absl::OkStatus();
}

absl::Status CheckExport(const Call& call) {
  if (call.export_indexes) return absl::OkStatus();
  if (!call.to.empty()) return Wrong("--to goes with 'index --export' only");
  if (call.more_datasets.empty()) return absl::OkStatus();
  return Wrong("'index' does not take '", call.dataset, " ", absl::StrJoin(call.more_datasets, " "),
               "'; with --export it takes several", kSeeHelp);
}

// Lists and addresses of other machines are checked before anything is asked.
absl::Status CheckNodes(const Call& call) {
  if (!call.nodes.empty()) {
    if (!call.address.empty()) return Wrong("--all names the daemons; leave out --address");
    return ParseNodes(call.nodes).status();
  }
  if (!IsNodeAddress(call.address)) return absl::OkStatus();
  if (call.command == Command::kCheck)
    return Wrong("'check' examines this machine; leave out --address ", call.address);
  return ParseNodeAddress(call.address).status();
}

absl::StatusOr<const CommandForm*> ReadWords(std::vector<std::string> words, Call& call) {
  if (words.empty()) return Wrong("a command is missing, like 'penstockctl status'", kSeeHelp);
  if (words[0] == "quarantine" || words[0] == "cache") {
    if (words.size() < 2)
      return words[0] == "cache"
                 ? Wrong(
                       "'cache' needs a second word: 'cache list', 'cache verify', 'cache clear' "
                       "or 'cache warm DATASET'")
                 : Wrong(
                       "'quarantine' needs a second word: 'quarantine list [DATASET]' or "
                       "'quarantine clear DATASET'");
    words[0] += absl::StrCat(" ", words[1]);
    words.erase(words.begin() + 1);
  }
  const CommandForm* form = FindCommand(words[0]);
  if (form == nullptr) return UnknownCommand(words[0]);
  call.command = form->command;
  PENSTOCK_RETURN_IF_ERROR(ReadWord(*form, words, call));
  return form;
}

}  // namespace

absl::StatusOr<Call> ParseCommandLine(const std::vector<std::string>& arguments) {
  PENSTOCK_ASSIGN_OR_RETURN(const base::GivenArguments given,
                            base::SplitArguments(arguments, ParserOptions(), "penstockctl"));
  if (given.final_option == kHelpOption) {
    const bool about_one = !given.words.empty() && FindHelpTopic(given.words[0]) != nullptr;
    return Call{.command = Command::kHelp, .topic = about_one ? given.words[0] : ""};
  }
  if (given.final_option == kVersionOption) return Call{.command = Command::kVersion};
  Call call;
  PENSTOCK_ASSIGN_OR_RETURN(const CommandForm* form, ReadWords(given.words, call));
  for (const auto& [name, value] : given.options) {
    const OptionForm& option = *FindOption(name);
    if (*option.only_with != '\0' && !IsOwnOption(option, form->words)) {
      return Wrong(name, " goes with '", absl::StrReplaceAll(option.only_with, {{",", "', '"}}),
                   "' only");
    }
    PENSTOCK_RETURN_IF_ERROR(ReadOption(name, value, call));
  }
  if (call.command == Command::kTrace && call.file.empty())
    return Wrong("'trace' needs a file: -o trace.json, or -o - for standard output");
  if (call.watch && call.set_workers)
    return Wrong("--set changes the workers, and -w watches them; leave out one");
  PENSTOCK_RETURN_IF_ERROR(CheckExport(call));
  PENSTOCK_RETURN_IF_ERROR(CheckNodes(call));
  return call;
}

}  // namespace penstock::ctl
