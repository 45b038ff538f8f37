#include "server/doorway/outbox.h"

#include "absl/strings/str_cat.h"
#include "common/posix/socket.h"

namespace penstock::doorway {

void Outbox::Add(PeerId peer, SharedSocket socket) {
  base::MutexLock lock(mutex_);
  sockets_[peer] = std::move(socket);
}

void Outbox::Remove(PeerId peer) {
  base::MutexLock lock(mutex_);
  sockets_.erase(peer);
}

absl::Status Outbox::Send(PeerId peer, std::span<const std::byte> message,
                          std::span<const int> fds) {
  SharedSocket socket;
  {
    base::MutexLock lock(mutex_);
    if (const auto found = sockets_.find(peer); found != sockets_.end()) socket = found->second;
  }
  const std::string subject = absl::StrCat("sending to peer ", peer.value());
  if (socket == nullptr) return absl::UnavailableError(absl::StrCat(subject, ": it is gone"));
  return base::Annotate(posix::Send(*socket, message, fds), subject);
}

}  // namespace penstock::doorway
