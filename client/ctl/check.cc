#include "client/ctl/check.h"

#include <google/protobuf/struct.pb.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/table.h"
#include "client/ctl/views.h"
#include "common/base/units.h"

namespace penstock::ctl {
namespace {

constexpr uint64_t kLittleMemory = base::kGiB;
constexpr uint64_t kNoMemory = 192 * base::kMiB;  // a worker, the daemon, and a pool to speak of
constexpr uint64_t kFewFiles = 4096;
constexpr uint64_t kTooFewFiles = 256;

std::string WordsOf(const absl::Status& status) { return OneLine(std::string(status.message())); }

Finding GradeCores(const posix::Machine& machine) {
  std::string found = absl::StrCat(machine.Cores(), machine.Cores() == 1 ? " core" : " cores");
  if (machine.quota_cores.has_value()) {
    absl::StrAppend(&found, " (a cgroup quota of ", absl::StrFormat("%.1f", *machine.quota_cores),
                    " on ", machine.affinity_cores, ")");
  }
  if (machine.Cores() > 1) return {Grade::kOk, "processor", found, ""};
  return {Grade::kWarning, "processor", found,
          "decoding and training share it; raise the cgroup's cpu.max or the affinity"};
}

Finding GradeSimd(const std::string& simd) {
  if (!simd.empty()) return {Grade::kOk, "vector unit", simd, ""};
  return {Grade::kWarning, "vector unit", "no AVX2",
          "images are resized by portable code, slower; a processor with AVX2 is faster"};
}

Finding GradeMemory(const posix::Machine& machine) {
  const uint64_t memory = machine.Memory();
  std::string found = absl::StrCat(base::FormatBytes(memory), " available");
  if (machine.cgroup_bytes.has_value() && *machine.cgroup_bytes <= machine.available_bytes) {
    absl::StrAppend(&found, " (by the cgroup's limit)");
  }
  if (memory >= kLittleMemory) return {Grade::kOk, "memory", found, ""};
  return {memory < kNoMemory ? Grade::kProblem : Grade::kWarning, "memory", found,
          "the pool takes at most a quarter of it; free some, or raise the cgroup's memory.max"};
}

Finding GradeMemfd(const absl::Status& memfd) {
  if (memfd.ok()) {
    return {Grade::kOk, "shared memory", "memfd works; /dev/shm is not needed, whatever its size",
            ""};
  }
  return {Grade::kProblem, "shared memory", WordsOf(memfd),
          "allow memfd_create (Linux 3.17; a container's seccomp profile may forbid it)"};
}

Finding GradePidfd(const absl::Status& pidfd, const absl::Status& peer_pidfd) {
  if (!pidfd.ok()) {
    return {Grade::kProblem, "process watching", WordsOf(pidfd),
            "allow pidfd_open (Linux 5.3; a container's seccomp profile may forbid it)"};
  }
  if (peer_pidfd.ok()) {
    return {Grade::kOk, "process watching", "pidfd_open and SO_PEERPIDFD work", ""};
  }
  if (absl::IsUnimplemented(peer_pidfd)) {
    return {Grade::kOk, "process watching",
            "pidfd_open works; no SO_PEERPIDFD (Linux 6.5), so clients send their own", ""};
  }
  return {Grade::kWarning, "process watching", WordsOf(peer_pidfd),
          "clients send their own pidfd instead"};
}

Finding GradeFiles(uint64_t soft, uint64_t hard) {
  const std::string found = absl::StrCat(Count(soft), " open files (at most ", Count(hard), ")");
  const std::string remedy = absl::StrCat("raise it: ulimit -n ", std::min(hard, uint64_t{65536}),
                                          ", or LimitNOFILE=65536 in the daemon's unit");
  if (hard < kTooFewFiles) return {Grade::kProblem, "open files", found, remedy};
  if (hard < kFewFiles) return {Grade::kWarning, "open files", found, remedy};
  return {Grade::kOk, "open files", found, ""};
}

Finding GradeSocket(const std::string& directory, const absl::Status& socket) {
  if (socket.ok()) return {Grade::kOk, "socket directory", directory, ""};
  return {
      Grade::kProblem, "socket directory", absl::StrCat(directory, ": ", WordsOf(socket)),
      absl::StrCat("chown it to the daemon's user and chmod go-w ", directory, ", or remove it")};
}

Finding GradeDaemon(const absl::StatusOr<std::string>& daemon, const absl::Status& serving) {
  if (daemon.ok() && serving.ok()) {
    return {Grade::kOk, "daemon", absl::StrCat("serving at ", *daemon), ""};
  }
  if (daemon.ok()) {
    return {Grade::kProblem, "daemon", absl::StrCat("at ", *daemon, ": ", WordsOf(serving)),
            "look at its log; penstockctl status says more"};
  }
  if (absl::IsNotFound(daemon.status())) {
    return {Grade::kWarning, "daemon", "none answers",
            "start penstockd; a client may start a private one by itself (penstockctl status says "
            "where it was looked for)"};
  }
  return {Grade::kProblem, "daemon", WordsOf(daemon.status()),
          "use an address that you may connect to"};
}

Finding GradeConfig(const std::string& file, const absl::Status& status) {
  if (status.ok()) return {Grade::kOk, "configuration", absl::StrCat(file, " is valid"), ""};
  return {Grade::kProblem, "configuration", WordsOf(status),
          absl::StrCat("correct it, then: penstockd --check-config ", file)};
}

Finding GradeDataset(const Facts::Root& root) {
  const std::string what = absl::StrCat("dataset ", root.dataset);
  if (root.readable.ok()) return {Grade::kOk, what, root.path, ""};
  // The daemon may run as a user who may; this one may not.
  return {Grade::kWarning, what, WordsOf(root.readable),
          "see that the daemon's user can read and enter every folder on the way"};
}

Finding GradeNoGpu(const absl::Status& why) {
  return {Grade::kWarning, "gpu", WordsOf(why),
          "without one, batches are delivered to host memory; nothing is to be done where that is "
          "what is wanted"};
}

Finding GradeGpu(const cuda::Device& device) {
  const std::string what = absl::StrCat("gpu ", device.ordinal);
  const std::string found =
      absl::StrCat(OneLine(device.name), ", ", base::FormatBytes(device.memory_bytes), ", ",
                   device.uuid.ToString());
  const std::string remedy =
      absl::StrCat("set it to 'default': nvidia-smi -i ", device.uuid.ToString(), " -c 0");
  if (device.prohibited)
    return {Grade::kWarning, what, found + ": compute mode 'prohibited', nobody may use it",
            remedy};
  if (device.exclusive)
    return {Grade::kWarning, what,
            found + ": compute mode 'exclusive', so that daemon and trainer cannot both use it",
            remedy + ", or have trainers ask for pinned delivery"};
  return {Grade::kOk, what, found, ""};
}

absl::string_view WordOf(Grade grade) {
  switch (grade) {
    case Grade::kOk:
      return "ok";
    case Grade::kWarning:
      return "warning";
    case Grade::kProblem:
      return "problem";
  }
  return "";
}

size_t CountOf(Grade grade, const std::vector<Finding>& findings) {
  return static_cast<size_t>(std::count_if(
      findings.begin(), findings.end(), [&](const Finding& each) { return each.grade == grade; }));
}

}  // namespace

std::vector<Finding> GradeFacts(const Facts& facts) {
  std::vector<Finding> findings = {
      GradeCores(facts.machine),
      GradeSimd(facts.simd),
      GradeMemory(facts.machine),
      GradeMemfd(facts.memfd),
      GradePidfd(facts.pidfd, facts.peer_pidfd),
      GradeFiles(facts.files_soft, facts.files_hard),
      GradeSocket(facts.socket_directory, facts.socket),
  };
  if (!facts.gpus.ok()) findings.push_back(GradeNoGpu(facts.gpus.status()));
  if (facts.gpus.ok())
    for (const cuda::Device& gpu : *facts.gpus) findings.push_back(GradeGpu(gpu));
  if (facts.config.has_value()) {
    findings.push_back(GradeConfig(facts.config->first, facts.config->second));
  }
  findings.push_back(GradeDaemon(facts.daemon, facts.serving));
  for (const Facts::Root& root : facts.datasets) findings.push_back(GradeDataset(root));
  return findings;
}

bool HasProblem(const std::vector<Finding>& findings) {
  return CountOf(Grade::kProblem, findings) > 0;
}

std::string Show(const std::vector<Finding>& findings) {
  Table table({{"RESULT"}, {"WHAT"}, {"FOUND"}});
  std::string remedies;
  for (const Finding& finding : findings) {
    table.Add({std::string(WordOf(finding.grade)), finding.what, finding.found});
    if (finding.remedy.empty()) continue;
    absl::StrAppend(&remedies, "  ", finding.what, ": ", finding.remedy, "\n");
  }
  const size_t problems = CountOf(Grade::kProblem, findings);
  const size_t warnings = CountOf(Grade::kWarning, findings);
  std::string text = table.Text();
  if (!remedies.empty()) absl::StrAppend(&text, "\nWhat to do\n", remedies);
  absl::StrAppend(&text, "\n",
                  problems == 0 ? "This machine can serve" : "This machine cannot serve", ": ",
                  problems, problems == 1 ? " problem, " : " problems, ", warnings,
                  warnings == 1 ? " warning.\n" : " warnings.\n");
  return text;
}

std::string Json(const std::vector<Finding>& findings) {
  google::protobuf::Struct report;
  auto& fields = *report.mutable_fields();
  fields["can_serve"].set_bool_value(!HasProblem(findings));
  auto& list = *fields["findings"].mutable_list_value();
  for (const Finding& finding : findings) {
    auto& row = *list.add_values()->mutable_struct_value()->mutable_fields();
    row["grade"].set_string_value(std::string(WordOf(finding.grade)));
    row["what"].set_string_value(finding.what);
    row["found"].set_string_value(finding.found);
    row["remedy"].set_string_value(finding.remedy);
  }
  return Json(report);
}

}  // namespace penstock::ctl
