#include "client/ctl/command_line.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/units.h"

namespace penstock::ctl {

const char kHelp[] =
    R"(penstockctl: looks into Penstock's daemon, which feeds the trainers of this machine.

  penstockctl [options] COMMAND

What is going on
  status                    is it serving, how full is its pool, what do its feeds do
  sessions                  the trainers: how far each is, and what it waits for
  workers                   the decoding processes
  datasets                  what can be fed, and how much of it is indexed

  top                       all of it, live, on one screen; plain text where that is no terminal
  trace -o FILE             what happens to samples and batches, as a timeline for ui.perfetto.dev;
                            -o -: to standard output. --seconds 5: so long

What you can do
  index DATASET             build or check a dataset's index before trainers need it
  quarantine list [DATASET] samples that could not be used, and why
  quarantine clear DATASET  let them be tried again
  drain                     let trainers finish their epochs, and nobody in; says who is left.
                            --deadline 10m: give up waiting then; --cancel: serve again
  reload                    read the configuration again: datasets, limits, log level
  workers --set N           so many decoding processes, until the next start
  check                     what would keep this machine from serving, each with its remedy;
                            needs no daemon

Options
  --address PATH            the daemon's socket. Without it: $PENSTOCK_ADDRESS,
                            /run/penstock/penstock.sock, $XDG_RUNTIME_DIR/penstock/penstock.sock,
                            /tmp/penstock-$UID/penstock.sock, whichever answers first
  -o, --output table|json   tables for people (default), or JSON for programs
  --config FILE             with check: the daemon's configuration is looked at, too
  --help, --version

drain, reload, workers --set and quarantine clear are for root and the daemon's own user.

Examples
  penstockctl status
  penstockctl drain --deadline 30m && systemctl restart penstockd
  penstockctl -o json sessions | jq '.sessions[].state'
  penstockctl index imagenet

Exit codes: 0 done; 1 the work failed, or check found a problem; 2 the call is wrong.
Errors are one line on standard error: what, why, what to do.
)";

namespace {

constexpr uint32_t kMostWorkers = 1024;
constexpr char kSeeHelp[] = "; 'penstockctl --help' shows them all";

enum class DatasetWord { kNone, kOptional, kNeeded };

struct Form {
  const char* words;
  Command command;
  DatasetWord dataset;
};

constexpr Form kForms[] = {
    {"help", Command::kHelp, DatasetWord::kNone},
    {"status", Command::kStatus, DatasetWord::kNone},
    {"sessions", Command::kSessions, DatasetWord::kNone},
    {"trace", Command::kTrace, DatasetWord::kNone},
    {"workers", Command::kWorkers, DatasetWord::kNone},
    {"datasets", Command::kDatasets, DatasetWord::kNone},
    {"index", Command::kIndex, DatasetWord::kNeeded},
    {"quarantine list", Command::kQuarantineList, DatasetWord::kOptional},
    {"quarantine clear", Command::kQuarantineClear, DatasetWord::kNeeded},
    {"check", Command::kCheck, DatasetWord::kNone},
    {"top", Command::kTop, DatasetWord::kNone},
    {"drain", Command::kDrain, DatasetWord::kNone},
    {"reload", Command::kReload, DatasetWord::kNone},
};

template <typename... Words>
absl::Status Wrong(const Words&... words) {
  return absl::InvalidArgumentError(absl::StrCat(words...));
}

// How many edits make one word of the other: for "did you mean".
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
  const Form* nearest =
      std::min_element(std::begin(kForms), std::end(kForms), [&](const Form& a, const Form& b) {
        return Distance(a.words, words) < Distance(b.words, words);
      });
  if (Distance(nearest->words, words) <= 2) {
    return Wrong("there is no command '", words, "'; did you mean '", nearest->words, "'?");
  }
  return Wrong("there is no command '", words, "'", kSeeHelp);
}

// Takes options out of the arguments and leaves the command's words.
class OptionReader {
 public:
  explicit OptionReader(const std::vector<std::string>& arguments) : arguments_(arguments) {}

  absl::Status Read(Call& call, std::vector<std::string>& words) {
    while (at_ < arguments_.size()) {
      const std::string& argument = arguments_[at_++];
      if (argument == "--") break;
      if (argument.size() < 2 || argument[0] != '-') {
        words.push_back(argument);
        continue;
      }
      PENSTOCK_RETURN_IF_ERROR(ReadOption(argument, call));
    }
    words.insert(words.end(), arguments_.begin() + static_cast<ptrdiff_t>(at_), arguments_.end());
    return absl::OkStatus();
  }

  std::optional<Command> instead() const { return instead_; }  // --help, --version

