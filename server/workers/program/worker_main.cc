// penstock-worker: decodes for one daemon until that daemon is gone. It uses no threads, files,
// network or GPU, only its channel, its segments and standard error.
//
// Exit codes: 0 the daemon is gone; 1 the channel is corrupt; 2 not started by a daemon.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>

#include "server/decode/decoder.h"
#include "server/workers/program/segment_table.h"
#include "server/workers/program/worker_endpoint.h"

namespace penstock::workers {
namespace {

constexpr uint64_t kSocketEvery = 16;  // requests between checks of the socket if it is never idle
constexpr rlim_t kOpenFiles = 64;
// Adds as much as half of the machine's memory would, so that its score exceeds that of the daemon
// with its pool.
constexpr char kOomScore[] = "500";

uint64_t NowNs() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

absl::Status Limit(int what, rlim_t value) {
  const rlimit limit{.rlim_cur = value, .rlim_max = value};
  if (::setrlimit(static_cast<__rlimit_resource_t>(what), &limit) == 0) return absl::OkStatus();
  return base::ErrnoStatus(errno, "limiting the worker");
}

// If memory runs out, the kernel should kill a worker, which can be replaced, rather than the
// daemon or a trainer. Any process may raise its own score, so this fails only without /proc.
void VolunteerForTheOomKiller() {
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, kOomScore, sizeof(kOomScore) - 1);
  ::close(file);
}

// Limits the memory that a malicious file can use. RLIMIT_AS would include the segments;
// RLIMIT_DATA counts only private memory.
absl::Status Confine(uint64_t memory_bytes) {
  // Before it becomes non-dumpable, because its /proc then belongs to root.
  VolunteerForTheOomKiller();
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_DUMPABLE, 0);  // no debugger may attach, and no core is dumped
  PENSTOCK_RETURN_IF_ERROR(Limit(RLIMIT_CORE, 0));
  PENSTOCK_RETURN_IF_ERROR(Limit(RLIMIT_NOFILE, kOpenFiles));
#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // their shadow memory is private too
  PENSTOCK_RETURN_IF_ERROR(Limit(RLIMIT_DATA, memory_bytes));
#else
  (void)memory_bytes;
#endif
  return absl::OkStatus();
}

absl::Status Serve(const DecodeRequest& request, WorkerEndpoint& end, SegmentTable& segments,
                   decode::Decoder& decoder) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::span<const std::byte> file, end.Input(request));
  PENSTOCK_ASSIGN_OR_RETURN(const std::span<std::byte> row, segments.Row(request));
  const uint64_t start_ns = NowNs();
  end.Begin(request);
  const base::Fault fault = decoder.DecodeRow(file, request.spec, request.key, row);
  return end.Finish(request, fault, {.began_ns = start_ns, .ended_ns = NowNs()});
}

absl::Status ServeUntilTheEnd(WorkerEndpoint& end, SegmentTable& segments) {
  decode::Decoder decoder(end.limits());
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
    PENSTOCK_RETURN_IF_ERROR(Serve(*request, end, segments, decoder));
    if (request->sequence % kSocketEvery == 0) PENSTOCK_RETURN_IF_ERROR(segments.Receive());
  }
}

int Main() {
  auto end = WorkerEndpoint::Open();
  absl::Status status = end.status();
  if (status.ok()) status = Confine(end->memory_bytes());
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
    return 2;
  }
  SegmentTable segments{posix::Fd(kSocketNumber)};
  end->SayReady();
  status = ServeUntilTheEnd(*end, segments);
  if (absl::IsUnavailable(status)) return 0;
  std::fprintf(stderr, "penstock-worker: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace penstock::workers

int main() { return penstock::workers::Main(); }
