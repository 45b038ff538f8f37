// penstock-worker: decodes for one daemon until that daemon is gone. It uses no threads, files,
// network or GPU, only its channel, its segments and standard error.
//
// It enters its sandbox before the first sample (confine.h). Started as a probe, it tests that
// sandbox and exits (run_probe.h).
//
// Exit codes: 0 the daemon is gone; 1 the channel is corrupt; 2 not started by a daemon, or it
// could not enter the sandbox.
#include <time.h>

#include <cstdio>

#include "common/base/units.h"
#include "common/posix/failpoint.h"
#include "common/posix/limits.h"
#include "common/sandbox/probe/probe_page.h"
#include "common/sandbox/probe/run_probe.h"
#include "server/workers/program/confine.h"
#include "server/workers/program/request_server.h"
#include "server/workers/program/segment_table.h"
#include "server/workers/program/worker_endpoint.h"

namespace penstock::workers {
namespace {

constexpr uint64_t kSocketEvery = 16;  // a busy worker checks its socket after this many requests
constexpr uint64_t kProbeMemory = 64 * base::kMiB;  // a probe allocates next to nothing

uint64_t NowNs() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

absl::Status Serve(const DecodeRequest& request, WorkerEndpoint& end, SegmentTable& segments,
                   RequestServer& server) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::span<std::byte> input, end.Input(request));
  PENSTOCK_ASSIGN_OR_RETURN(const std::span<std::byte> segment, segments.Find(request.segment));
  const uint64_t start_ns = NowNs();
  end.Begin(request);
  PENSTOCK_FAILPOINT("worker_program.row_begun");
  PENSTOCK_ASSIGN_OR_RETURN(const RequestServer::Served served,
                            server.Serve(request, input, segment));
  PENSTOCK_FAILPOINT("worker_program.row_written");
  return end.Finish(request, served, {.began_ns = start_ns, .ended_ns = NowNs()});
}

absl::Status ServeUntilTheEnd(WorkerEndpoint& end, SegmentTable& segments) {
  RequestServer server(end.limits());
  for (;;) {
    PENSTOCK_ASSIGN_OR_RETURN(std::optional<DecodeRequest> request, end.Next());
    if (!request) {
      end.AnnounceSleep();
      PENSTOCK_ASSIGN_OR_RETURN(request, end.Next());
    }
    if (!request) {
      if (end.Sleep(segments.socket())) PENSTOCK_RETURN_IF_ERROR(segments.Receive());
      continue;
    }
    PENSTOCK_RETURN_IF_ERROR(Serve(*request, end, segments, server));
    if (request->sequence % kSocketEvery == 0) PENSTOCK_RETURN_IF_ERROR(segments.Receive());
  }
}

int Main() {
  auto end = WorkerEndpoint::Open();
  absl::Status status = end.status();
  if (status.ok()) status = posix::GiveWay();  // trainers must not wait for a worker
  if (status.ok()) status = Confine(end->memory_bytes(), end->sandbox()).status();
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
    return 2;
  }
  SegmentTable segments{posix::Fd(kSocketNumber)};
  PENSTOCK_FAILPOINT("worker_program.shut_in");
  end->SayReady();
  status = ServeUntilTheEnd(*end, segments);
  if (absl::IsUnavailable(status)) return 0;
  std::fprintf(stderr, "penstock-worker: %s\n", std::string(status.message()).c_str());
  return 1;
}

int Probe() {
  return sandbox::RunProbe([](const sandbox::ProbeHooks& hooks) {
    return Confine(kProbeMemory, SandboxMode::kOn, {.hooks = hooks});
  });
}

}  // namespace
}  // namespace penstock::workers

int main(int argc, char** argv) {
  using namespace penstock;
  return argc > 1 && absl::string_view(argv[1]) == sandbox::kProbeArgument ? workers::Probe()
                                                                           : workers::Main();
}
