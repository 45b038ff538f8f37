#include "server/doorway/processes.h"

#include "absl/strings/str_cat.h"
#include "common/posix/process.h"

namespace penstock::doorway {

absl::StatusOr<Processes::Entry> Processes::Add(PeerId peer, pid_t pid, posix::Fd pidfd) {
  if (const std::optional<uint64_t> key = FindLiving(pid); key.has_value()) {
    std::vector<PeerId>& peers = processes_.at(*key).peers;
    if (peers.size() >= limits_.peers_of_one) {
      return absl::ResourceExhaustedError(
          absl::StrCat("process ", pid, " has connected ", peers.size(),
                       " times; keep one client for the life of a process"));
    }
    peers.push_back(peer);
    return Entry{.key = *key, .is_new = false};
  }
  if (processes_.size() >= limits_.processes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this daemon watches ", processes_.size(),
                     " processes, as many as it may; end some that have used it"));
  }
  processes_[++last_key_] = Process{.pid = pid, .pidfd = std::move(pidfd), .peers = {peer}};
  return Entry{.key = last_key_, .is_new = true};
}

bool Processes::IsGone(uint64_t key) const {
  const auto found = processes_.find(key);
  return found != processes_.end() && posix::IsGone(found->second.pidfd);
}

std::vector<PeerId> Processes::Remove(uint64_t key) {
  std::vector<PeerId> peers = std::move(processes_.at(key).peers);
  processes_.erase(key);
  return peers;
}

std::optional<uint64_t> Processes::FindLiving(pid_t pid) const {
  if (pid == 0) return std::nullopt;
  for (const auto& [key, process] : processes_) {
    if (process.pid == pid && !posix::IsGone(process.pidfd)) return key;
  }
  return std::nullopt;
}

}  // namespace penstock::doorway
