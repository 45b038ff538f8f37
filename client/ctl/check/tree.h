// What the trees /proc and /sys say of this machine and of single processes. Read once, nothing is
// kept; what is missing or cannot be read has no value. `root` is "" but for tests: what stands
// before /proc and /sys.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/ctl/check/text.h"
#include "common/posix/machine.h"

namespace penstock::ctl {

struct PciGpu {
  std::string address;      // "0000:3b:00.0"
  std::optional<int> node;  // of NUMA, where the machine says so
};

struct NumaNode {
  uint32_t id = 0;
  std::vector<IdRange> cores;
};

struct SystemFacts {
  std::string kernel;      // "6.1.0-18-amd64"
  std::string shmem_huge;  // what a memfd's pages are made of: "never", "always", …; "": not known
  uint64_t memory_bytes = 0;
  uint64_t huge_free_bytes = 0;  // reserved as huge pages and not used
  std::vector<NumaNode> nodes;
  std::vector<PciGpu> gpus;  // NVIDIA's, whether a driver has them or not
  std::string driver;        // of the kernel: "580.159.04"; "": none is loaded
};

SystemFacts ReadSystem(const std::string& root = "");

struct ProcessFacts {
  pid_t pid = 0;
  posix::Machine machine;  // what is left to it
  std::optional<Identity> identity;
  std::optional<Limit> files, memlock, file_size;
  std::vector<IdRange> cores;                     // that it may run on
  std::map<std::string, std::string> namespaces;  // by name, like user; those that we may see
  std::optional<bool> whole_user_map;
  std::vector<Mount> mounts;
};

// 0: this process.
ProcessFacts ReadProcess(pid_t pid, const std::string& root = "");

}  // namespace penstock::ctl
