// Grades the machine's resources, and what the kernel and cgroups leave of them.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/ctl/check/finding.h"
#include "common/base/units.h"

namespace penstock::ctl {
namespace {

constexpr uint64_t kLittleMemory = base::kGiB;
constexpr uint64_t kNoMemory = 192 * base::kMiB;  // for a worker, the daemon and a useful pool
constexpr uint64_t kFewFiles = 4096;
constexpr uint64_t kTooFewFiles = 256;
constexpr uint64_t kManyFiles = 65536;
constexpr uint64_t kSmallFile =
    base::kGiB;  // for the file size limit: each segment of the pool is a file

std::string Bytes(uint64_t bytes) {
  return bytes == kUnlimited ? "unlimited" : base::FormatBytes(bytes);
}

std::string Number(uint64_t number) {
  return number == kUnlimited ? "unlimited" : absl::StrCat(number);
}

Finding GradeCores(const posix::Machine& machine) {
  std::string found = absl::StrCat(machine.Cores(), machine.Cores() == 1 ? " core" : " cores");
  if (machine.quota_cores.has_value()) {
    absl::StrAppend(&found, " (a cgroup quota of ", absl::StrFormat("%.1f", *machine.quota_cores),
                    " on ", machine.affinity_cores, ")");
  } else {
    absl::StrAppend(&found, " by affinity, no cgroup quota");
  }
  if (machine.Cores() > 1) return {Grade::kOk, "processor", found, ""};
  return {Grade::kWarning, "processor", found,
          "decoding and training share it; raise the cgroup's cpu.max or the affinity"};
}

Finding GradeSimd(const std::string& simd) {
  if (!simd.empty()) return {Grade::kOk, "vector unit", simd, ""};
  return {Grade::kWarning, "vector unit", "no AVX2",
          "images are resized by slower, portable code; use a processor with AVX2"};
}

std::string CgroupWords(const posix::Machine& machine) {
  const char* const version = machine.cgroups == posix::Cgroups::kV1 ? "v1" : "v2";
  if (machine.cgroups == posix::Cgroups::kNone) return "; no cgroup";
  if (!machine.tightest.has_value()) return absl::StrCat("; no cgroup limit (", version, ")");
  return absl::StrCat("; its cgroup (", version, ") has ", Bytes(machine.tightest->charged_bytes),
                      " of ", Bytes(machine.tightest->limit_bytes), " charged");
}

// What else may be raised; empty if no cgroup limits the memory.
std::string MemoryLimitOf(const posix::Machine& machine) {
  if (!machine.tightest.has_value()) return "";
  return absl::StrCat(", or raise the cgroup's ", machine.cgroups == posix::Cgroups::kV1
                                                      ? "memory.limit_in_bytes"
                                                      : "memory.max and memory.high");
}

Finding GradeMemory(const Facts& facts) {
  const posix::Machine& machine = facts.process().machine;
  const uint64_t memory = machine.Memory();
  const std::string found = absl::StrCat(Bytes(memory), " available", CgroupWords(machine));
  const std::string limit = MemoryLimitOf(machine);
  if (memory < kLittleMemory)
    return {memory < kNoMemory ? Grade::kProblem : Grade::kWarning, "memory", found,
            absl::StrCat("by default, the pool takes at most a quarter of it; free some memory",
                         limit)};
  const uint64_t to_come =
      facts.daemon.ok() && facts.daemon->pool_bytes > facts.daemon->pool_made_bytes
          ? facts.daemon->pool_bytes - facts.daemon->pool_made_bytes
          : 0;
  if (to_come > memory)
    return {
        Grade::kWarning, "memory",
        absl::StrCat(found, "; the daemon's pool may take ", Bytes(to_come), " more"),
        absl::StrCat("sessions that do not fit will be refused; lower pool.max or free some memory",
                     limit)};
  return {Grade::kOk, "memory", found, ""};
}

Finding GradeMemfd(const absl::Status& memfd) {
  if (memfd.ok()) {
    return {Grade::kOk, "shared memory", "memfd works; /dev/shm is not needed", ""};
  }
  return {Grade::kProblem, "shared memory", ToWords(memfd),
          "allow memfd_create (Linux 3.17; a container's seccomp profile may forbid it, or the "
          "sysctl vm.memfd_noexec=2)"};
}

Finding GradeHugePages(const SystemFacts& system) {
  const bool huge = system.shmem_huge == "always" || system.shmem_huge == "within_size" ||
                    system.shmem_huge == "force";
  const std::string pool = system.shmem_huge.empty()
                               ? "the kernel does not report whether the pool gets them"
                               : absl::StrCat(huge ? "the pool gets them where they fit"
                                                   : "the pool consists of 4 KiB pages",
                                              " (shmem_enabled: ", system.shmem_huge, ")");
  if (system.huge_free_bytes <= system.memory_bytes / 10)
    return {Grade::kOk, "huge pages", pool, ""};
  return {Grade::kWarning, "huge pages",
          absl::StrCat(pool, "; ", Bytes(system.huge_free_bytes), " are reserved and unused"),
          "Penstock does not use reserved huge pages; lower vm.nr_hugepages unless another program "
          "needs them"};
}

// Measured with driver 580.159: a process without privileges and with a limit of 0 can pin
// gigabytes.
Finding GradeMemlock(const std::optional<Limit>& memlock) {
  return {
      Grade::kOk, "locked memory",
      absl::StrCat("limit ", memlock ? Bytes(memlock->soft) : "unknown",
                   "; any value will do: a GPU's driver pins the pool without counting it here"),
      ""};
}

Finding GradePidfd(const absl::Status& pidfd, const absl::Status& peer_pidfd) {
  if (!pidfd.ok()) {
    return {Grade::kProblem, "process watching", ToWords(pidfd),
            "allow pidfd_open (Linux 5.3; a container's seccomp profile may forbid it)"};
  }
  if (peer_pidfd.ok()) {
    return {Grade::kOk, "process watching", "pidfd_open and SO_PEERPIDFD work", ""};
  }
  if (absl::IsUnimplemented(peer_pidfd)) {
    return {Grade::kOk, "process watching",
            "pidfd_open works; no SO_PEERPIDFD (Linux 6.5), so clients send their own pidfds", ""};
  }
  return {Grade::kWarning, "process watching", ToWords(peer_pidfd),
          "clients send their own pidfd instead"};
}

Finding GradeFiles(const std::optional<Limit>& files) {
  if (!files) return {Grade::kWarning, "open files", "the limit could not be read", "mount /proc"};
  const std::string found =
      absl::StrCat(Number(files->soft), " (at most ", Number(files->hard), ")");
  const std::string remedy = absl::StrCat("raise it: ulimit -n ", std::min(files->hard, kManyFiles),
                                          ", or LimitNOFILE=65536 in the daemon's unit");
  if (files->hard < kTooFewFiles) return {Grade::kProblem, "open files", found, remedy};
  if (files->hard < kFewFiles) return {Grade::kWarning, "open files", found, remedy};
  return {Grade::kOk, "open files", found, ""};
}

// The pool's segments are files, although in memory: a process that exceeds the limit gets SIGXFSZ.
std::optional<Finding> GradeFileSize(const std::optional<Limit>& size) {
  if (!size || size->soft == kUnlimited) return std::nullopt;
  return Finding{
      size->soft < kSmallFile ? Grade::kProblem : Grade::kWarning, "file size",
      absl::StrCat("no file may be larger than ", Bytes(size->soft)),
      "the pool's segments count as files: ulimit -f unlimited, or LimitFSIZE=infinity in "
      "the daemon's unit"};
}

std::string NodesOfGpus(const SystemFacts& system) {
  std::vector<std::string> words;
  for (const PciGpu& gpu : system.gpus)
    if (gpu.node) words.push_back(absl::StrCat("GPU ", gpu.address, " at node ", *gpu.node));
  return absl::StrJoin(words, ", ");
}

// Memory is on the node of the core that touches it first, that is, of a worker.
Finding GradeNuma(const SystemFacts& system, const ProcessFacts& process) {
  if (system.nodes.size() < 2) return {Grade::kOk, "numa", "one node", ""};
  const std::string gpus = NodesOfGpus(system);
  const std::string found =
      absl::StrCat(system.nodes.size(), " nodes", gpus.empty() ? "" : "; ", gpus);
  for (const PciGpu& gpu : system.gpus) {
    const auto near =
        std::find_if(system.nodes.begin(), system.nodes.end(), [&](const NumaNode& node) {
          return gpu.node && node.id == static_cast<uint32_t>(*gpu.node);
        });
    if (near == system.nodes.end() || process.cores.empty()) continue;
    if (near->cores.empty() || Overlap(near->cores, process.cores)) continue;
    return {Grade::kWarning, "numa",
            absl::StrCat(found, "; the daemon cannot use any core of that node"),
            absl::StrCat("batches cross between sockets on their way to the GPU: give the daemon "
                         "cores of node ",
                         near->id,
                         " (CPUAffinity= in its unit, or numactl "
                         "--cpunodebind=",
                         near->id, ")")};
  }
  return {Grade::kOk, "numa", found, ""};
}

}  // namespace

std::vector<Finding> GradeMachine(const Facts& facts) {
  const ProcessFacts& process = facts.process();
  std::vector<Finding> findings = {GradeCores(process.machine),
                                   GradeSimd(facts.simd),
                                   GradeMemory(facts),
                                   GradeMemfd(facts.memfd),
                                   GradeHugePages(facts.system),
                                   GradeMemlock(process.memlock),
                                   GradeNuma(facts.system, process),
                                   GradePidfd(facts.pidfd, facts.peer_pidfd),
                                   GradeFiles(process.files)};
  if (auto size = GradeFileSize(process.file_size)) findings.push_back(*std::move(size));
  return findings;
}

}  // namespace penstock::ctl
