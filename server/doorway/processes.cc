#include "server/doorway/processes.h"

#include "common/posix/process.h"

namespace penstock::doorway {

Processes::Entry Processes::Add(PeerId peer, pid_t pid, posix::Fd pidfd) {
  const std::optional<uint64_t> known = FindLiving(pid);
  const uint64_t key = known.value_or(last_key_ + 1);
  if (!known) {
    last_key_ = key;
    processes_[key] = Process{.pid = pid, .pidfd = std::move(pidfd), .peers = {}};
  }
  processes_.at(key).peers.insert(peer);
  process_of_[peer] = key;
  return {.key = key, .is_new = !known};
}

bool Processes::IsGone(uint64_t key) const {
  const auto found = processes_.find(key);
  return found != processes_.end() && posix::IsGone(found->second.pidfd);
}

std::vector<PeerId> Processes::Remove(uint64_t key) {
  const auto process = processes_.extract(key);
  std::vector<PeerId> peers(process.mapped().peers.begin(), process.mapped().peers.end());
  for (const PeerId peer : peers) process_of_.erase(peer);
  return peers;
}

std::optional<uint64_t> Processes::Forget(PeerId peer) {
  const auto found = process_of_.extract(peer);
  if (!found) return std::nullopt;
  std::set<PeerId>& peers = processes_.at(found.mapped()).peers;
  peers.erase(peer);
  return peers.empty() ? std::optional(found.mapped()) : std::nullopt;
}

std::optional<uint64_t> Processes::FindLiving(pid_t pid) const {
  if (pid == 0) return std::nullopt;
  for (const auto& [key, process] : processes_) {
    if (process.pid == pid && !posix::IsGone(process.pidfd)) return key;
  }
  return std::nullopt;
}

}  // namespace penstock::doorway
