// What this machine leaves to us: cores by affinity and cgroup quota, memory by cgroup and kernel.
// Parsers are pure; ReadMachine reads /proc and /sys once. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace penstock::app {

struct Machine {
  uint32_t cores = 1;            // at least 1; a quota of less counts as 1
  uint64_t available_bytes = 0;  // before we or our cgroup run out
};

// The cgroup v2 path in /proc/self/cgroup ("0::/path"); nothing where there is none.
std::optional<std::string> ParseCgroupPath(absl::string_view text);

// cpu.max: "200000 100000" is 2 cores; nothing for "max …" and for what is no quota.
std::optional<double> ParseCpuMax(absl::string_view text);

// memory.max, memory.current: a number; nothing for "max" and for what is none.
std::optional<uint64_t> ParseMemoryLimit(absl::string_view text);

// The value of a line "key value" (memory.stat) or "key: value kB" (/proc/meminfo, in bytes then).
std::optional<uint64_t> ParseKeyedNumber(absl::string_view text, absl::string_view key);

// What one cgroup says, in its files' own words; empty where a file is missing.
struct CgroupFiles {
  std::string cpu_max, memory_max, memory_current, memory_stat;
};

// The least of affinity and of every quota on the way from our cgroup to the root; and of
// MemAvailable and of what each cgroup's limit leaves. Page cache that nobody maps counts as free.
Machine MachineFrom(uint32_t affinity_cores, absl::string_view meminfo,
                    const std::vector<CgroupFiles>& cgroups);

// Of this process, now.
Machine ReadMachine();

}  // namespace penstock::app
