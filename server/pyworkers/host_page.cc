#include "server/pyworkers/host_page.h"

#include <string.h>
#include <sys/wait.h>

#include <atomic>
#include <cstring>
#include <new>

#include "absl/strings/string_view.h"
#include "common/base/check.h"
#include "common/posix/failpoint.h"

namespace penstock::pyworkers {
namespace {

// Copies a text that its writer may still change.
template <size_t kSize>
std::string Printable(const char (&foreign)[kSize]) {
  char copy[kSize];
  std::memcpy(copy, foreign, kSize);
  absl::string_view text(copy, ::strnlen(copy, kSize));
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  std::string printable(text);
  for (char& each : printable)
    if (each < ' ' || each > '~') each = each == '\n' ? '|' : '?';
  return printable;
}

std::optional<posix::Exit> ToExit(int status) {
  if (WIFEXITED(status)) return posix::Exit{.signalled = false, .code = WEXITSTATUS(status)};
  if (WIFSIGNALED(status)) return posix::Exit{.signalled = true, .code = WTERMSIG(status)};
  return std::nullopt;
}

}  // namespace

absl::StatusOr<HostPage> HostPage::Make() {
  PENSTOCK_FAILPOINT_RETURN("python.host_page");
  HostPage host;
  PENSTOCK_ASSIGN_OR_RETURN(host.memory_, posix::MakeMemory("penstock-host", kBytes));
  PENSTOCK_ASSIGN_OR_RETURN(host.mapping_,
                            posix::Mapping::Map(host.memory_, kBytes, posix::Access::kReadWrite));
  PENSTOCK_ASSIGN_OR_RETURN(host.to_host_, posix::MakeNotifier());
  PENSTOCK_ASSIGN_OR_RETURN(host.to_daemon_, posix::MakeEvent());
  auto* page = new (host.mapping_.data()) shm::PythonHostPage();
  page->magic = shm::kPythonHostMagic;
  page->version = shm::kPythonHostVersion;
  page->capacity = shm::kMaxPythonWorkers;
  return host;
}

shm::PythonPlace& HostPage::place(uint32_t place) const {
  PENSTOCK_CHECK(place < shm::kMaxPythonWorkers);
  return page().places[place];
}

void HostPage::WantStart(uint32_t place, uint32_t start) {
  shm::PythonPlace& shared = this->place(place);
  KnownPlace& known = known_[place];
  PENSTOCK_CHECK(start == known.wanted + 1);
  known.wanted = start;
  shared.wanted_starts.store(start, std::memory_order_release);
  posix::Notify(to_host_.sender);
}

void HostPage::Kill(uint32_t place, uint32_t start) {
  std::atomic<uint32_t>& kill = this->place(place).kill;
  if (known_[place].killed == start) return;
  known_[place].killed = start;
  kill.store(start, std::memory_order_release);
  posix::Notify(to_host_.sender);
}

absl::StatusOr<PlaceReport> HostPage::Read(uint32_t place) {
  const shm::PythonPlace& shared = this->place(place);
  KnownPlace& known = known_[place];
  // The host may reap one and fork the next between two loads, so `ended` is compared with both the
  // starts before it and those behind it.
  const uint32_t before = shared.starts.load(std::memory_order_acquire);
  const uint32_t ended = shared.ended.load(std::memory_order_acquire);
  const uint32_t starts = shared.starts.load(std::memory_order_acquire);
  const bool possible = known.starts <= before && before <= starts && starts <= known.wanted &&
                        known.ended <= ended && ended <= starts &&
                        (before == 0 || ended >= before - 1);
  if (!possible) {
    return absl::DataLossError(absl::StrCat(
        "place ", place, " of a host's page: got ", starts, " starts, of which ", ended,
        " ended, after ", known.starts, " and ", known.ended, "; expected at most ", known.wanted,
        " starts, one alive, and no number to decrease"));
  }
  known.starts = starts;
  known.ended = ended;
  return PlaceReport{
      .starts = starts, .ended = ended, .pid = shared.pid.load(std::memory_order_relaxed)};
}

EndReport HostPage::ReadEnd(uint32_t place) const {
  const shm::PythonPlace& shared = this->place(place);
  int32_t status;
  std::memcpy(&status, &shared.exit_status, sizeof(status));
  return {.exit = ToExit(status), .words = Printable(shared.words)};
}

std::optional<std::string> HostPage::Failure() const {
  if (page().failed.load(std::memory_order_acquire) == 0) return std::nullopt;
  return Printable(page().error);
}

}  // namespace penstock::pyworkers
