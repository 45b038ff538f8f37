// A real penstockd for system tests, in a directory of its own; killed and cleaned up at the end.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "penstock/v1/admin.pb.h"
#include "tests/support/program.h"

namespace penstock::testing {

// A directory under the test's temporary folder, removed with everything in it at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A folder of generated photographs, made once for each count in this process.
const std::string& Photographs(int count);

class DaemonProcess {
 public:
  struct Options {
    int workers = 1;
    // YAML in which {socket: SOCKET …} stands for the address; does not drain where it does not say
    // so. Empty: a private daemon.
    std::string config;
    bool serves = true;        // Start waits until it is ready, not only until it answers
    Identity user;             // whom it runs as
    bool on_terminal = false;  // of its own, whose foreground it has
    // A program by its path, with arguments, that the daemon is started under; pid() is that one's.
    std::vector<std::string> under = {};
  };
  explicit DaemonProcess(Options options);
  ~DaemonProcess();  // SIGTERM, then SIGKILL after 10 s

  void Start();  // again, after Kill
  void Signal(int signal) { kill(pid_, signal); }
  void Rewrite(const std::string& config);  // its configuration's file, as Options has it
  // Ends it with a signal and waits; its exit code, or minus the signal that killed it.
  int Kill(int signal);
  // Presses Ctrl-C on its terminal, waits, and tells its exit code as Kill does.
  int PressCtrlC();

  pid_t pid() const { return pid_; }
  const std::string& directory() const { return directory_.path(); }
  std::string address() const { return directory_.path() + "/run/penstock.sock"; }
  // Where operators call: apart, unless it is a private daemon.
  std::string admin_address() const {
    return options_.config.empty() ? address() : directory_.path() + "/run-admin/admin.sock";
  }
  std::string log() const;

  v1::GetStatusResponse Status();
  v1::ListSessionsResponse Sessions();
  v1::ListQuarantineResponse Quarantine();
  std::vector<pid_t> WorkerPids();
  // Runs penstockctl.
  Ended Ctl(std::vector<std::string> arguments);
  // Waits until the condition holds or 10 s are over; whether it holds.
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
