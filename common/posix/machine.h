// What this machine leaves to this process: cores by affinity and cgroup quota, memory by the
// kernel and cgroup limits (v2, and v1 where it is mounted as usual). Read once; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace penstock::posix {

struct Machine {
  uint32_t affinity_cores = 1;
  std::optional<double> quota_cores;     // the least of the cgroups on the way to the root
  uint64_t available_bytes = 0;          // MemAvailable
  std::optional<uint64_t> cgroup_bytes;  // that the tightest cgroup still leaves

  // At least 1; a quota of 2.5 counts as 2.
  uint32_t Cores() const;
  uint64_t Memory() const;
};

// `root` is "" but for tests: what stands before /proc and /sys.
Machine ReadMachine(const std::string& root = "");

}  // namespace penstock::posix
