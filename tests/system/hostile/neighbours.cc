#include "tests/system/hostile/neighbours.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

namespace penstock::testing {
namespace fs = std::filesystem;

namespace {

// Private dirty memory, which grows when something leaks.
uint64_t PrivateDirtyOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/smaps_rollup");
  for (std::string word; file >> word;)
    if (uint64_t kib = 0; word == "Private_Dirty:" && file >> kib) return kib << 10;
  return 0;
}

[[noreturn]] void RunForEver(std::vector<char*>& raw, const Identity& as) {
  for (;;) {
    const pid_t child = fork();
    if (child == 0) {
      as.Become();
      execv(raw[0], raw.data());
      _exit(127);
    }
    waitpid(child, nullptr, 0);
    usleep(50'000);
  }
}

}  // namespace

std::unique_ptr<DaemonProcess> DaemonOfNeighbours(const NeighbourhoodOptions& options) {
  const fs::path data = Photographs(options.photographs);
  fs::permissions(data.parent_path(), fs::perms(0755));
  std::string config = "server: {socket: SOCKET, group: '" + std::to_string(kSharedGroup) +
                       "', state_dir: ''" + options.server + "}\n";
  if (options.sections.find("pool:") == std::string::npos) config += "pool: {max: 128MiB}\n";
  config += options.sections + "datasets: [{name: photographs, folder: " + data.string() + "}]\n";
  return std::make_unique<DaemonProcess>(
      DaemonProcess::Options{.workers = options.workers,
                             .config = config,
                             .user = {.user = kDaemonUid, .groups = {kSharedGroup}}});
}

uint64_t ChosenSeed() {
  const char* given = std::getenv("PENSTOCK_TEST_SEED");
  const uint64_t seed =
      given != nullptr
          ? std::strtoull(given, nullptr, 10)
          : static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  std::printf("seed %lu (replay: PENSTOCK_TEST_SEED=%lu)\n", static_cast<unsigned long>(seed),
              static_cast<unsigned long>(seed));
  std::fflush(stdout);
  return seed;
}

double ChosenSeconds(double usual) {
  const char* given = std::getenv("PENSTOCK_TEST_SECONDS");
  return given == nullptr ? usual : std::atof(given);
}

Persistent::Persistent(const std::string& program, const std::vector<std::string>& arguments,
                       const Identity& as, const std::string& log) {
  const std::string path = ProgramPath(program);
  std::vector<char*> raw = {const_cast<char*>(path.c_str())};
  for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  group_ = fork();
  if (group_ != 0) {
    setpgid(group_, group_);
    return;
  }
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  RunForEver(raw, as);
}

Persistent::~Persistent() {
  kill(-group_, SIGKILL);
  waitpid(group_, nullptr, 0);
}

std::string Holdings::ToString() const {
  char text[160];
  std::snprintf(text, sizeof(text), "%.1f MiB private, %zu descriptors, %zu threads, %zu children",
                static_cast<double>(private_bytes) / (1 << 20), descriptors, threads, children);
  return text;
}

Holdings HoldingsOf(pid_t pid) {
  std::error_code gone;
  const auto tasks = fs::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone);
  return {.private_bytes = PrivateDirtyOf(pid),
          .descriptors = OpenDescriptorsOf(pid),
          .threads = gone ? 0 : static_cast<size_t>(std::distance(begin(tasks), end(tasks))),
          .children = ChildrenOf(pid).size()};
}

struct PeakOf::State {
  std::mutex mutex;
  bool stopping = false;
  Holdings peak;
  std::thread thread;
};

PeakOf::PeakOf(pid_t pid) : state_(std::make_unique<State>()) {
  state_->thread = std::thread([state = state_.get(), pid] {
    for (;;) {
      const Holdings now = HoldingsOf(pid);
      {
        const std::lock_guard lock(state->mutex);
        if (state->stopping) return;
        Holdings& peak = state->peak;
        peak.private_bytes = std::max(peak.private_bytes, now.private_bytes);
        peak.descriptors = std::max(peak.descriptors, now.descriptors);
        peak.threads = std::max(peak.threads, now.threads);
        peak.children = std::max(peak.children, now.children);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  });
}

PeakOf::~PeakOf() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->thread.join();
}

Holdings PeakOf::peak() const {
  const std::lock_guard lock(state_->mutex);
  return state_->peak;
}

}  // namespace penstock::testing
