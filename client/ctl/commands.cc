#include "client/ctl/commands.h"

#include <ostream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "client/ctl/admin_client.h"
#include "client/ctl/cache/cache_command.h"
#include "client/ctl/cache/export_command.h"
#include "client/ctl/cache/fetch_command.h"
#include "client/ctl/check/finding.h"
#include "client/ctl/check_views.h"
#include "client/ctl/completion.h"
#include "client/ctl/feeds/names.h"
#include "client/ctl/help/page.h"
#include "client/ctl/nodes/node_address.h"
#include "client/ctl/nodes/node_calls.h"
#include "client/ctl/nodes/top_nodes.h"
#include "client/ctl/progress.h"
#include "client/ctl/scripting/version.h"
#include "client/ctl/scripting/wait.h"
#include "client/ctl/scripting/watch.h"
#include "client/ctl/scripting/yaml.h"
#include "client/ctl/table.h"
#include "client/ctl/top.h"
#include "client/ctl/trace.h"
#include "client/ctl/views.h"
#include "client/src/connection/address.h"
#include "common/base/clock.h"
#include "common/shm/doorway_wire.h"

namespace penstock::ctl {
namespace {

constexpr base::Duration kWaitPause = std::chrono::milliseconds(250);

// Where results go, and in which form.
struct Sheet {
  std::ostream& out;
  Output output;
  Colors colors;
};

template <typename Response>
absl::StatusOr<std::string> Render(const absl::StatusOr<Response>& response, const Sheet& sheet) {
  PENSTOCK_RETURN_IF_ERROR(response.status());
  return IsForPrograms(sheet.output) ? ForPrograms(sheet.output, Json(*response))
                                     : PaintStates(Show(*response), sheet.colors);
}

template <typename Response>
absl::StatusOr<int> Print(const absl::StatusOr<Response>& response, const Sheet& sheet) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::string text, Render(response, sheet));
  sheet.out << text;
  return 0;
}

// An answer that can be looked at again and again.
absl::StatusOr<std::string> Look(AdminClient& daemon, const Call& call, const Sheet& sheet) {
  switch (call.command) {
    case Command::kSessions:
      return Render(daemon.ListSessions(), sheet);
    case Command::kWorkers:
      return Render(daemon.ListWorkers(), sheet);
    case Command::kDatasets:
      return Render(daemon.ListDatasets(), sheet);
    case Command::kQuarantineList:
      return Render(daemon.ListQuarantine(call.dataset), sheet);
    default:
      return Render(daemon.GetStatus(), sheet);
  }
}

absl::StatusOr<int> LookOrWatch(AdminClient& daemon, const Call& call, const Sheet& sheet) {
  const auto look = [&] { return Look(daemon, call, sheet); };
  if (call.watch) return Watch(look, call.output, sheet.out);
  PENSTOCK_ASSIGN_OR_RETURN(const std::string text, look());
  sheet.out << text;
  return 0;
}

int Help(const Call& call, std::ostream& out) {
  const HelpTopic* const topic = FindHelpTopic(call.topic);
  if (topic == nullptr) {
    out << kHelp;
  } else {
    out << (call.output == Output::kMan ? ManPage(*topic) : HelpText(*topic));
  }
  return 0;
}

// Number of samples in the dataset's last index; 0 if there is none.
uint64_t ExpectedFiles(AdminClient& daemon, const std::string& dataset) {
  const auto known = daemon.ListDatasets();
  if (!known.ok()) return 0;
  for (const v1::DatasetStatus& each : known->datasets()) {
    if (each.name() == dataset) return each.samples();
  }
  return 0;
}

Progress::Style StyleFor(Terminal terminal) {
  return terminal == Terminal::kYes ? Progress::Style::kBar : Progress::Style::kLines;
}

bool IsAboutCache(Command command) {
  return command == Command::kCacheList || command == Command::kCacheVerify ||
         command == Command::kCacheClear;
}

std::string ShowIndexed(const std::string& dataset, const v1::IndexDatasetResponse& indexed) {
  std::string text = absl::StrCat(dataset, ": ", Count(indexed.samples()), " samples in ",
                                  Count(indexed.classes()), " classes",
                                  indexed.from_cache() ? " (the index was up to date)" : "", "\n");
  if (!indexed.warning().empty()) {
    absl::StrAppend(&text, "warning: ", OneLine(indexed.warning()), "\n");
  }
  return text;
}

