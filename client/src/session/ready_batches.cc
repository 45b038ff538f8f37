#include "client/src/session/ready_batches.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/shm/control_page.h"

namespace penstock::client {

bool ReadyBatches::HasBatch() const {
  if (!stage_) [[likely]]
    return !AllTaken();
  if (stage_->HasStaged()) return stage_->IsMade();
  return CanStart() && (is_invalid_ || !stage_->makes_rows());
}

bool ReadyBatches::CanStart() const {
  return stage_->MayStage() && !AllTaken() && stage_->HasFreeBuffer();
}

absl::StatusOr<ReadyBatches::Taken> ReadyBatches::Take(const Stream* stream, uint64_t epoch) {
  if (!stage_) [[likely]] {
    PENSTOCK_ASSIGN_OR_RETURN(const Attachment::Taken taken, Fetch(epoch));
    return Taken{taken, attachment_.get()};
  }
  if (!stage_->HasStaged()) PENSTOCK_RETURN_IF_ERROR(StartCopy(epoch));
  PENSTOCK_ASSIGN_OR_RETURN(const Attachment::Taken taken, stage_->Pop(stream));
  return Taken{taken, stage_.get()};
}

absl::Status ReadyBatches::StartCopy(uint64_t epoch) {
  PENSTOCK_ASSIGN_OR_RETURN(const Attachment::Taken taken, Fetch(epoch));
  return stage_->Start(taken);
}

absl::Status ReadyBatches::CopyAhead(uint64_t epoch) {
  while (stage_ && CanStart()) {
    const absl::StatusOr<Attachment::Taken> ahead = Fetch(epoch);
    is_invalid_ = !ahead.ok();
    if (is_invalid_) break;
    PENSTOCK_RETURN_IF_ERROR(stage_->Start(*ahead));
  }
  return absl::OkStatus();
}

absl::StatusOr<Attachment::Taken> ReadyBatches::Fetch(uint64_t epoch) {
  const uint64_t announced = attachment_->announced();
  if (announced - taken_ > shm::kControlCapacity) {
    return absl::InternalError(absl::StrCat("the daemon claims to have announced ", announced,
                                            " batches after ", taken_, " were taken"));
  }
  absl::StatusOr<Attachment::Taken> taken = attachment_->Take(taken_ + 1);
  if (absl::IsNotFound(taken.status()))
      [[unlikely]] {  // new memory; its descriptor is in the doorway
    const absl::Status looked = attachment_->LookAgain();
    taken = attachment_->Take(taken_ + 1);
    if (absl::IsNotFound(taken.status())) {
      return looked.ok() ? absl::InternalError(taken.status().message()) : looked;
    }
  }
  if (!taken.ok()) return taken;
  if (taken->view.epoch < epoch) {
    return absl::InternalError(absl::StrCat("the daemon announced a batch of epoch ",
                                            taken->view.epoch, " in epoch ", epoch));
  }
  ++taken_;
  return taken;
}

uint32_t ReadyBatches::Held() const {
  return (stage_ ? stage_->holders() : attachment_->holders()) - 1;
}

uint32_t ReadyBatches::MostHeld() const {
  if (stage_) return stage_->depth();
  const Grant& grant = attachment_->grant();
  const uint32_t window = std::max(grant.window, 1u);
  return OnHost() ? window : std::min(window, std::max(grant.device_depth, 1u));
}

bool ReadyBatches::WindowIsLimit() const {
  const Grant& grant = attachment_->grant();
  return OnHost() || (!stage_ && grant.window <= grant.device_depth);
}

}  // namespace penstock::client
