#include "client/ctl/check/tree.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace penstock::ctl {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = 4 << 20;  // enough for mountinfo on a machine with many containers

// "" if it cannot be read.
std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::array<char, 4096> part;
  while (text.size() < kMostBytes && (file.read(part.data(), part.size()) || file.gcount() > 0))
    text.append(part.data(), static_cast<size_t>(file.gcount()));
  return text;
}

std::string WordIn(const std::string& path) {
  return std::string(absl::StripAsciiWhitespace(ReadFile(path)));
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<NumaNode> ReadNodes(const std::string& root) {
  std::vector<NumaNode> nodes;
  const std::string folder = root + "/sys/devices/system/node";
  for (const std::string& name : NamesIn(folder)) {
    absl::string_view digits = name;
    NumaNode node;
    if (!absl::ConsumePrefix(&digits, "node") || !absl::SimpleAtoi(digits, &node.id)) continue;
    node.cores = ParseIds(ReadFile(absl::StrCat(folder, "/", name, "/cpulist")))
                     .value_or(std::vector<IdRange>());
    nodes.push_back(std::move(node));
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const NumaNode& a, const NumaNode& b) { return a.id < b.id; });
  return nodes;
}

// NVIDIA's display controllers: PCI class 03, which includes 3D controllers.
std::vector<PciGpu> ReadGpus(const std::string& root) {
  std::vector<PciGpu> gpus;
  const std::string folder = root + "/sys/bus/pci/devices";
  for (const std::string& address : NamesIn(folder)) {
    const std::string device = absl::StrCat(folder, "/", address, "/");
    if (WordIn(device + "vendor") != "0x10de" || !WordIn(device + "class").starts_with("0x03"))
      continue;
    PciGpu gpu{.address = address, .node = {}};
    int node = -1;
    if (absl::SimpleAtoi(WordIn(device + "numa_node"), &node) && node >= 0) gpu.node = node;
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

uint64_t FreeHugeBytes(const std::string& meminfo) {
  const uint64_t pages = KeyedNumber(meminfo, "HugePages_Free").value_or(0);
  const uint64_t size = KeyedNumber(meminfo, "Hugepagesize").value_or(0);
  return size == 0 || pages > kUnlimited / size ? 0 : pages * size;
}

std::map<std::string, std::string> ReadNamespaces(const std::string& folder) {
  std::map<std::string, std::string> found;
  for (const char* name : {"pid", "user", "mnt", "ipc"}) {
    std::error_code error;
    const fs::path link = fs::read_symlink(absl::StrCat(folder, "/ns/", name), error);
    if (!error) found[name] = link;
  }
  return found;
}

template <typename Value>
std::optional<Value> Known(absl::StatusOr<Value> value) {
  return value.ok() ? std::optional<Value>(*std::move(value)) : std::nullopt;
}

}  // namespace

SystemFacts ReadSystem(const std::string& root) {
  SystemFacts facts;
  facts.kernel = WordIn(root + "/proc/sys/kernel/osrelease");
  facts.shmem_huge =
      ParseChoice(ReadFile(root + "/sys/kernel/mm/transparent_hugepage/shmem_enabled"))
          .value_or("");
  const std::string meminfo = ReadFile(root + "/proc/meminfo");
  facts.memory_bytes = KeyedNumber(meminfo, "MemTotal").value_or(0);
  facts.huge_free_bytes = FreeHugeBytes(meminfo);
  facts.nodes = ReadNodes(root);
  facts.gpus = ReadGpus(root);
  facts.driver = DriverVersion(ReadFile(root + "/proc/driver/nvidia/version"));
  return facts;
}

ProcessFacts ReadProcess(pid_t pid, const std::string& root) {
  const std::string folder = absl::StrCat(root, "/proc/", pid == 0 ? "self" : absl::StrCat(pid));
  ProcessFacts facts;
  facts.pid = pid;
  facts.machine = posix::ReadMachine(root, pid);
  const std::string status = ReadFile(folder + "/status");
  facts.identity = Known(ParseIdentity(status));
  const std::string limits = ReadFile(folder + "/limits");
  facts.files = Known(ParseLimit(limits, "Max open files"));
  facts.memlock = Known(ParseLimit(limits, "Max locked memory"));
  facts.file_size = Known(ParseLimit(limits, "Max file size"));
  const size_t at = status.find("Cpus_allowed_list:");
  if (at != std::string::npos) {
    const size_t from = status.find(':', at) + 1;
    facts.cores = ParseIds(status.substr(from, status.find('\n', from) - from))
                      .value_or(std::vector<IdRange>());
  }
  facts.namespaces = ReadNamespaces(folder);
  if (const std::string map = ReadFile(folder + "/uid_map"); !map.empty())
    facts.whole_user_map = IsWholeUserMap(map);
  facts.mounts = ParseMounts(ReadFile(folder + "/mountinfo"));
  return facts;
}

}  // namespace penstock::ctl
