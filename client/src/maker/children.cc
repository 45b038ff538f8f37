#include "client/src/maker/children.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "client/src/maker/signals.h"
#include "common/posix/process.h"

namespace penstock::client {
namespace {

// While a process is not reaped, no other process can lead a group of its number.
void KillGroup(pid_t pid) {
  ::kill(-pid, SIGKILL);
  ::kill(pid, SIGKILL);  // if it has no group of its own
}

int ReapNow(pid_t pid, int flags) {
  int status = 0;
  pid_t reaped;
  do {
    reaped = ::waitpid(pid, &status, flags);
  } while (reaped < 0 && errno == EINTR);
  return reaped == pid ? status : kUnknownExit;
}

std::string ReadWords(const posix::Fd& words, size_t most) {
  std::string text(most, '\0');
  const ssize_t got = ::pread(words.get(), text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

}  // namespace

absl::StatusOr<int> MakerChildren::MakeWords(uint32_t place) {
  posix::Fd words(::memfd_create("penstock-words", MFD_CLOEXEC));
  if (!words.valid()) {
    return base::ErrnoStatus(errno, "making memory for a Python worker's last words");
  }
  return (words_[place] = std::move(words)).get();
}

absl::Status MakerChildren::Add(uint32_t place, uint32_t start, pid_t pid) {
  // The child does the same, so that it is done whoever runs first. It fails once that has exited.
  ::setpgid(pid, pid);
  absl::StatusOr<posix::Fd> pidfd = posix::OpenPidfd(pid);
  if (!pidfd.ok()) {
    KillGroup(pid);
    ReapNow(pid, 0);
    return pidfd.status();
  }
  children_[place] = {.start = start, .pid = pid, .pidfd = *std::move(pidfd), .killed = false};
  return absl::OkStatus();
}

uint32_t MakerChildren::StartAt(uint32_t place) const {
  const auto found = children_.find(place);
  return found == children_.end() ? 0 : found->second.start;
}

void MakerChildren::Kill(uint32_t place) {
  const auto found = children_.find(place);
  if (found == children_.end() || found->second.killed) return;
  found->second.killed = true;
  KillGroup(found->second.pid);
}

std::vector<MakerChildren::Ended> MakerChildren::Reap(size_t most_words) {
  std::vector<Ended> ended;
  for (auto next = children_.begin(); next != children_.end();) {
    const auto& [place, child] = *next;
    if (!posix::IsGone(child.pidfd)) {
      ++next;
      continue;
    }
    KillGroup(child.pid);  // what it started itself
    Ended one{.place = place, .start = child.start, .exit_status = 0, .words = {}};
    one.exit_status = ReapNow(child.pid, WNOHANG);
    if (const auto words = words_.extract(place)) one.words = ReadWords(words.mapped(), most_words);
    ended.push_back(std::move(one));
    next = children_.erase(next);
  }
  return ended;
}

void MakerChildren::AppendTo(std::vector<pollfd>& entries) const {
  for (const auto& [place, child] : children_) entries.push_back(Readable(child.pidfd));
}

void MakerChildren::AskAll(int signal, base::TimePoint deadline) {
  for (const auto& [place, child] : children_) ::kill(child.pid, signal);
  ReapUntil(deadline);
}

void MakerChildren::KillAll(base::TimePoint deadline) {
  for (const auto& [place, child] : children_) KillGroup(child.pid);
  ReapUntil(deadline);
}

void MakerChildren::ReapUntil(base::TimePoint deadline) {
  for (;;) {
    Reap(0);
    if (children_.empty() || base::Now() >= deadline) return;
    std::vector<pollfd> entries;
    AppendTo(entries);
    if (!WaitForAny(entries, deadline).ok()) return;
  }
}

void MakerChildren::Forget(uint32_t place) {
  if (auto own = words_.extract(place)) own.mapped().Release();
  children_.clear();
  words_.clear();
}

}  // namespace penstock::client
