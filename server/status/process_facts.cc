#include "server/status/process_facts.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>

namespace penstock::status {
namespace {

double ToSeconds(clockid_t clock) {
  timespec time = {};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

uint64_t OpenFds() {
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  uint64_t count = 0;
  while (const dirent* entry = ::readdir(folder)) count += entry->d_name[0] != '.';
  ::closedir(folder);
  return count - 1;  // without the descriptor of this directory itself
}

// In clock ticks since boot: field 22 of proc(5)'s stat, after the program's name, which may
// contain anything.
double StartTime() {
  std::ifstream file("/proc/self/stat");
  std::string stat;
  std::getline(file, stat);
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  size_t at = name_end + 1;
  for (int field = 2; field < 21 && at != std::string::npos; ++field) at = stat.find(' ', at + 1);
  if (at == std::string::npos) return 0;
  const double ticks = std::strtod(stat.c_str() + at, nullptr);
  const double since_boot = ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return ToSeconds(CLOCK_REALTIME) - ToSeconds(CLOCK_BOOTTIME) + since_boot;
}

uint64_t MaxFds() {
  rlimit limit = {};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

}  // namespace

ProcessFacts ReadProcessFacts() {
  static const double start_time = StartTime();  // constant for the process's life
  return {.cpu_seconds = ToSeconds(CLOCK_PROCESS_CPUTIME_ID),
          .resident_bytes = ResidentBytes(),
          .open_fds = OpenFds(),
          .max_fds = MaxFds(),
          .start_time = start_time};
}

}  // namespace penstock::status