absl::StatusOr<int> Index(AdminClient& daemon, const Call& call, std::ostream& out,
                          std::ostream& progress, Terminal terminal) {
  const base::SteadyClock clock;
  Progress shown(StyleFor(terminal), ExpectedFiles(daemon, call.dataset), clock.Now());
  v1::IndexDatasetRequest request;
  request.set_dataset(call.dataset);
  const auto indexed = daemon.IndexDataset(request, [&](const v1::IndexDatasetResponse& update) {
    if (!update.done()) progress << shown.Update(update.files_seen(), clock.Now()) << std::flush;
    return true;
  });
  progress << shown.End() << std::flush;
  PENSTOCK_RETURN_IF_ERROR(indexed.status());
  out << (IsForPrograms(call.output) ? ForPrograms(call.output, Json(*indexed))
                                     : ShowIndexed(call.dataset, *indexed));
  return 0;
}

// Prints the digest in the format of sha256sum.
absl::StatusOr<int> Digest(AdminClient& daemon, const Call& call, std::ostream& out) {
  const auto digested = daemon.DigestDataset(call.dataset);
  PENSTOCK_RETURN_IF_ERROR(digested.status());
  out << (IsForPrograms(call.output)
              ? ForPrograms(call.output, Json(*digested))
              : absl::StrCat(digested->content_digest(), "  ", OneLine(call.dataset), "\n"));
  return 0;
}

std::string Sessions(uint64_t count) {
  return absl::StrCat(count, count == 1 ? " session" : " sessions");
}

// "session 3 (photographs, user 0, pid 12): epoch 4, 5 batches left, waiting for the trainer"
std::string Show(const v1::DrainingSession& session) {
  return absl::StrCat("session ", session.session_id(), " (", OneLine(session.dataset()), ", user ",
                      OneLine(UserName(session.user_id())), ", pid ", session.pid(), "): epoch ",
                      session.epoch(), ", ", session.batches_left(),
                      session.batches_left() == 1 ? " batch" : " batches", " left, ",
                      OneLine(session.state()), "\n");
}

absl::StatusOr<int> Drain(AdminClient& daemon, const Call& call, std::ostream& out,
                          std::ostream& progress) {
  v1::DrainRequest request;
  request.set_cancel(call.cancel);
  uint32_t said = 0;
  const auto end = daemon.Drain(request, call.deadline, [&](const v1::DrainResponse& update) {
    if (update.done() || update.sessions_left() == said) return;
    said = update.sessions_left();
    progress << "draining: " << Sessions(said) << " in an epoch\n" << std::flush;
  });
  PENSTOCK_RETURN_IF_ERROR(end.status());
  if (IsForPrograms(call.output)) {
    out << ForPrograms(call.output, Json(*end));
    return end->done() ? 0 : 1;
  }
  if (end->done()) {
    out << (call.cancel ? "serving again\n" : "drained: no session is left in an epoch\n");
    return 0;
  }
  for (const v1::DrainingSession& session : end->waiting_for()) out << Show(session);
  const bool one = end->sessions_left() == 1;
  return absl::DeadlineExceededError(
      absl::StrCat(Sessions(end->sessions_left()), one ? " has" : " have", " not finished ",
                   one ? "its epoch" : "their epochs",
                   " in time, and the daemon is still draining; call this again to keep waiting, "
                   "run 'penstockctl drain --cancel' to serve again, or stop the daemon: trainers "
                   "continue where they were once it is back"));
}

std::string ShowReloaded(const v1::ReloadResponse& reloaded) {
  if (reloaded.changed_size() == 0) return "nothing changed\n";
  std::string text;
  for (const std::string& change : reloaded.changed())
    absl::StrAppend(&text, OneLine(change), "\n");
  return text;
}

absl::StatusOr<int> Workers(AdminClient& daemon, const Call& call, const Sheet& sheet) {
  if (!call.set_workers) return LookOrWatch(daemon, call, sheet);
  const auto set = daemon.SetWorkers(*call.set_workers);
  PENSTOCK_RETURN_IF_ERROR(set.status());
  sheet.out << (IsForPrograms(call.output)
                    ? ForPrograms(call.output, Json(*set))
                    : absl::StrCat(set->before(), " workers, now ", *call.set_workers, "\n"));
  return 0;
}

absl::StatusOr<std::unique_ptr<AdminClient>> ConnectTo(const Call& call) {
  if (IsNodeAddress(call.address)) return ConnectToNode(call.address, call.tls);
  PENSTOCK_ASSIGN_OR_RETURN(const std::string address,
                            call.command == Command::kFetch ? FindDaemonToFetch(call)
                            : call.export_indexes           ? FindDaemonToExport(call)
                                                  : client::FindDaemonToOperate(call.address));
  return AdminClient::Make(address);
}

