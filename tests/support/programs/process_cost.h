// The resources that a process uses, as the kernel counts them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock::testing {

struct MemoryUse {
  uint64_t own_bytes = 0;     // private memory, plus the files that it maps (its program)
  uint64_t shared_bytes = 0;  // shared memory that it has touched
};

// Zeros if the process is gone.
MemoryUse MemoryOf(pid_t pid);

// Processor time of all its threads since it started.
std::chrono::nanoseconds CpuTimeOf(pid_t pid);

size_t OpenDescriptorsOf(pid_t pid);
std::vector<pid_t> ChildrenOf(pid_t pid);

// What its descriptors and mappings refer to, one entry each: "socket", "pipe",
// "anon_inode:[pidfd]", a file's path. Anonymous memory is "".
std::vector<std::string> DescriptorsOf(pid_t pid);
std::vector<std::string> MappingsOf(pid_t pid);

}  // namespace penstock::testing
