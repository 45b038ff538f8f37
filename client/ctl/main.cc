// penstockctl, the operator's program. Its --help is in command_line.cc.
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <iostream>

#include "client/ctl/command_line.h"
#include "client/ctl/commands.h"
#include "client/ctl/table.h"

namespace {

int Fail(const absl::Status& error) {
  std::cerr << "penstockctl: " << penstock::ctl::OneLine(std::string(error.message())) << "\n";
  return penstock::ctl::ExitCodeOf(error);
}

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

int main(int argc, char** argv) {
  ::setenv("GRPC_VERBOSITY", "NONE", 0);  // gRPC's errors are in the status; don't print them twice
  try {
    const auto call = penstock::ctl::ParseCommandLine({argv + 1, argv + argc});
    if (!call.ok()) return Fail(call.status());
    const auto terminal =
        ::isatty(STDERR_FILENO) ? penstock::ctl::Terminal::kYes : penstock::ctl::Terminal::kNo;
    const auto colors =
        penstock::ctl::ChooseColors(call->color, {.terminal = ::isatty(STDOUT_FILENO) == 1,
                                                  .no_color = Variable("NO_COLOR"),
                                                  .kind = Variable("TERM")});
    const auto code = penstock::ctl::Run(*call, std::cout, std::cerr, terminal, colors);
    if (!code.ok()) return Fail(code.status());
    if (!std::cout.flush()) return Fail(absl::DataLossError("cannot write to standard output"));
    return *code;
  } catch (const std::exception& error) {
    return Fail(absl::InternalError(error.what()));
  }
}
