// penstock-bench: measures this machine; see PrintHelp.
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>

#include "tests/bench/harness/interrupt.h"
#include "tests/bench/harness/report.h"
#include "tests/bench/suite.h"

namespace penstock::bench {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kWrongCall = 2;

int Fail(const absl::Status& error, int code) {
  std::fprintf(stderr, "penstock-bench: %s\n", std::string(error.message()).c_str());
  return code;
}

void PrintHelp() {
  std::printf(
      "penstock-bench: compares Penstock's speed on this machine with the machine's own "
      "ceilings.\n\n"
      "  penstock-bench SUITE [--data DIR] [--json FILE]\n\nSuites\n");
  for (const Suite& each : Suites()) std::printf("  %-11s %s\n", each.name, each.what);
  std::printf(
      "\nOptions\n"
      "  --data DIR    photographs (JPEG), one folder for each class; default: generated ones\n"
      "  --json FILE   also write the result as one JSON object; '-': to standard output, and "
      "nothing\n"
      "                else there\n"
      "  --small       a short run with little data, for tests\n"
      "  --help, --version\n\n"
      "A figure is the median of runs that alternate with runs of its ceiling. Use a machine that "
      "does\n"
      "nothing else.\n\n"
      "Exit codes: 0 success, whatever the figures; 1 the run failed; 2 wrong usage.\n");
}

std::vector<std::string> SuiteNames() {
  std::vector<std::string> names;
  for (const Suite& each : Suites()) names.push_back(each.name);
  return names;
}

// The destination of --json. Opened before anything is measured, so that nobody waits for a result
// that cannot be written.
class JsonOutput {
 public:
  explicit JsonOutput(const std::string& path) : path_(path) {
    if (ToFile()) file_.open(path);
  }

  bool ToStandardOutput() const { return path_ == "-"; }

  absl::Status Check() const {
    if (!ToFile() || file_) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("'", path_, "' cannot be written; use --json with another file"));
  }

  absl::Status Write(const std::string& json) {
    std::ostream& output = ToFile() ? file_ : std::cout;
    if (path_.empty() || output << json << std::endl) return absl::OkStatus();
    return absl::DataLossError("the JSON could not be written completely; is the disk full?");
  }

 private:
  bool ToFile() const { return !path_.empty() && path_ != "-"; }

  const std::string path_;
  std::ofstream file_;
};

int RunSuite(const Arguments& arguments) {
  const auto suite = std::find_if(Suites().begin(), Suites().end(),
                                  [&](const Suite& each) { return arguments.suite == each.name; });
  JsonOutput json(arguments.json);
  if (const absl::Status status = json.Check(); !status.ok()) return Fail(status, kWrongCall);
  const Machine machine = ThisMachine();
  const absl::StatusOr<Result> result = suite->run(arguments);
  if (!result.ok()) {
    DieOfRememberedSignal();
    return Fail(result.status(), absl::IsInvalidArgument(result.status()) ? kWrongCall : kFailed);
  }
  std::fputs(ToText(*result, machine).c_str(), json.ToStandardOutput() ? stderr : stdout);
  const absl::Status written = json.Write(ToJson(*result, machine));
  return written.ok() ? kDone : Fail(written, kFailed);
}

int Main(const std::vector<std::string>& words) {
  const absl::StatusOr<Arguments> arguments = ParseArguments(words, SuiteNames());
  if (!arguments.ok()) return Fail(arguments.status(), kWrongCall);
  switch (arguments->action) {
    case Action::kHelp:
      PrintHelp();
      return kDone;
    case Action::kVersion:
      std::printf("penstock-bench %s\n", PENSTOCK_VERSION);
      return kDone;
    case Action::kRun:
      break;
  }
  return RunSuite(*arguments);
}

}  // namespace
}  // namespace penstock::bench

int main(int argc, char** argv) {
  ::setenv("GRPC_VERBOSITY", "NONE", 0);  // its errors come with the status
  ::signal(SIGPIPE, SIG_IGN);
  penstock::bench::RememberSignals();
  try {
    return penstock::bench::Main({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    return penstock::bench::Fail(absl::InternalError(error.what()), 1);
  }
}
