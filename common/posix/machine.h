// The resources available to a process on this machine: cores by affinity and cgroup quota, memory
// by the kernel and cgroup limits (v2, and v1 at its usual mount points). Read once. Any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace penstock::posix {

enum class Cgroups { kNone, kV1, kV2 };  // the cgroup version that limits memory here

struct MemoryCgroup {
  uint64_t limit_bytes = 0;
  uint64_t charged_bytes = 0;  // without page cache
};

struct Machine {
  uint32_t affinity_cores = 1;
  std::optional<double> quota_cores;          // the lowest quota on the path to the root cgroup
  uint64_t available_bytes = 0;               // MemAvailable
  std::optional<uint64_t> cgroup_bytes;       // left by the tightest cgroup
  std::optional<MemoryCgroup> tightest = {};  // the cgroup that leaves the least memory
  Cgroups cgroups = Cgroups::kNone;

  // At least 1; a quota of 2.5 counts as 2.
  uint32_t Cores() const;
  uint64_t Memory() const;
};

// `root` is a prefix for /proc and /sys, used only by tests. `process`: whose resources to read; 0
// means this process.
Machine ReadMachine(const std::string& root = "", pid_t process = 0);

}  // namespace penstock::posix
