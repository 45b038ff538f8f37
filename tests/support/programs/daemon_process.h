// A real penstockd for system tests, in its own directory. The destructor ends it and removes the
// directory.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "penstock/v1/admin.pb.h"
#include "tests/support/programs/program.h"

namespace penstock::testing {

// A directory under the test's temporary folder, removed with its content at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A folder with `count` generated photographs, created once per count in this process.
const std::string& Photographs(int count);

class DaemonProcess {
 public:
  struct Options {
    int workers = 1;
    // The configuration in YAML; SOCKET in {socket: SOCKET …} stands for the address. The daemon
    // doesn't drain unless `config` says so. Empty: a private daemon.
    std::string config = {};
    bool serves = true;        // Start waits until the daemon is ready, not only until it answers
    bool may_die = false;      // the daemon may end before that; Start then returns
    Identity user = {};        // the user that runs it
    bool on_terminal = false;  // on a terminal of its own, in the foreground
    // A program (path and arguments) that runs the daemon. pid() is then that program's.
    std::vector<std::string> under = {};
  };
  explicit DaemonProcess(Options options);
  ~DaemonProcess();  // SIGTERM, then SIGKILL after 10 s

  void Start();  // may be called again after Kill
  void Signal(int signal) { kill(pid_, signal); }
  void Rewrite(const std::string& config);  // replaces its configuration file, as in Options
  // Sends the signal and waits. Returns the exit code, or minus the signal that killed it.
  int Kill(int signal);
  // Presses Ctrl-C on its terminal and waits. Returns the same as Kill.
  int PressCtrlC();

  pid_t pid() const { return pid_; }
  const std::string& directory() const { return directory_.path(); }
  std::string config_path() const { return directory_.path() + "/config.yaml"; }
  std::string address() const { return directory_.path() + "/run/penstock.sock"; }
  // Whether the daemon has ended by itself. Kill(0) then returns how.
  bool HasEnded() const;
  // Where operators call: a separate socket, except with a private daemon.
  std::string admin_address() const {
    return options_.config.empty() ? address() : directory_.path() + "/run-admin/admin.sock";
  }
  std::string log() const;

  v1::GetStatusResponse Status();
  v1::ListSessionsResponse Sessions();
  v1::ListQuarantineResponse Quarantine();
  v1::ListWorkersResponse Workers();
  std::vector<pid_t> WorkerPids();
  // Its processes that parse files now, or did so some seconds ago.
  std::vector<pid_t> IndexerPids() const;
  // Runs penstockctl.
  Ended Ctl(std::vector<std::string> arguments);
  // Waits up to `seconds` for the condition. Returns whether it holds.
  bool Eventually(const std::function<bool()>& condition, double seconds = 10);

 private:
  bool Answers();
  void GiveToUser(const std::string& path);
  int Reap(const std::string& after);

  const Options options_;
  TemporaryDirectory directory_;
  pid_t pid_ = -1;
  int terminal_ = -1;  // our end
};

}  // namespace penstock::testing
