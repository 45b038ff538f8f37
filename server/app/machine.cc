#include "server/app/machine.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace penstock::app {
namespace {

constexpr char kCgroupRoot[] = "/sys/fs/cgroup";
constexpr int kMaxCores = 16384;

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

uint32_t AffinityCores() {
  // A set of the usual 1024 bits is refused on larger machines: ask with more until it fits.
  for (int cores = CPU_SETSIZE; cores <= kMaxCores; cores *= 2) {
    cpu_set_t* set = CPU_ALLOC(cores);
    const size_t bytes = CPU_ALLOC_SIZE(cores);
    const bool fits = ::sched_getaffinity(0, bytes, set) == 0;
    const int count = fits ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return static_cast<uint32_t>(count);
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

// Our cgroup and those above it, up to the root.
std::vector<CgroupFiles> ReadCgroups() {
  std::vector<CgroupFiles> cgroups;
  auto path = ParseCgroupPath(ReadFile("/proc/self/cgroup"));
  if (!path) return cgroups;
  for (std::string at = *path == "/" ? "" : *path;; at = at.substr(0, at.rfind('/'))) {
    const std::string folder = absl::StrCat(kCgroupRoot, at);
    cgroups.push_back({ReadFile(folder + "/cpu.max"), ReadFile(folder + "/memory.max"),
                       ReadFile(folder + "/memory.current"), ReadFile(folder + "/memory.stat")});
    if (at.empty() || at.rfind('/') == std::string::npos) return cgroups;
  }
}

uint64_t LeftBy(const CgroupFiles& cgroup) {
  constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
  const auto limit = ParseMemoryLimit(cgroup.memory_max);
  if (!limit) return kNoLimit;
  const uint64_t current = ParseMemoryLimit(cgroup.memory_current).value_or(0);
  const uint64_t cache = ParseKeyedNumber(cgroup.memory_stat, "inactive_file").value_or(0);
  const uint64_t used = current - std::min(current, cache);
  return *limit - std::min(*limit, used);
}

}  // namespace

std::optional<std::string> ParseCgroupPath(absl::string_view text) {
  for (absl::string_view line : absl::StrSplit(text, '\n'))
    if (absl::ConsumePrefix(&line, "0::") && !line.empty() && line[0] == '/')
      return std::string(line);
  return std::nullopt;
}

std::optional<double> ParseCpuMax(absl::string_view text) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(absl::StripAsciiWhitespace(text), ' ');
  uint64_t quota = 0, period = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &quota) ||
      !absl::SimpleAtoi(parts[1], &period) || quota == 0 || period == 0)
    return std::nullopt;
  return static_cast<double>(quota) / static_cast<double>(period);
}

std::optional<uint64_t> ParseMemoryLimit(absl::string_view text) {
  uint64_t bytes = 0;
  if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &bytes)) return std::nullopt;
  return bytes;
}

std::optional<uint64_t> ParseKeyedNumber(absl::string_view text, absl::string_view key) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    uint64_t number = 0;
    if (words.size() < 2 || absl::StripSuffix(words[0], ":") != key ||
        !absl::SimpleAtoi(words[1], &number))
      continue;
    const uint64_t factor = words.size() > 2 && words[2] == "kB" ? 1024 : 1;
    if (number > std::numeric_limits<uint64_t>::max() / factor) return std::nullopt;
    return number * factor;
  }
  return std::nullopt;
}

Machine MachineFrom(uint32_t affinity_cores, absl::string_view meminfo,
                    const std::vector<CgroupFiles>& cgroups) {
  Machine machine{std::max(affinity_cores, 1u),
                  ParseKeyedNumber(meminfo, "MemAvailable").value_or(0)};
  for (const CgroupFiles& cgroup : cgroups) {
    const auto quota = ParseCpuMax(cgroup.cpu_max);
    if (quota && *quota < machine.cores)
      machine.cores = std::max(1u, static_cast<uint32_t>(*quota));
    machine.available_bytes = std::min(machine.available_bytes, LeftBy(cgroup));
  }
  return machine;
}

Machine ReadMachine() {
  return MachineFrom(AffinityCores(), ReadFile("/proc/meminfo"), ReadCgroups());
}

}  // namespace penstock::app
