// The page between the daemon and a host, the process that a trainer forks so that it forks Python
// workers. It holds state rather than messages: nothing overflows, and either side may read it
// again at any time.
//
// **Ownership**: one memfd for each host, made by the daemon, mapped read-write by both sides, and
// never reused. Each field has one writer. The daemon copies what the host wrote, then checks the
// copy.
//
//   daemon                                     host
//   wanted_starts = starts + 1, notify      →  forks a worker for the place: pid, starts + 1
//   reads how it ended                      ←  reaps it: exit_status, words, ended (release),
//   notify
//
// A place has at most one process at a time. A place's starts are counted from 1.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace penstock::shm {

inline constexpr uint64_t kPythonHostMagic = 0x54534F484B545350;  // "PSTKHOST", little endian
inline constexpr uint32_t kPythonHostVersion = 1;
inline constexpr uint32_t kMaxPythonWorkers = 256;  // of one host

// Where one Python worker runs at a time.
struct PythonPlace {
  // Written by the daemon. The host forks a worker whenever this exceeds `starts` and the one
  // before is reaped.
  alignas(64) std::atomic<uint32_t> wanted_starts;
  // The start whose process the host must kill; 0: none. The daemon also signals its pidfd, but
  // cannot if the host is in another PID namespace.
  std::atomic<uint32_t> kill;

  // Written by the host.
  alignas(64) std::atomic<uint32_t> starts;  // processes forked so far
  std::atomic<int32_t> pid;                  // of the last one, as the host knows it
  std::atomic<uint32_t> ended;               // the last start that was reaped; the rest is valid
  int32_t exit_status;                       // of that start, as waitpid(2) reports it
  // The beginning of what that start wrote to standard error; ends with a NUL byte. Constant until
  // the daemon wants another start.
  char words[512];
};
static_assert(std::is_standard_layout_v<PythonPlace>);
static_assert(offsetof(PythonPlace, kill) == 4 && offsetof(PythonPlace, starts) == 64);
static_assert(offsetof(PythonPlace, ended) == 72 && offsetof(PythonPlace, words) == 80);
static_assert(sizeof(PythonPlace) == 640);

struct alignas(64) PythonHostPage {
  // Written by the daemon once, before it sends the page.
  uint64_t magic;
  uint32_t version;
  uint32_t capacity;  // kMaxPythonWorkers

  // Written by the host.
  alignas(64) std::atomic<uint32_t> failed;  // not 0: the host cannot go on, and exits
  char error[2048];                          // why; ends with a NUL byte; valid once `failed`

  alignas(64) PythonPlace places[kMaxPythonWorkers];
};
static_assert(std::is_standard_layout_v<PythonHostPage>);
static_assert(std::atomic<uint32_t>::is_always_lock_free);
static_assert(std::atomic<int32_t>::is_always_lock_free);
static_assert(offsetof(PythonHostPage, failed) == 64 && offsetof(PythonHostPage, error) == 68);
static_assert(offsetof(PythonHostPage, places) == 2176);
static_assert(sizeof(PythonHostPage) == 2176 + 640 * kMaxPythonWorkers);

}  // namespace penstock::shm
