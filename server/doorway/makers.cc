#include "server/doorway/makers.h"

#include "absl/strings/str_cat.h"
#include "common/shm/python_host.h"

namespace penstock::doorway {
namespace {

constexpr uint32_t kHostsEach = 1;  // connected at a time, for one token
constexpr uint32_t kWorkersEach = shm::kMaxPythonWorkers;

absl::Status Full(Role role) {
  if (role == Role::kHost)
    return absl::ResourceExhaustedError(
        "the session that wants a host already has one; end that host first");
  return absl::ResourceExhaustedError(absl::StrCat("the host already has its maximum of ",
                                                   kWorkersEach, " Python workers; end one first"));
}

}  // namespace

absl::Status Makers::MayEnter(Role role, const HostToken& token, uint32_t user) const {
  if (!user_)
    return absl::FailedPreconditionError(
        "this daemon is not a private one, and only a private daemon lets its user's processes "
        "make batches; use a private daemon for Python datasets");
  if (user != *user_)
    return absl::PermissionDeniedError(
        absl::StrCat("only processes of user ", *user_,
                     " may make batches for this private daemon, but this one is of user ", user,
                     "; run it as the daemon's user"));
  const auto found = counts_.find({role, token});
  const uint32_t most = role == Role::kHost ? kHostsEach : kWorkersEach;
  return found == counts_.end() || found->second < most ? absl::OkStatus() : Full(role);
}

void Makers::Enter(PeerId peer, Role role, const HostToken& token) {
  ++counts_[peers_[peer] = {role, token}];
}

void Makers::Leave(PeerId peer) {
  const auto left = peers_.extract(peer);
  if (!left) return;
  const auto count = counts_.find(left.mapped());
  if (--count->second == 0) counts_.erase(count);
}

}  // namespace penstock::doorway
