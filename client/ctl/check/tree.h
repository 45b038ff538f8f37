// Reads facts about this machine and about single processes from /proc and /sys. Keeps nothing. A
// missing or unreadable file leaves its fact unset. `root` is a prefix for /proc and /sys; only
// tests set it.
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
  std::optional<int> node;  // NUMA node, if the machine reports it
};

struct NumaNode {
  uint32_t id = 0;
  std::vector<IdRange> cores;
};

struct SystemFacts {
  std::string kernel;      // "6.1.0-18-amd64"
  std::string shmem_huge;  // huge pages for a memfd: "never", "always", …; "": unknown
  uint64_t memory_bytes = 0;
  uint64_t huge_free_bytes = 0;  // reserved as huge pages, and unused
  std::vector<NumaNode> nodes;
  std::vector<PciGpu> gpus;  // NVIDIA's, with or without a driver
  std::string driver;        // kernel driver: "580.159.04"; "": none is loaded
};

SystemFacts ReadSystem(const std::string& root = "");

struct ProcessFacts {
  pid_t pid = 0;
  posix::Machine machine;  // the resources that it has
  std::optional<Identity> identity;
  std::optional<Limit> files, memlock, file_size;
  std::vector<IdRange> cores;  // those that it may run on
  std::map<std::string, std::string>
      namespaces;  // by name, such as "user"; those that are visible to us
  std::optional<bool> whole_user_map;
  std::vector<Mount> mounts;
};

// pid 0: this process.
ProcessFacts ReadProcess(pid_t pid, const std::string& root = "");

}  // namespace penstock::ctl
