// penstock-indexer: parses files for one daemon until that daemon closes its socket. It opens no
// files; the daemon sends them open. It has one thread. Started as a probe, it tests its sandbox
// and exits.
//
// Exit codes: 0 the daemon closed its socket; 1 the daemon sent an invalid message; 2 not started
// by a daemon, or the sandbox failed; 3 it needs more memory than its limit.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <new>
#include <string>

#include "common/posix/failpoint.h"
#include "common/sandbox/probe/probe_page.h"
#include "common/sandbox/probe/run_probe.h"
#include "server/indexer/program/confine_indexer.h"
#include "server/indexer/program/questions.h"

namespace penstock::indexer {
namespace {

[[noreturn]] void EndWithoutMemory() { ::_exit(kExitNoMemory); }

absl::StatusOr<DaemonLine> OpenLine() {
  DaemonLine line = {.socket = posix::Fd(kSocketNumber), .window = {}};
  const posix::Fd window(kWindowNumber);
  const absl::StatusOr<size_t> bytes = posix::SizeOf(window);
  if (!bytes.ok() || *bytes != kSharedBytes)
    return absl::FailedPreconditionError(
        "penstock-indexer is started by penstockd of the same version only");
  PENSTOCK_ASSIGN_OR_RETURN(line.window,
                            posix::Mapping::Map(window, kSharedBytes, posix::Access::kReadWrite));
  return line;
}

int Main(Sandboxed sandboxed) {
  std::set_new_handler(EndWithoutMemory);
  absl::StatusOr<DaemonLine> line = OpenLine();
  absl::Status status = line.status();
  if (status.ok())
    status = sandboxed == Sandboxed::kNo ? LimitIndexer() : ConfineIndexer().status();
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
    return kExitNotReady;
  }
  PENSTOCK_FAILPOINT("indexer_program.shut_in");
  Activity& activity = *new (line->window.data() + kWindowBytes) Activity;
  source::CountReads(activity.reads);
  activity.ready = 1;
  status = Questions(*line).AnswerAll();
  if (absl::IsUnavailable(status)) return 0;
  std::fprintf(stderr, "penstock-indexer: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace penstock::indexer

int main(int argc, char** argv) {
  using namespace penstock;
  const absl::string_view argument = argc < 2 ? "" : argv[1];
  if (argument == sandbox::kProbeArgument) return sandbox::RunProbe(indexer::ConfineIndexer);
  return indexer::Main(argument == indexer::kNoSandbox ? indexer::Sandboxed::kNo
                                                       : indexer::Sandboxed::kYes);
}
