#include "client/ctl/commands.h"

#include <ostream>

#include "absl/strings/str_cat.h"
#include "client/ctl/admin_client.h"
#include "client/ctl/check.h"
#include "client/ctl/progress.h"
#include "client/ctl/table.h"
#include "client/ctl/views.h"
#include "client/src/address.h"
#include "common/base/clock.h"
#include "common/shm/doorway_wire.h"

namespace penstock::ctl {
namespace {

template <typename Response>
absl::StatusOr<int> Print(const absl::StatusOr<Response>& response, Output output,
                          std::ostream& out) {
  PENSTOCK_RETURN_IF_ERROR(response.status());
  out << (output == Output::kJson ? Json(*response) : Show(*response));
  return 0;
}

// As many samples as the dataset had when it was last indexed; 0 when it was not.
uint64_t ExpectedFiles(AdminClient& daemon, const std::string& dataset) {
  const auto known = daemon.ListDatasets();
  if (!known.ok()) return 0;
  for (const v1::DatasetStatus& each : known->datasets()) {
    if (each.name() == dataset) return each.samples();
  }
  return 0;
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
  Progress shown(terminal == Terminal::kYes ? Progress::Style::kBar : Progress::Style::kLines,
                 ExpectedFiles(daemon, call.dataset), clock.Now());
  const auto indexed =
      daemon.IndexDataset(call.dataset, [&](const v1::IndexDatasetResponse& update) {
        if (!update.done())
          progress << shown.Update(update.files_seen(), clock.Now()) << std::flush;
      });
  progress << shown.End() << std::flush;
  PENSTOCK_RETURN_IF_ERROR(indexed.status());
  out << (call.output == Output::kJson ? Json(*indexed) : ShowIndexed(call.dataset, *indexed));
  return 0;
}

int Check(const Call& call, std::ostream& out) {
  const std::vector<Finding> findings = GradeFacts(GatherFacts(call.address, call.config));
  out << (call.output == Output::kJson ? Json(findings) : Show(findings));
  return HasProblem(findings) ? 1 : 0;
}

}  // namespace

absl::StatusOr<int> Run(const Call& call, std::ostream& out, std::ostream& progress,
                        Terminal terminal) {
  if (call.command == Command::kHelp) {
    out << kHelp;
    return 0;
  }
  if (call.command == Command::kVersion) {
    out << "penstockctl " << PENSTOCK_VERSION << " (protocol " << shm::kProtocolVersion << ")\n";
    return 0;
  }
  if (call.command == Command::kCheck) return Check(call, out);

  PENSTOCK_ASSIGN_OR_RETURN(const std::string address, client::FindDaemon(call.address));
  const std::unique_ptr<AdminClient> daemon = AdminClient::Make(address);
  switch (call.command) {
    case Command::kStatus:
      return Print(daemon->GetStatus(), call.output, out);
    case Command::kSessions:
      return Print(daemon->ListSessions(), call.output, out);
    case Command::kWorkers:
      return Print(daemon->ListWorkers(), call.output, out);
    case Command::kDatasets:
      return Print(daemon->ListDatasets(), call.output, out);
    case Command::kIndex:
      return Index(*daemon, call, out, progress, terminal);
    case Command::kQuarantineList:
      return Print(daemon->ListQuarantine(call.dataset), call.output, out);
    case Command::kQuarantineClear:
      return Print(daemon->ClearQuarantine(call.dataset), call.output, out);
    case Command::kHelp:
    case Command::kVersion:
    case Command::kCheck:
      break;
  }
  return absl::InternalError("a command that nobody carries out");
}

int ExitCodeOf(const absl::Status& error) { return absl::IsInvalidArgument(error) ? 2 : 1; }

}  // namespace penstock::ctl
