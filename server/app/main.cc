// penstockd, the daemon's main program.
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/units.h"
#include "common/posix/limits.h"
#include "common/posix/process.h"
#include "common/telemetry/log.h"
#include "server/app/arguments.h"
#include "server/app/config/config.h"
#include "server/app/config/log_format.h"
#include "server/app/crash.h"
#include "server/app/daemon.h"
#include "server/app/end_limit.h"
#include "server/app/library_logs.h"
#include "server/app/notify.h"
#include "server/app/operator/admin_socket.h"
#include "server/app/operator/reload_request.h"
#include "server/app/preflight/preflight.h"
#include "server/app/systemd_notifier.h"
#include "server/app/version.h"

namespace penstock::app {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kWrongCall = 2;  // wrong arguments or configuration: restarting doesn't help

// How long a private daemon waits for its first client.
constexpr std::chrono::seconds kFirstClientWithin(60);

// Shutdown limit: calls may take 2 s of it, and supervisors rarely wait longer than 10 s.
constexpr std::chrono::seconds kEndWithin(5);

// The same after a failure, so that a supervisor hears of it within 5 s. Waiting for a lost GPU may
// take for ever.
constexpr std::chrono::seconds kFailWithin(4);

bool LogIsForPrograms() {
  return telemetry::UsesJournal() || telemetry::GetFormat() == telemetry::Format::kJson;
}

// A person at a terminal reads plain text; the journal and programs that parse JSON get an event.
int Complain(const absl::Status& status, int exit_code) {
  const std::string message(status.message());
  if (LogIsForPrograms()) {
    PENSTOCK_LOG(kError, "cannot_start", {"reason", message}, {"exit_code", exit_code});
  } else {
    std::fprintf(stderr, "penstockd: %s\n", message.c_str());
  }
  Notify(SystemdNotifier::Ending(message));
  return exit_code;
}

// The exit code for a failed start tells whether trying again may help.
int ExitCodeOf(const absl::Status& start) {
  switch (start.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kFailedPrecondition:
      return kWrongCall;
    default:
      return kFailed;
  }
}

// Errors in the file are logged.
void Reload(Daemon& daemon, const session::AskedBy& asked_by) {
  Notify(SystemdNotifier::Reloading(base::Now()));
  daemon.Reload(asked_by);
  Notify(SystemdNotifier::Reloaded());
}

// Blocks the signals that WaitForEnd handles, in this thread and those started later.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// What a check has in common with the daemon whose start it checks.
void SetUpProcess() {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes is then an error of the write
  posix::AllowAllOpenFiles();
  posix::KeepOneHeap();
}

// Handles requests to end: the first SIGTERM lets trainers finish their epochs; any further signal
// ends the daemon at once.
class Ending {
 public:
  // Why the daemon ends now; nullopt: it continues.
  std::optional<std::string> OnSignal(int number, const session::AskedBy& sender, Daemon& daemon,
                                      base::TimePoint now) {
    if (number != SIGTERM && number != SIGINT) return std::nullopt;
    const bool waits = number == SIGTERM && daemon.drain_for().count() > 0 && daemon.has_visitors();
    if (!waits || until_) return absl::StrCat("signal ", number);
    until_ = now + daemon.drain_for();
    daemon.Drain(sender);
    Notify(SystemdNotifier::Draining(daemon.drain_for()));
    return std::nullopt;
  }

  std::optional<std::string> Look(const Daemon& daemon, base::TimePoint now) const {
    if (!until_) return std::nullopt;
    if (daemon.drained()) return std::string("signal 15, and all sessions have ended");
    if (now < *until_) return std::nullopt;
    return absl::StrCat("signal 15, and ", daemon.vitals().not_drained,
                        " sessions did not finish their epochs within server.drain_for");
  }

 private:
  std::optional<base::TimePoint> until_;
};

// Waits until a signal asks to end, or the daemon was unused for `idle` (0: for ever). Returns the
// reason for the log, or an error if the daemon cannot serve any more.
absl::StatusOr<std::string> WaitForEnd(const sigset_t& signals, Daemon& daemon,
                                       base::Duration idle) {
  const base::SteadyClock clock;
  const base::TimePoint started = clock.Now();
  SystemdNotifier systemd_notifier(WatchdogTimeout());
  Ending ending;
  for (;;) {
    const timespec slice = {.tv_sec = 0,
                            .tv_nsec = systemd_notifier.ready() ? 200'000'000 : 10'000'000};
    siginfo_t sender = {};
    const int number = sigtimedwait(&signals, &sender, &slice);
    if (number > 0)
      PENSTOCK_LOG(kInfo, "operator_action", {"user", sender.si_uid}, {"pid", sender.si_pid},
                   {"method", "signal"}, {"what", number});
    const base::TimePoint now = clock.Now();
    const session::AskedBy asked_by = {.user = sender.si_uid, .pid = sender.si_pid};
    if (const auto reason = ending.OnSignal(number, asked_by, daemon, now)) return *reason;
    if (const auto reason = ending.Look(daemon, now)) return *reason;
    if (number == SIGHUP) Reload(daemon, asked_by);
    PENSTOCK_RETURN_IF_ERROR(daemon.CheckHealth());
    daemon.Tick(now);
    Notify(systemd_notifier.Next(daemon.vitals(), daemon.ready(), now));
    const bool waited = now - started >= kFirstClientWithin;
    const base::Duration alone = daemon.IdleFor(now);
    const bool visited = alone < now - started;
    if (idle.count() > 0 && alone >= idle && (visited || waited)) return std::string("idle");
  }
}

// The command line overrides the file.
absl::StatusOr<ConfigFile> ConfigFrom(const Arguments& arguments) {
  ConfigFile file;
  if (arguments.config) {
    PENSTOCK_ASSIGN_OR_RETURN(file, LoadConfig(*arguments.config));
  } else {
    PENSTOCK_ASSIGN_OR_RETURN(file.config, PrivateConfig(arguments.directory));
    if (arguments.stays) file.config.mutable_server()->set_exit_when_idle_ms(0);
  }
  if (arguments.workers) file.config.mutable_workers()->set_count(*arguments.workers);
  return file;
}

std::string AbsolutePath(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::path absolute = std::filesystem::absolute(path, unknown);
  return unknown ? path : absolute.lexically_normal().string();
}

absl::StatusOr<DaemonOptions> OptionsFrom(const Arguments& arguments) {
  DaemonOptions options;
  options.private_daemon = !arguments.config;
  PENSTOCK_ASSIGN_OR_RETURN(options.file, ConfigFrom(arguments));
  if (arguments.config) options.config_path = AbsolutePath(*arguments.config);
  if (arguments.config) options.read_again = [arguments] { return ConfigFrom(arguments); };
  return options;
}

// Parts of the daemon begin threads by std::thread, which throws if the kernel allows no more. The
// preflight has tried as many, but others may have taken them since.
absl::StatusOr<std::unique_ptr<Daemon>> StartDaemon(const DaemonOptions& options) {
  try {
    return Daemon::Start(options);
  } catch (const std::system_error& error) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a part of the daemon could not start: ", error.what(), "; raise the limit of threads ",
        "(LimitNPROC=, ulimit -u, TasksMax=, --pids-limit)"));
  }
}