 private:
  absl::Status ReadOption(const std::string& argument, Call& call) {
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    if (name == "--help" || name == "-h") return Instead(Command::kHelp);
    if (name == "--version") return Instead(Command::kVersion);
    if (name == "--cancel" && equals == std::string::npos) {
      call.cancel = true;
      return absl::OkStatus();
    }
    static constexpr absl::string_view kKnown[] = {"--address",  "-o",    "--output", "--config",
                                                   "--deadline", "--set", "--seconds"};
    if (std::find(std::begin(kKnown), std::end(kKnown), name) == std::end(kKnown))
      return Wrong("there is no option '", name, "'", kSeeHelp);

    std::string value;
    if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (at_ < arguments_.size()) {
      value = arguments_[at_++];
    }
    if (value.empty()) return Wrong(name, " needs a value", kSeeHelp);
    if (name == "--address") call.address = value;
    if (name == "--config") call.config = value;
    if (name == "-o" || name == "--output") call.file = value;
    if (name == "--seconds") return ReadSeconds(value, call);
    if (name == "--deadline") {
      const auto time = base::ParseDuration(value);
      if (!time.ok() || time->count() == 0)
        return Wrong("--deadline takes a time like 30s or 10m, not '", value, "'");
      call.deadline = *time;
    }
    if (name == "--set") {
      uint32_t count = 0;
      const bool digits = value.find_first_not_of("0123456789") == std::string::npos;
      if (!digits || !absl::SimpleAtoi(value, &count) || count == 0 || count > kMostWorkers)
        return Wrong("--set takes 1 to ", kMostWorkers, " workers, not '", value, "'");
      call.set_workers = count;
    }
    return absl::OkStatus();
  }

  static absl::Status ReadSeconds(const std::string& value, Call& call) {
    double seconds = 0;
    if (!absl::SimpleAtod(value, &seconds) || !(seconds >= 0.1 && seconds <= 60))
      return Wrong("--seconds takes 0.1 to 60, not '", value, "'");
    call.trace_ms = static_cast<uint32_t>(std::lround(seconds * 1000));
    call.seconds_given = true;
    return absl::OkStatus();
  }

  absl::Status Instead(Command command) {
    if (!instead_.has_value()) instead_ = command;
    return absl::OkStatus();
  }

  const std::vector<std::string>& arguments_;
  size_t at_ = 0;
  std::optional<Command> instead_;
};

absl::Status ReadWords(std::vector<std::string> words, Call& call) {
  if (words.empty()) return Wrong("a command is missing, like 'penstockctl status'", kSeeHelp);
  if (words[0] == "quarantine") {
    if (words.size() < 2) {
      return Wrong("say 'quarantine list [DATASET]' or 'quarantine clear DATASET'");
    }
    words[0] += absl::StrCat(" ", words[1]);
    words.erase(words.begin() + 1);
  }
  const Form* form = std::find_if(std::begin(kForms), std::end(kForms),
                                  [&](const Form& each) { return words[0] == each.words; });
  if (form == std::end(kForms)) return UnknownCommand(words[0]);
  call.command = form->command;

  const size_t given = words.size() - 1;
  if (form->dataset == DatasetWord::kNeeded && given == 0) {
    return Wrong("'", form->words, "' needs a dataset; 'penstockctl datasets' lists them");
  }
  if (given > (form->dataset == DatasetWord::kNone ? 0u : 1u)) {
    return Wrong("'", form->words, "' does not take '",
                 absl::StrJoin(words.begin() + 1, words.end(), " "), "'", kSeeHelp);
  }
  if (given == 1) call.dataset = words[1];
  return absl::OkStatus();
}

// What -o says: a format, but of a trace a file.
absl::Status ReadOutput(Call& call) {
  if (call.command == Command::kTrace) {
    if (call.file.empty())
      return Wrong("'trace' needs a file: -o trace.json, or -o - for standard output");
    return absl::OkStatus();
  }
  if (call.seconds_given) return Wrong("--seconds goes with 'trace' only");
  const std::string format = std::exchange(call.file, "");
  if (!format.empty() && format != "table" && format != "json")
    return Wrong("-o takes 'table' or 'json', not '", format, "'");
  call.output = format == "json" ? Output::kJson : Output::kTable;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Call> ParseCommandLine(const std::vector<std::string>& arguments) {
  Call call;
  std::vector<std::string> words;
  OptionReader options(arguments);
  PENSTOCK_RETURN_IF_ERROR(options.Read(call, words));
  if (options.instead().has_value()) return Call{.command = *options.instead()};
  PENSTOCK_RETURN_IF_ERROR(ReadWords(std::move(words), call));
  PENSTOCK_RETURN_IF_ERROR(ReadOutput(call));
  if (!call.config.empty() && call.command != Command::kCheck) {
    return Wrong("--config goes with 'check' only");
  }
  if ((call.deadline.count() > 0 || call.cancel) && call.command != Command::kDrain)
    return Wrong("--deadline and --cancel go with 'drain' only");
  if (call.set_workers && call.command != Command::kWorkers)
    return Wrong("--set goes with 'workers' only");
  return call;
}

}  // namespace penstock::ctl
