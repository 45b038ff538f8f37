// The attempts of a probe, and the shared memory in which it reports their outcomes. The daemon
// starts penstock-worker and penstock-indexer as probes to test what their sandbox forbids
// (sandbox_probe.h).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "absl/strings/string_view.h"

namespace penstock::sandbox {

inline constexpr absl::string_view kProbeArgument = "probe";  // the program's only argument
inline constexpr uint64_t kProbeMagic = 0x45424F5250534E50;
inline constexpr int kProbePageNumber = 4;  // the inherited memfd with this struct

// The errno with which the probe's filter refuses a forbidden call. The attempts cannot fail with
// it for any other reason, such as a missing file or right.
inline constexpr int kProbeErrno = 54;  // EXFULL

// In the order in which they are tried.
inline constexpr std::array kAttempts = std::to_array<absl::string_view>({
    "open a file for reading",
    "make a file in the state directory",
    "look at a file's attributes",
    "open the daemon's /proc/PID/mem for writing",
    "open the daemon's /proc/PID/maps",
    "read the daemon's memory (process_vm_readv)",
    "write the daemon's memory (process_vm_writev)",
    "attach to the daemon (ptrace)",
    "take a descriptor of the daemon (pidfd_open)",
    "signal the daemon (kill)",
    "signal the daemon (tgkill)",
    "make a Unix socket",
    "make a TCP socket",
    "send to an address (sendto)",
    "fork",
    "start a thread",
    "start a program",
    "map executable memory",
    "make memory executable",
    "make a memory file",
    "map shared memory without a file",
    "map memory that grows like a stack",
    "make memory read-only (then it does not count)",
    "move its stack and enlarge it",
    "make shared memory (shmget)",
    "make namespaces",
    "outlive the daemon (prctl)",
    "change its own limits",
    "use io_uring",
    "load a BPF program",
    "call by another ABI (x32)",
});

// What a process behind Landlock alone tries. `since`: the version that forbids it.
struct LandlockAttempt {
  int since;
  absl::string_view name;
};
inline constexpr std::array kLandlockAttempts = std::to_array<LandlockAttempt>({
    {1, "open a folder"},
    {1, "open a file for reading"},
    {1, "open a file for writing"},
    {1, "open a file for reading and writing"},
    {1, "make a file in the state directory"},
    {1, "make a folder in the state directory"},
    {1, "read the memory of another process"},
    {3, "truncate a file"},
    {4, "bind a TCP port"},
    {4, "connect to a TCP port"},
    {6, "connect to an abstract Unix socket"},
    {6, "signal the daemon"},
});

// Outcomes other than an errno; 0: the attempt succeeded.
inline constexpr int32_t kNotTried = -1, kUnderWay = -2;

using LandlockOutcomes = std::array<std::atomic<int32_t>, kLandlockAttempts.size()>;

struct ProbePage {
  // Written by the daemon before the probe starts.
  uint64_t magic;
  uint64_t secret_address;  // of the number below, in the daemon's memory
  int32_t daemon;           // its process id
  char folder[4096];        // the state directory, or another in which the daemon may write

  // Written by the probe.
  char failure[512];  // why it could not enter the sandbox; empty: it could
  uint32_t filters;   // whether it has a filter; not in builds with a sanitizer
  int32_t landlock;   // version; 0: none
  int32_t killed_by;  // the signal that ended a process with the program's own filter; 0: none
  std::atomic<uint32_t> finished;
  std::array<std::atomic<int32_t>, kAttempts.size()> outcomes;
  LandlockOutcomes landlock_outcomes;
};
static_assert(std::is_standard_layout_v<ProbePage>);

inline constexpr uint64_t kSecret = 0x70656E73746F636B;  // what the probe must not read or change

}  // namespace penstock::sandbox