int Run(const Arguments& arguments, const char* program) {
  const sigset_t signals = BlockSignals();
  if (arguments.config && FileAsksForJsonLogs(*arguments.config))
    telemetry::SetFormat(telemetry::Format::kJson);
  if (LogIsForPrograms()) LogTextOnStderr();
  ReportCrashes(program);
  SetUpProcess();
  absl::StatusOr<DaemonOptions> options = OptionsFrom(arguments);
  if (!options.ok()) return Complain(options.status(), kWrongCall);
  absl::StatusOr<std::unique_ptr<Daemon>> daemon = StartDaemon(*options);
  if (!daemon.ok()) return Complain(daemon.status(), ExitCodeOf(daemon.status()));

  const absl::StatusOr<std::string> reason =
      WaitForEnd(signals, **daemon, IdleLimit(options->file.config));
  if (reason.ok()) {
    PENSTOCK_LOG(kInfo, "ending", {"reason", *reason});
  } else {
    PENSTOCK_LOG(kError, "ending", {"reason", reason.status().message()});
  }
  Notify(SystemdNotifier::Ending(reason.ok() ? *reason : std::string(reason.status().message())));
  const int exit_code = reason.ok() ? kDone : kFailed;
  const EndLimit limit(reason.ok() ? kEndWithin : kFailWithin, exit_code);
  daemon->reset();
  return exit_code;
}

// A check is no daemon, so the service manager does not hear of it.
int Report(const std::string& path, const absl::Status& status, int exit_code) {
  if (status.ok()) {
    std::printf("%s: ok\n", path.c_str());
    return kDone;
  }
  std::fprintf(stderr, "penstockd: %s\n", std::string(status.message()).c_str());
  return exit_code;
}

int CheckConfig(const Arguments& arguments) {
  const absl::StatusOr<ConfigFile> file = ConfigFrom(arguments);
  if (!file.ok()) return Report(*arguments.config, file.status(), kWrongCall);
  SetUpProcess();
  const absl::Status starts =
      CheckStart({.file = *file, .purpose = {.is_trial = true, .replaced = arguments.replaced}});
  return Report(*arguments.config, starts, ExitCodeOf(starts));
}

int AskForReload(const std::string& path) {
  const absl::StatusOr<ConfigFile> file = LoadConfig(path);
  if (!file.ok()) {
    // The daemon hears nothing of it, so this is the only line of the journal about it.
    if (telemetry::UsesJournal())
      PENSTOCK_LOG(kError, "reload_refused", {"reason", file.status().message()});
    return Report(path, file.status(), kWrongCall);
  }
  const auto changed = AskToReload(AdminSocketOf(file->config.server()), AbsolutePath(path));
  if (!changed.ok()) return Report(path, changed.status(), kFailed);
  for (const std::string& change : *changed) std::printf("%s\n", change.c_str());
  return kDone;
}

int Main(int argc, char** argv) {
  telemetry::UseJournal();
  absl::StatusOr<Arguments> arguments = ParseArguments(argc, argv);
  if (!arguments.ok()) return Complain(arguments.status(), kWrongCall);
  switch (arguments->action) {
    case Action::kHelp:
      std::fputs(kHelp, stdout);
      return kDone;
    case Action::kVersion:
      std::printf("penstockd %s\n", kVersion);
      return kDone;
    case Action::kCheckConfig:
      return CheckConfig(*arguments);
    case Action::kCheckSyntax:
      return Report(*arguments->config, LoadConfig(*arguments->config).status(), kWrongCall);
    case Action::kReload:
      return AskForReload(*arguments->config);
    case Action::kRun:
      return Run(*arguments, argv[0]);
  }
  return kFailed;
}

}  // namespace
}  // namespace penstock::app

int main(int argc, char** argv) {
  penstock::posix::ForbidAttaching();
  return penstock::app::Main(argc, argv);
}