// Finds and asks a daemon, which need not be the one of the last call.
absl::StatusOr<v1::GetStatusResponse> AskStatus(const Call& call, base::Duration within) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<AdminClient> daemon, ConnectTo(call));
  daemon->set_patience(within);
  return daemon->GetStatus();
}

absl::StatusOr<int> Version(const Call& call, std::ostream& out) {
  const absl::StatusOr<v1::GetStatusResponse> daemon = AskStatus(call, AdminClient::kPatience);
  out << ShowVersions(daemon, call.output) << std::flush;
  PENSTOCK_RETURN_IF_ERROR(daemon.status());
  return 0;
}

absl::StatusOr<int> Wait(const Call& call) {
  const base::SteadyClock clock;
  PENSTOCK_RETURN_IF_ERROR(WaitUntilReady(
      [&](base::Duration left) { return AskStatus(call, std::min(left, AdminClient::kPatience)); },
      call.timeout, clock, [] { std::this_thread::sleep_for(kWaitPause); }));
  return 0;
}

int Check(const Call& call, const Sheet& sheet) {
  Facts facts = GatherFacts(call.address, call.config);
  facts.version = PENSTOCK_VERSION;
  if (facts.daemon.ok()) {
    const std::unique_ptr<AdminClient> daemon = AdminClient::Make(
        client::FindDaemonToOperate(facts.daemon->address).value_or(facts.daemon->address));
    AddAnswers(daemon->GetStatus(), daemon->LookAtDatasets(), facts);
  }
  const std::vector<Finding> findings = GradeFacts(facts);
  sheet.out << (IsForPrograms(call.output) ? ForPrograms(call.output, Json(findings))
                                           : PaintGrades(Show(findings), sheet.colors));
  return HasProblem(findings) ? 1 : 0;
}

}  // namespace

absl::StatusOr<int> Run(const Call& call, std::ostream& out, std::ostream& progress,
                        Terminal terminal, Colors colors) {
  const Sheet sheet{out, call.output, colors};
  if (call.command == Command::kHelp) return Help(call, out);
  if (call.command == Command::kVersion) {
    out << "penstockctl " << PENSTOCK_VERSION << " (protocol " << shm::kProtocolVersion << ")\n";
    return 0;
  }
  if (call.command == Command::kCompletion) {
    out << Completion(call.shell);
    return 0;
  }
  if (call.command == Command::kCheck) return Check(call, sheet);
  if (call.command == Command::kServerVersion) return Version(call, out);
  if (call.command == Command::kWait) return Wait(call);
  if (IsAboutCache(call.command)) return RunCacheCommand(call, out, progress);

  if (!call.nodes.empty()) return RunTopNodes(call, colors, out);

  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<AdminClient> daemon, ConnectTo(call));
  switch (call.command) {
    case Command::kStatus:
    case Command::kSessions:
    case Command::kDatasets:
    case Command::kQuarantineList:
      return LookOrWatch(*daemon, call, sheet);
    case Command::kTrace:
      return WriteTrace(*daemon, call, out, progress);
    case Command::kWorkers:
      return Workers(*daemon, call, sheet);
    case Command::kIndex:
      if (call.export_indexes) return RunExport(*daemon, call, StyleFor(terminal), out, progress);
      return Index(*daemon, call, out, progress, terminal);
    case Command::kDigest:
      return Digest(*daemon, call, out);
    case Command::kFetch:
      return RunFetch(*daemon, call, StyleFor(terminal), out, progress);
    case Command::kQuarantineClear:
      return Print(daemon->ClearQuarantine(call.dataset), sheet);
    case Command::kDrain:
      return Drain(*daemon, call, out, progress);
    case Command::kReload: {
      const auto reloaded = daemon->Reload();
      PENSTOCK_RETURN_IF_ERROR(reloaded.status());
      out << (IsForPrograms(call.output) ? ForPrograms(call.output, Json(*reloaded))
                                         : ShowReloaded(*reloaded));
      return 0;
    }
    case Command::kTop:
      return RunTop(*daemon, call, colors, out);
    case Command::kHelp:
    case Command::kVersion:
    case Command::kCheck:
    case Command::kCacheList:
    case Command::kCacheVerify:
    case Command::kCacheClear:
    case Command::kCompletion:
    case Command::kServerVersion:
    case Command::kWait:
      break;
  }
  return absl::InternalError("this command has no implementation");
}

int ExitCodeOf(const absl::Status& error) { return absl::IsInvalidArgument(error) ? 2 : 1; }

}  // namespace penstock::ctl
