#include "tests/support/programs/process_cost.h"

#include <time.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace penstock::testing {
namespace {

namespace fs = std::filesystem;

std::string ProcPath(pid_t pid, const std::string& name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

// Turns "socket:[4711]" into "socket".
std::string WithoutNumber(const std::string& name) {
  const size_t number = name.find(":[");
  const bool has_one = number != std::string::npos && std::isdigit(name[number + 2]) != 0;
  return has_one ? name.substr(0, number) : name;
}

}  // namespace

MemoryUse MemoryOf(pid_t pid) {
  MemoryUse use;
  std::ifstream status(ProcPath(pid, "status"));
  for (std::string key; status >> key;) {
    uint64_t kib = 0;
    if (key == "RssAnon:" || key == "RssFile:") {
      status >> kib;
      use.own_bytes += kib * 1024;
    } else if (key == "RssShmem:") {
      status >> kib;
      use.shared_bytes = kib * 1024;
    }
  }
  return use;
}

std::chrono::nanoseconds CpuTimeOf(pid_t pid) {
  clockid_t clock;
  timespec time = {};
  if (clock_getcpuclockid(pid, &clock) == 0) clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

size_t OpenDescriptorsOf(pid_t pid) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(ProcPath(pid, "fd")), {}));
}

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  for (const auto& thread : fs::directory_iterator(ProcPath(pid, "task"))) {
    std::ifstream of_thread(thread.path() / "children");
    children.insert(children.end(), std::istream_iterator<pid_t>(of_thread), {});
  }
  return children;
}

std::vector<std::string> DescriptorsOf(pid_t pid) {
  std::vector<std::string> names;
  for (const auto& descriptor : fs::directory_iterator(ProcPath(pid, "fd"))) {
    std::error_code closed_meanwhile;
    const std::string name = fs::read_symlink(descriptor, closed_meanwhile);
    if (!closed_meanwhile) names.push_back(WithoutNumber(name));
  }
  return names;
}

std::vector<std::string> MappingsOf(pid_t pid) {
  std::vector<std::string> names;
  std::ifstream maps(ProcPath(pid, "maps"));
  for (std::string line; std::getline(maps, line);) {
    const size_t name = line.find_first_of("/[");
    names.push_back(name == std::string::npos ? "" : line.substr(name));
  }
  return names;
}

}  // namespace penstock::testing
