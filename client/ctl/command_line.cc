#include "client/ctl/command_line.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace penstock::ctl {

const char kHelp[] =
    R"(penstockctl: looks into Penstock's daemon, which feeds the trainers of this machine.

  penstockctl [options] COMMAND

What is going on
  status                    is it serving, how full is its pool, what do its feeds do
  sessions                  the trainers: how far each is, and what it waits for
  workers                   the decoding processes
  datasets                  what can be fed, and how much of it is indexed

What you can do
  index DATASET             build or check a dataset's index before trainers need it
  quarantine list [DATASET] samples that could not be used, and why
  quarantine clear DATASET  let them be tried again
  check                     what would keep this machine from serving, each with its remedy;
                            needs no daemon

Options
  --address PATH            the daemon's socket. Without it: $PENSTOCK_ADDRESS,
                            /run/penstock/penstock.sock, $XDG_RUNTIME_DIR/penstock/penstock.sock,
                            /tmp/penstock-$UID/penstock.sock, whichever answers first
  -o, --output table|json   tables for people (default), or JSON for programs
  --config FILE             with check: the daemon's configuration is looked at, too
  --help, --version

Examples
  penstockctl status
  penstockctl -o json sessions | jq '.sessions[].state'
  penstockctl index imagenet

Exit codes: 0 done; 1 the work failed, or check found a problem; 2 the call is wrong.
Errors are one line on standard error: what, why, what to do.
)";

namespace {

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
    {"workers", Command::kWorkers, DatasetWord::kNone},
    {"datasets", Command::kDatasets, DatasetWord::kNone},
    {"index", Command::kIndex, DatasetWord::kNeeded},
    {"quarantine list", Command::kQuarantineList, DatasetWord::kOptional},
    {"quarantine clear", Command::kQuarantineClear, DatasetWord::kNeeded},
    {"check", Command::kCheck, DatasetWord::kNone},
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
    const bool known =
        name == "--address" || name == "-o" || name == "--output" || name == "--config";
    if (!known) return Wrong("there is no option '", name, "'", kSeeHelp);

    std::string value;
    if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (at_ < arguments_.size()) {
      value = arguments_[at_++];
    }
    if (value.empty()) return Wrong(name, " needs a value", kSeeHelp);
    if (name == "--address") call.address = value;
    if (name == "--config") call.config = value;
    if (name == "-o" || name == "--output") return ReadOutput(name, value, call);
    return absl::OkStatus();
  }

  static absl::Status ReadOutput(const std::string& name, const std::string& value, Call& call) {
    if (value != "table" && value != "json") {
      return Wrong(name, " takes 'table' or 'json', not '", value, "'");
    }
    call.output = value == "json" ? Output::kJson : Output::kTable;
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

}  // namespace

absl::StatusOr<Call> ParseCommandLine(const std::vector<std::string>& arguments) {
  Call call;
  std::vector<std::string> words;
  OptionReader options(arguments);
  PENSTOCK_RETURN_IF_ERROR(options.Read(call, words));
  if (options.instead().has_value()) return Call{.command = *options.instead()};
  PENSTOCK_RETURN_IF_ERROR(ReadWords(std::move(words), call));
  if (!call.config.empty() && call.command != Command::kCheck) {
    return Wrong("--config goes with 'check' only");
  }
  return call;
}

}  // namespace penstock::ctl
