#include "server/app/service/makers_door.h"

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "server/pyworkers/newcomer.h"

namespace penstock::app {
namespace {

pyworkers::Newcomer ToNewcomer(const doorway::Peer& peer) {
  pyworkers::Newcomer newcomer = {
      .peer = peer.id.value(), .token = peer.maker.token, .process = peer.process, .pid = peer.pid};
  if (peer.role == doorway::Role::kWorker)
    newcomer.worker = {.place = peer.maker.place, .start = peer.maker.start};
  return newcomer;
}

}  // namespace

absl::Status MakersDoor::MayEnter(const doorway::Peer& peer) const {
  if (private_daemon_) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("this daemon is not a private one, so no dataset of it asks for a ",
                   peer.role == doorway::Role::kHost ? "host" : "Python worker",
                   "; use a private daemon for Python datasets"));
}

void MakersDoor::OnArrived(const doorway::Peer& peer) {
  PENSTOCK_CHECK(peer.role != doorway::Role::kClient);
  runner_.Deliver([newcomer = ToNewcomer(peer)](feed::Engine& engine, base::TimePoint now) {
    engine.MakerArrived(newcomer, now);
  });
}

}  // namespace penstock::app
