// What this machine leaves to a process: cores by affinity and cgroup quota, memory by the
// kernel and cgroup limits (v2, and v1 where it is mounted as usual). Read once; any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace penstock::posix {

enum class Cgroups { kNone, kV1, kV2 };  // what limits memory here

struct MemoryCgroup {
  uint64_t limit_bytes = 0;
  uint64_t charged_bytes = 0;  // without page cache that nobody uses
};

struct Machine {
  uint32_t affinity_cores = 1;
  std::optional<double> quota_cores;     // the least of the cgroups on the way to the root
  uint64_t available_bytes = 0;          // MemAvailable
  std::optional<uint64_t> cgroup_bytes;  // that the tightest cgroup still leaves
  std::optional<MemoryCgroup> tightest;  // that one
  Cgroups cgroups = Cgroups::kNone;

  // At least 1; a quota of 2.5 counts as 2.
  uint32_t Cores() const;
  uint64_t Memory() const;
};

// `root` is "" but for tests: what stands before /proc and /sys. `process`: to whom it is left; 0:
// us.
Machine ReadMachine(const std::string& root = "", pid_t process = 0);

}  // namespace penstock::posix
