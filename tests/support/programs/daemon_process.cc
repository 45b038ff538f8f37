#include "tests/support/programs/daemon_process.h"

#include <fcntl.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <thread>

#include "penstock/v1/admin.grpc.pb.h"
#include "tests/support/programs/process_cost.h"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Creates a terminal. Returns our end of it, and sets `path` to the program's end.
int OpenTerminal(std::string& path) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  EXPECT_TRUE(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
  path = ptsname(terminal);
  return terminal;
}

// Forks and executes in a new process group, with standard error going to `log`. With a terminal,
// the child becomes its foreground process.
pid_t Spawn(const std::vector<std::string>& argv, const std::string& log, const Identity& user,
            const std::string& terminal) {
  std::vector<char*> raw;
  for (const std::string& argument : argv) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  if (terminal.empty()) {
    setpgid(0, 0);
  } else {
    setsid();
    dup2(open(terminal.c_str(), O_RDWR), 0);  // becomes the controlling terminal
  }
  dup2(open(log.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600), 2);
  user.Become();
  execv(raw[0], raw.data());
  _exit(127);
}

std::unique_ptr<v1::AdminService::Stub> StubAt(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt("grpc.use_local_subchannel_pool", 1);
  return v1::AdminService::NewStub(
      grpc::CreateCustomChannel("unix:" + address, grpc::InsecureChannelCredentials(), arguments));
}

template <typename Request, typename Response>
Response Call(v1::AdminService::Stub& stub,
              grpc::Status (v1::AdminService::Stub::*method)(grpc::ClientContext*, const Request&,
                                                             Response*)) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
  Response response;
  const grpc::Status status = (stub.*method)(&context, Request(), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  std::string name = std::filesystem::temp_directory_path() / "penstock-test-XXXXXX";
  path_ = mkdtemp(name.data());
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

const std::string& Photographs(int count) {
  static TemporaryDirectory root;
  static std::map<int, std::string> made;
  std::string& folder = made[count];
  if (!folder.empty()) return folder;
  folder = root.path() + "/" + std::to_string(count);
  const std::string command = ProgramPath("penstock-make-photographs") + " " + folder +
                              " --images " + std::to_string(count) + " > /dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return folder;
}

DaemonProcess::DaemonProcess(Options options) : options_(std::move(options)) {
  EXPECT_EQ(chmod(directory().c_str(), 0755), 0);
  if (options_.config.empty()) {  // otherwise the daemon creates it
    EXPECT_EQ(mkdir((directory() + "/run").c_str(), 0700), 0);
  }
  GiveToUser(directory());
  GiveToUser(directory() + "/run");
  Start();
}

void DaemonProcess::GiveToUser(const std::string& path) {
  const uid_t user = options_.user.user;
  if (options_.user.IsOurs() || !std::filesystem::exists(path)) return;
  EXPECT_EQ(chown(path.c_str(), user, user), 0) << path;
}

DaemonProcess::~DaemonProcess() {
  if (pid_ > 0) Kill(SIGTERM);
  if (terminal_ >= 0) close(terminal_);
  if (::testing::Test::HasFailure()) std::fprintf(stderr, "daemon's log:\n%s", log().c_str());
}

void DaemonProcess::Start() {
  std::vector<std::string> argv = options_.under;
  argv.insert(argv.end(),
              {ProgramPath("penstockd"), "--workers", std::to_string(options_.workers)});
  if (options_.config.empty()) {
    argv.insert(argv.end(), {"--private", directory() + "/run"});
  } else {
    Rewrite(options_.config);
    argv.insert(argv.end(), {"--config", directory() + "/config.yaml"});
  }
  setenv("XDG_CACHE_HOME", (directory() + "/cache").c_str(), 1);
  std::string terminal;
  if (options_.on_terminal && terminal_ >= 0) close(terminal_);
  if (options_.on_terminal) terminal_ = OpenTerminal(terminal);
  pid_ = Spawn(argv, directory() + "/log", options_.user, terminal);
  ASSERT_TRUE(Eventually([this] { return Answers() || (options_.may_die && HasEnded()); }))
      << log();
}

bool DaemonProcess::HasEnded() const {
  siginfo_t info = {};
  return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid_;
}

void DaemonProcess::Rewrite(const std::string& config) {
  std::string text = config;
  // Most tests end a daemon in the middle of epochs and don't wait for these to drain.
  const bool drains = text.find("drain_for") != std::string::npos;
  text.replace(text.find("SOCKET"), 6, address() + (drains ? "" : ", drain_for: 0s"));
  std::ofstream(directory() + "/config.yaml") << text;
}

int DaemonProcess::Kill(int signal) {
  Signal(signal);
  return Reap("signal " + std::to_string(signal));
}

int DaemonProcess::PressCtrlC() {
  constexpr char kCtrlC = 3;
  EXPECT_EQ(write(terminal_, &kCtrlC, 1), 1);
  return Reap("Ctrl-C");
}

int DaemonProcess::Reap(const std::string& after) {
  int status = 0;
  const auto deadline = steady_clock::now() + std::chrono::seconds(10);
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (steady_clock::now() > deadline) {
      ADD_FAILURE() << "the daemon did not end within 10 s of " << after;
      kill(pid_, SIGKILL);
      waitpid(pid_, &status, 0);
      break;
    }
    std::this_thread::sleep_for(milliseconds(5));
  }
  pid_ = -1;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

std::string DaemonProcess::log() const {
  std::stringstream text;
  text << std::ifstream(directory() + "/log").rdbuf();
  return text.str();
}

bool DaemonProcess::Answers() {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + milliseconds(500));
  v1::GetStatusResponse response;
  if (!StubAt(admin_address())->GetStatus(&context, {}, &response).ok()) return false;
  return response.serving() || !options_.serves;
}

v1::GetStatusResponse DaemonProcess::Status() {
  return Call(*StubAt(admin_address()), &v1::AdminService::Stub::GetStatus);
}

v1::ListSessionsResponse DaemonProcess::Sessions() {
  return Call(*StubAt(admin_address()), &v1::AdminService::Stub::ListSessions);
}

v1::ListQuarantineResponse DaemonProcess::Quarantine() {
  return Call(*StubAt(admin_address()), &v1::AdminService::Stub::ListQuarantine);
}

std::vector<pid_t> DaemonProcess::IndexerPids() const {
  std::vector<pid_t> indexers;
  for (const pid_t pid : ChildrenOf(pid_)) {
    std::string name;
    std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/comm"), name);
    if (name == "penstock-indexe") indexers.push_back(pid);  // the kernel keeps 15 letters
  }
  return indexers;
}

v1::ListWorkersResponse DaemonProcess::Workers() {
  return Call(*StubAt(admin_address()), &v1::AdminService::Stub::ListWorkers);
}

std::vector<pid_t> DaemonProcess::WorkerPids() {
  std::vector<pid_t> pids;
  const auto response = Workers();
  for (const v1::WorkerStatus& worker : response.workers())
    if (worker.pid() > 0) pids.push_back(worker.pid());
  return pids;
}

Ended DaemonProcess::Ctl(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--address", address()});
  return RunProgram("penstockctl", arguments);
}

bool DaemonProcess::Eventually(const std::function<bool()>& condition, double seconds) {
  const auto deadline = steady_clock::now() + std::chrono::duration<double>(seconds);
  while (steady_clock::now() < deadline) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return condition();
}

}  // namespace penstock::testing
