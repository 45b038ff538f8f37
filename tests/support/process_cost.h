// What a process costs, as the kernel counts it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock::testing {

struct MemoryUse {
  uint64_t own_bytes = 0;     // its private memory, and the files that it maps (its program)
  uint64_t shared_bytes = 0;  // of shared memory, what it touched
};

// Nothing where the process is gone.
MemoryUse MemoryOf(pid_t pid);

// Processor time since it began, of all its threads.
std::chrono::nanoseconds CpuTimeOf(pid_t pid);

size_t OpenDescriptorsOf(pid_t pid);
std::vector<pid_t> ChildrenOf(pid_t pid);

// What its descriptors and its mappings are of, each as often as there is one: "socket", "pipe",
// "anon_inode:[pidfd]", a file's path. Memory of no file is "".
std::vector<std::string> DescriptorsOf(pid_t pid);
std::vector<std::string> MappingsOf(pid_t pid);

}  // namespace penstock::testing
