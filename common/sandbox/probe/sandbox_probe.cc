#include "common/sandbox/probe/sandbox_probe.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace penstock::sandbox {
namespace {

constexpr char kRemedy[] =
    "; the daemon does not serve without a sandbox around what parses and decodes files. Fix this, "
    "or set workers.sandbox: off in its configuration";

absl::Status NotProven(absl::string_view whose, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("the ", whose, "' sandbox: ", why, kRemedy));
}

std::string Said(int outcome) {
  if (outcome == 0) return "succeeded";
  if (outcome == kNotTried) return "was not tried";
  if (outcome == kUnderWay) return "did not come back, so it may have succeeded";
  return absl::StrCat("was not stopped by the sandbox (", ::strerrordesc_np(outcome), ")");
}

// Empty: Landlock refused every attempt that succeeds without it, or is not there.
std::string HoleInLandlock(const SandboxReport& report) {
  if (report.landlock <= 0) return "";
  bool refused = false;
  for (const SandboxReport::Tried& each : report.landlock_outcomes) {
    if (each.error == kNotTried) continue;
    refused = each.error == EACCES || each.error == EPERM;
    if (!refused)
      return absl::StrCat("with Landlock alone, the attempt to ", each.attempt, " ",
                          Said(each.error));
  }
  return refused ? "" : "nothing that Landlock forbids could be tried";
}

std::string TextOf(const char* text, size_t size) {
  return std::string(text, ::strnlen(text, size));
}

}  // namespace

std::string SandboxReport::ToString() const {
  if (!filters_calls) return "none (built with a sanitizer)";
  return landlock > 0 ? "seccomp and landlock" : "seccomp";
}

absl::StatusOr<SandboxReport> Judge(const ProbePage& page, absl::string_view whose,
                                    const posix::Exit& exit, bool instrumented) {
  if (const std::string failure = TextOf(page.failure, sizeof(page.failure)); !failure.empty())
    return NotProven(whose, failure);
  SandboxReport report{
      .filters_calls = page.filters != 0, .landlock = page.landlock, .killed_by = page.killed_by};
  for (size_t i = 0; i < kAttempts.size(); ++i)
    report.outcomes.push_back({kAttempts[i], page.outcomes[i].load()});
  for (size_t i = 0; i < kLandlockAttempts.size(); ++i)
    report.landlock_outcomes.push_back(
        {kLandlockAttempts[i].name, page.landlock_outcomes[i].load()});
  if (page.finished.load() != 0 && !report.filters_calls) {
    if (instrumented) return report;
    return NotProven(whose, "its program was built with a sanitizer, and the daemon was not");
  }
  // A filter around the daemon may kill for the last one (systemd's SystemCallArchitectures).
  const bool died_of_last =
      exit.signalled && exit.code == SIGSYS && report.outcomes.back().error == kUnderWay;
  for (const SandboxReport::Tried& each : report.outcomes)
    if (each.error != kProbeErrno && !(died_of_last && &each == &report.outcomes.back()))
      return NotProven(whose,
                       absl::StrCat("in it, the attempt to ", each.attempt, " ", Said(each.error)));
  if (page.finished.load() == 0 && !died_of_last) return NotProven(whose, "the probe did not end");
  if (report.killed_by != SIGSYS)
    return NotProven(whose, "a process that made a forbidden call was not killed");
  if (const std::string hole = HoleInLandlock(report); !hole.empty()) return NotProven(whose, hole);
  return report;
}

absl::StatusOr<std::unique_ptr<SandboxProbe>> SandboxProbe::Start(const Options& options) {
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd memory,
                            posix::MakeMemory("penstock-probe", sizeof(ProbePage)));
  PENSTOCK_ASSIGN_OR_RETURN(posix::Mapping mapping, posix::Mapping::Map(memory, sizeof(ProbePage),
                                                                        posix::Access::kReadWrite));
  std::unique_ptr<SandboxProbe> probe(new SandboxProbe(options, std::move(mapping)));
  auto child = posix::Child::Spawn(
      {probe->program_, std::string(kProbeArgument)}, {{memory.get(), kProbePageNumber}},
      posix::Child::Wait::kForNothing, posix::Child::Environment::kOwn);
  if (!child.ok())
    return base::Annotate(child.status(), absl::StrCat("the probe of the ", options.whose));
  probe->child_ = std::make_unique<posix::Child>(*std::move(child));
  return probe;
}

SandboxProbe::SandboxProbe(const Options& options, posix::Mapping mapping)
    : program_(options.program),
      whose_(options.whose),
      mapping_(std::move(mapping)),
      deadline_(base::Now() + options.timeout) {
  ProbePage& page = this->page();  // everything else is 0
  page.magic = kProbeMagic;
  page.daemon = ::getpid();
  page.secret_address = reinterpret_cast<uint64_t>(&secret_);
  const std::string folder = options.folder.empty() ? "." : options.folder;
  folder.copy(page.folder, sizeof(page.folder) - 1);
  for (auto& outcome : page.outcomes) outcome.store(kNotTried);
  for (auto& outcome : page.landlock_outcomes) outcome.store(kNotTried);
}

SandboxProbe::~SandboxProbe() {
  if (child_ != nullptr && !has_ended_) WaitForEnd().IgnoreError();
}

absl::StatusOr<SandboxReport> SandboxProbe::Finish() {
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Exit exit, WaitForEnd());
  if (const int error = child_->StartError(); error != 0)
    return base::ErrnoStatus(
        error, absl::StrCat("the probe of the ", whose_, "' sandbox: starting ", program_));
  auto report = Judge(page(), whose_, exit);
  if (!report.ok() && page().outcomes[0].load() == kNotTried && page().failure[0] == 0)
    return NotProven(whose_, absl::StrCat("its probe ", posix::Describe(exit)));
  return report;
}

absl::StatusOr<posix::Exit> SandboxProbe::WaitForEnd() {
  for (;;) {
    if (const auto exit = child_->Reap()) {
      has_ended_ = true;
      return *exit;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - base::Now()).count();
    if (left <= 0)
      return absl::DeadlineExceededError(
          absl::StrCat("the probe of the ", whose_, "' sandbox did not end in time", kRemedy));
    pollfd ended{.fd = child_->pidfd().get(), .events = POLLIN, .revents = 0};
    if (::poll(&ended, 1, static_cast<int>(left)) < 0 && errno != EINTR)
      return base::ErrnoStatus(errno,
                               absl::StrCat("waiting for the probe of the ", whose_, "' sandbox"));
  }
}

}  // namespace penstock::sandbox
