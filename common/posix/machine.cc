#include "common/posix/machine.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace penstock::posix {
namespace {

constexpr int kMaxCores = 16384;
constexpr uint64_t kMaxLimit = uint64_t{1} << 60;  // v1 writes about 2⁶³ for "no limit"

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

uint32_t AffinityCores(pid_t process) {
  // The kernel rejects the usual set of 1024 bits on larger machines: double it until it fits.
  for (int cores = CPU_SETSIZE; cores <= kMaxCores; cores *= 2) {
    cpu_set_t* set = CPU_ALLOC(cores);
    const size_t bytes = CPU_ALLOC_SIZE(cores);
    const bool fits = ::sched_getaffinity(process, bytes, set) == 0;
    const int count = fits ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return static_cast<uint32_t>(count);
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

std::optional<uint64_t> NumberIn(const std::string& path) {
  uint64_t number = 0;
  if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(ReadFile(path)), &number)) return std::nullopt;
  return number;
}

// The number in a line "key value" (memory.stat) or "key: value kB" (/proc/meminfo); 0 if there is
// no such line.
uint64_t KeyedNumber(const std::string& path, absl::string_view key) {
  const std::string text = ReadFile(path);
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    uint64_t number = 0;
    if (words.size() < 2 || absl::StripSuffix(words[0], ":") != key) continue;
    if (!absl::SimpleAtoi(words[1], &number)) continue;
    if (words.size() < 3 || words[2] != "kB") return number;
    return number <= std::numeric_limits<uint64_t>::max() / 1024 ? number * 1024 : 0;
  }
  return 0;
}

template <typename T>
void Lower(std::optional<T>& least, T value) {
  least = least.has_value() ? std::min(*least, value) : value;
}

// Page cache counts as free, as in MemAvailable: the kernel reclaims it. That includes active
// pages, such as files that every epoch reads.
uint64_t PageCache(const std::string& folder, absl::string_view prefix) {
  const std::string stat = folder + "/memory.stat";
  return KeyedNumber(stat, absl::StrCat(prefix, "inactive_file")) +
         KeyedNumber(stat, absl::StrCat(prefix, "active_file"));
}

void LowerByLimit(uint64_t limit, uint64_t used, uint64_t cache, Machine& machine) {
  if (limit >= kMaxLimit) return;
  const uint64_t kept = used - std::min(used, cache);
  const uint64_t left = limit - std::min(limit, kept);
  if (machine.cgroup_bytes.has_value() && *machine.cgroup_bytes <= left) return;
  machine.cgroup_bytes = left;
  machine.tightest = {.limit_bytes = limit, .charged_bytes = kept};
}

// cpu.max is "200000 100000" for two cores, "max 100000" for no quota.
void ReadCgroup(const std::string& folder, Machine& machine) {
  const std::string cpu_max = ReadFile(folder + "/cpu.max");
  const std::vector<absl::string_view> words =
      absl::StrSplit(absl::StripAsciiWhitespace(cpu_max), ' ');
  double quota = 0;
  double period = 0;
  if (words.size() == 2 && absl::SimpleAtod(words[0], &quota) &&
      absl::SimpleAtod(words[1], &period) && quota > 0 && period > 0) {
    Lower(machine.quota_cores, quota / period);
  }
  std::optional<uint64_t> limit = NumberIn(folder + "/memory.max");
  // Beyond "high" the kernel slows a process down instead of ending it.
  if (const auto high = NumberIn(folder + "/memory.high"); high.has_value()) Lower(limit, *high);
  if (limit.has_value()) {
    LowerByLimit(*limit, NumberIn(folder + "/memory.current").value_or(0), PageCache(folder, ""),
                 machine);
  }
}

void ReadCpuCgroupV1(const std::string& folder, Machine& machine) {
  const auto quota = NumberIn(folder + "/cpu.cfs_quota_us");  // -1: none
  const auto period = NumberIn(folder + "/cpu.cfs_period_us");
  if (quota.value_or(0) > 0 && period.value_or(0) > 0)
    Lower(machine.quota_cores, static_cast<double>(*quota) / static_cast<double>(*period));
}

void ReadMemoryCgroupV1(const std::string& folder, Machine& machine) {
  const auto limit = NumberIn(folder + "/memory.limit_in_bytes");
  if (!limit.has_value()) return;
  machine.cgroups = Cgroups::kV1;
  LowerByLimit(*limit, NumberIn(folder + "/memory.usage_in_bytes").value_or(0),
               PageCache(folder, "total_"), machine);
}

// Reads a cgroup and its ancestors up to the root. In a container the path may be the host's; then
// only the root exists.
template <typename Read>
void ReadUpwards(const std::string& top, absl::string_view path, Machine& machine,
                 const Read& read) {
  std::string at(path);
  while (!at.empty()) {
    read(absl::StrCat(top, "/", at), machine);
    const size_t slash = at.rfind('/');
    at.resize(slash == std::string::npos ? 0 : slash);
  }
  read(top, machine);
}

// Parses lines like "0::/pods/trainer" (v2) and "4:cpu,cpuacct:/pods" (v1).
void ReadCgroups(const std::string& root, const std::string& process, Machine& machine) {
  const std::string top = root + "/sys/fs/cgroup";
  std::string cpu, memory;
  const std::string ours = ReadFile(process + "/cgroup");
  for (const absl::string_view line : absl::StrSplit(ours, '\n')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() < 3) continue;
    absl::string_view path = parts[2];
    if (!absl::ConsumePrefix(&path, "/")) continue;
    if (parts[0] == "0" && parts[1].empty()) {
      machine.cgroups = Cgroups::kV2;
      ReadUpwards(top, path, machine, ReadCgroup);
    }
    for (const absl::string_view controller : absl::StrSplit(parts[1], ',')) {
      if (controller == "cpu") cpu = std::string(path);
      if (controller == "memory") memory = std::string(path);
    }
  }
  ReadUpwards(top + "/cpu", cpu, machine, ReadCpuCgroupV1);
  ReadUpwards(top + "/memory", memory, machine, ReadMemoryCgroupV1);
}

}  // namespace

uint32_t Machine::Cores() const {
  if (!quota_cores.has_value()) return affinity_cores;
  const double allowed = std::clamp(*quota_cores, 1.0, static_cast<double>(affinity_cores));
  return static_cast<uint32_t>(allowed);
}

uint64_t Machine::Memory() const {
  return std::min(available_bytes, cgroup_bytes.value_or(available_bytes));
}

Machine ReadMachine(const std::string& root, pid_t process) {
  const std::string folder =
      absl::StrCat(root, "/proc/", process == 0 ? "self" : absl::StrCat(process));
  Machine machine;
  machine.affinity_cores = AffinityCores(process);
  machine.available_bytes = KeyedNumber(root + "/proc/meminfo", "MemAvailable");
  ReadCgroups(root, folder, machine);
  return machine;
}

}  // namespace penstock::posix
