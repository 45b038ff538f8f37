#include "client/src/session/session_core.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/core/convert.h"
#include "client/src/core/fork.h"

namespace penstock::client {
namespace {

using std::chrono::milliseconds;

constexpr base::Duration kFirstPause = milliseconds(50);  // between attempts to reconnect
constexpr base::Duration kLongestPause = milliseconds(1000);

// Whether the daemon may be back soon.
bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsNotFound(status) ||
         absl::IsResourceExhausted(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace

SessionCore::SessionCore(std::unique_ptr<Opener> opener, Opened opened, const Begin& begin)
    : generation_(WatchForks()),
      opener_(std::move(opener)),
      attachment_(std::move(opened.attachment)),
      stage_(std::move(opened.stage)),
      gpu_(attachment_->shared_gpu()),
      grant_(attachment_->grant()),
      epochs_(begin.epochs),
      begin_epoch_(begin.start ? begin.start->epoch : 0),
      ranks_differ_(begin.ranks_differ),
      first_epoch_(begin_epoch_) {
  if (begin.start) state_ = *begin.start;
  if (!begin.start) state_.seed = begin.seed;
  state_.fingerprint = grant_.fingerprint;
  state_.quarantine_version = grant_.quarantine_version;
  ShowAttachment();
}

bool SessionCore::Forked() const { return ForkedSince(generation_); }

Result<Batch> SessionCore::Get(const Stream* stream, milliseconds timeout) {
  if (Forked()) [[unlikely]]
    return ForkedStatus();
  if (stream != nullptr && gpu_ != nullptr) {
    if (const absl::Status status = RefuseCapture(*gpu_, *stream); !status.ok()) [[unlikely]]
      return ToPublic(status);
  }
  if (attachment_ && !epoch_ended_ && SomethingIsReady()) [[likely]]
    return TakeReady(stream);
  return NextSlowly(stream, timeout);
}

Result<Batch> SessionCore::NextSlowly(const Stream* stream, milliseconds timeout) {
  if (closed_) {
    return Status(Code::kFailedPrecondition, "the session is closed; open another one");
  }
  if (std::exchange(epoch_ended_, false)) {
    if (state_.epoch == last_->first) GoToNextEpoch();
    return Status(Code::kEndOfEpoch,
                  absl::StrCat("epoch ", state_.epoch - 1, " has no more batches for this rank"));
  }
  if (!failure_.ok()) return failure_;
  if (data_ended_) return Status(Code::kEndOfData, "all requested epochs are done");
  const base::TimePoint deadline = DeadlineAfter(timeout);
  if (!attachment_) {
    if (AllEpochsDone()) {
      data_ended_ = true;
      return NextSlowly(stream, timeout);
    }
    if (const absl::Status status = Reattach(deadline); !status.ok()) return ToPublic(status);
  }
  return Wait(stream, deadline);
}

bool SessionCore::SomethingIsReady() const {
  const bool announced = attachment_->announced() != taken_;
  if (!stage_) [[likely]]
    return announced;
  return stage_->HasStaged() || (announced && stage_->HasFreeBuffer());
}

Result<Batch> SessionCore::TakeReady(const Stream* stream) {
  if (stage_) return TakeStaged(stream);
  const absl::StatusOr<Attachment::Taken> taken = Fetch();
  if (!taken.ok()) [[unlikely]]
    return Unfetched(taken.status());
  return Hand(*taken, attachment_.get());
}

// Copies one batch ahead while the consumer has the one before it. An error with the batch ahead is
// reported when that batch is due.
Result<Batch> SessionCore::TakeStaged(const Stream* stream) {
  if (!stage_->HasStaged()) {
    if (const absl::Status status = StageOne(); !status.ok()) return Unfetched(status);
  }
  const absl::StatusOr<Attachment::Taken> taken = stage_->Pop(stream);
  if (!taken.ok()) return Unfetched(taken.status());
  Batch batch = Hand(*taken, stage_.get());
  if (!stage_->HasStaged() && SomethingIsReady()) {
    const absl::StatusOr<Attachment::Taken> ahead = Fetch();
    const absl::Status started = ahead.ok() ? stage_->Start(*ahead) : absl::OkStatus();
    if (!started.ok()) (void)Fail(started);
  }
  return batch;
}

absl::Status SessionCore::StageOne() {
  PENSTOCK_ASSIGN_OR_RETURN(const Attachment::Taken taken, Fetch());
  return stage_->Start(taken);
}

Status SessionCore::CheckDestinations(std::span<const TensorInto> tensors) const {
  for (const TensorInto& into : tensors) {
    if (into.tensor >= grant_.tensors.size() ||
        !base::IsKnown(static_cast<base::DType>(into.type))) {
      continue;  // the finish says so
    }
    const Field& field = grant_.tensors[into.tensor].field;
    const uint64_t wanted =
        uint64_t{grant_.batch_size} * field.elements() * ElementBytes(into.type);
    if (into.bytes >= wanted) continue;
    return Status(
        Code::kInvalidArgument,
        absl::StrCat("the memory for '", field.name, "' is too small for a full batch: got ",
                     into.bytes, " bytes, expected ", wanted, "; no batch was taken"));
  }
  return {};
}

Result<Batch> SessionCore::NextInto(const Finish& finish, const Into& into, Stream stream,
                                    milliseconds timeout) {
  if (Status apt = CheckFinish(finish, grant_.height != 0); !apt.ok()) return apt;
  const uint64_t wanted =
      uint64_t{grant_.batch_size} * grant_.row_elements() * finish::ElementBytes(finish.type);
  if (into.image_bytes < wanted) {
    return Status(Code::kInvalidArgument,
                  absl::StrCat("into.images: too small for a full batch: got ", into.image_bytes,
                               " bytes, expected ", wanted, "; no batch was taken"));
  }
  if (Status checked = CheckDestinations(into.tensors); !checked.ok()) return checked;
  Result<Batch> batch = Next(stream, timeout);
  if (!batch.ok()) return batch;
  if (Status status = batch->FinishInto(finish, into, stream); !status.ok()) return status;
  return batch;
}

// What the page's state means once all announced batches have been taken.
Status SessionCore::Ended(shm::SessionState state) {
  switch (state) {
    case shm::SessionState::kFinished:
      data_ended_ = true;
      return Status(Code::kEndOfData, "all requested epochs are done");
    case shm::SessionState::kFailed:
      return Fail(attachment_->Failure());
    case shm::SessionState::kClosing:
      return Lost(absl::UnavailableError("it is stopping"));
    case shm::SessionState::kOpen:
      break;
  }
  return Fail(absl::InternalError(absl::StrCat("the daemon set the session's state to ",
                                               static_cast<uint32_t>(state),
                                               ", which this client does not know")));
}

absl::StatusOr<Attachment::Taken> SessionCore::Fetch() {
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
  if (taken->view.epoch < state_.epoch) {
    return absl::InternalError(absl::StrCat("the daemon announced a batch of epoch ",
                                            taken->view.epoch, " in epoch ", state_.epoch));
  }
  ++taken_;
  return taken;
}

Batch SessionCore::Hand(const Attachment::Taken& taken, LeaseOwner* lease_owner) {
  lease_owner->Hold();
  Batch batch(lease_owner, taken.view);
  if (batch.view_.epoch == first_epoch_) batch.view_.step += steps_before_;
  last_ = {batch.view_.epoch, batch.view_.step};
  epoch_ended_ = batch.view_.last_of_epoch;
  state_.epoch = batch.view_.epoch;
  state_.consumed = taken.consumed;
  const bool others_go_on = ranks_differ_ && taken.consumed < grant_.epoch_samples;
  if (epoch_ended_ && !others_go_on) GoToNextEpoch();
  waits_.Taken();
  return batch;
}

void SessionCore::GoToNextEpoch() {
  ++state_.epoch;
  state_.consumed = 0;
}

Status SessionCore::Unfetched(const absl::Status& why) {
  return absl::IsUnavailable(why) ? Lost(why) : Fail(why);
}

void SessionCore::LetGo() {
  stage_.Reset();
  attachment_.Reset();
  ShowAttachment();
}

void SessionCore::ShowAttachment() {
  const base::MutexLock lock(asked_mutex_);
  asked_link_ = attachment_ ? attachment_->link() : nullptr;
  asked_session_ = attachment_ ? attachment_->grant().session_id : 0;
}

Status SessionCore::Lost(const absl::Status& why) {
  attachment_->Abandon();
  LetGo();
  return Status(Code::kUnavailable,
                absl::StrCat("the daemon is gone: ", std::string(why.message()),
                             "; batches that are held stay readable; call Next again to reconnect "
                             "and continue with the same batch"));
}

Status SessionCore::Fail(const absl::Status& why) {
  failure_ = ToPublic(why);
  LetGo();
  return failure_;
}

bool SessionCore::AllEpochsDone() const {
  return epochs_ != 0 && state_.epoch - begin_epoch_ >= epochs_;
}

absl::Status SessionCore::Reattach(base::TimePoint deadline) {
  for (base::Duration pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    const absl::Status status = TryReattach(deadline);
    if (status.ok() || !MayPass(status)) return status;
    if (base::Now() + pause >= deadline) {
      return absl::Status(
          absl::StatusCode::kUnavailable,
          absl::StrCat("could not reconnect to the daemon: ", std::string(status.message())));
    }
    std::this_thread::sleep_for(pause);
  }
}

absl::Status SessionCore::TryReattach(base::TimePoint deadline) {
  const uint64_t left = epochs_ == 0 ? 0 : epochs_ - (state_.epoch - begin_epoch_);
  PENSTOCK_ASSIGN_OR_RETURN(Opened opened, opener_->Open(state_, left, deadline));
  const Grant& now = opened.attachment->grant();
  if (now.fingerprint != grant_.fingerprint || now.samples != grant_.samples ||
      now.row_bytes != grant_.row_bytes || now.tensors != grant_.tensors) {
    return absl::FailedPreconditionError(
        absl::StrCat("the dataset changed while the daemon was gone: the feed had fingerprint ",
                     absl::Hex(grant_.fingerprint, absl::kZeroPad16), " and ", grant_.samples,
                     " samples, and now has ", absl::Hex(now.fingerprint, absl::kZeroPad16),
                     " and ", now.samples, "; open a new session without a state"));
  }
  if (now.files != 0 && grant_.files != 0 && now.files != grant_.files)
    return absl::DataLossError(absl::StrCat(
        "files of the dataset '", grant_.dataset,
        "' changed while the daemon was gone, and this epoch cannot continue with other "
        "files; open a new session"));
  const bool same_epoch = last_ && last_->first == state_.epoch;
  steps_before_ = same_epoch ? last_->second + 1 : 0;
  first_epoch_ = state_.epoch;
  taken_ = 0;
  grant_ = now;
  grant_.first_epoch_batches += steps_before_;
  state_.quarantine_version = now.quarantine_version;
  attachment_ = std::move(opened.attachment);
  stage_ = std::move(opened.stage);
  ShowAttachment();
  return absl::OkStatus();
}

uint64_t SessionCore::batches_in_epoch() const {
  return state_.epoch == first_epoch_ ? grant_.first_epoch_batches : grant_.epoch_batches;
}

Result<uint64_t> SessionCore::Quarantined() {
  if (Forked()) return ForkedStatus();
  const absl::StatusOr<uint64_t> count = opener_->Quarantined();
  if (!count.ok()) return ToPublic(count.status());
  return *count;
}

// If batches are out, the release of the last one notifies the daemon.
Status SessionCore::Close() {
  if (Forked()) return ForkedStatus();
  closed_ = true;
  absl::Status status;
  stage_.Reset();
  if (attachment_ && !attachment_->HasOtherHolders()) status = attachment_->Close();
  LetGo();
  return ToPublic(status);
}

}  // namespace penstock::client
