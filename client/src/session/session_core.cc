#include "client/src/session/session_core.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/connection/deadline.h"
#include "client/src/core/convert.h"
#include "client/src/core/fork.h"
#include "client/src/session/await.h"
#include "client/src/session/reopen.h"

namespace penstock::client {
namespace {

using std::chrono::milliseconds;

// How long we wait for the daemon's report on the slow stage; never longer than already waited.
constexpr base::Duration kAskTimeout = std::chrono::seconds(1);
constexpr base::Duration kWorthAsking = milliseconds(10);

}  // namespace

SessionCore::SessionCore(std::unique_ptr<Opener> opener, Opened opened, const Begin& begin)
    : generation_(WatchForks()),
      opener_(std::move(opener)),
      gpu_(opened.attachment->shared_gpu()),
      grant_(opened.attachment->grant()),
      batches_(std::move(opened)),
      position_(begin, grant_) {
  progress_.Set(&batches_.attachment());
}

bool SessionCore::Forked() const { return ForkedSince(generation_); }

Result<Batch> SessionCore::Get(const Stream* stream, milliseconds timeout) {
  if (Forked()) [[unlikely]]
    return ForkedStatus();
  if (stream != nullptr && gpu_ != nullptr) {
    if (const absl::Status status = RefuseCapture(*gpu_, *stream); !status.ok()) [[unlikely]]
      return ToPublic(status);
  }
  if (batches_.open() && !position_.at_epoch_end() && batches_.HasBatch()) [[likely]]
    return TakeReady(stream);
  return NextSlowly(stream, timeout);
}

Result<Batch> SessionCore::NextSlowly(const Stream* stream, milliseconds timeout) {
  if (closed_) {
    return Status(Code::kFailedPrecondition, "the session is closed; open another one");
  }
  if (const std::optional<uint64_t> epoch = position_.ReportEpochEnd())
    return Status(Code::kEndOfEpoch,
                  absl::StrCat("epoch ", *epoch, " has no more batches for this rank"));
  if (!failure_.ok()) return failure_;
  if (data_ended_) return EndData();
  const base::TimePoint deadline = DeadlineAfter(timeout);
  if (!batches_.open()) {
    if (position_.AllEpochsDone()) return EndData();
    if (const absl::Status status = Reattach(deadline); !status.ok()) return ToPublic(status);
  }
  return Wait(stream, deadline);
}

Result<Batch> SessionCore::Wait(const Stream* stream, base::TimePoint deadline) {
  const absl::StatusOr<News> news = Await(batches_, waits_, deadline, position_.state().epoch);
  if (!news.ok()) return Lost(news.status());
  switch (*news) {
    case News::kBatch:
      return TakeReady(stream);
    case News::kEnd:
      return Ended(batches_.attachment().state());
    case News::kHoarding:
      return HoardingStatus(batches_);
    case News::kHostWanted:
      return Status(Code::kHostWanted,
                    "no process makes this dataset's batches; fork a host and call "
                    "NoteHostForked, then call Next again");
    case News::kNone:
      break;
  }
  if (batches_.Held() >= batches_.MostHeld()) return HoardingStatus(batches_);
  return Status(Code::kDeadlineExceeded, WhyNothingCame());
}

Result<bool> SessionCore::WaitReady(milliseconds timeout) {
  if (Forked()) return ForkedStatus();
  if (!batches_.open() || closed_ || position_.at_epoch_end()) return true;
  const absl::StatusOr<News> news =
      Await(batches_, waits_, DeadlineAfter(timeout), position_.state().epoch);
  return !news.ok() || *news != News::kNone;
}

uint32_t SessionCore::HostsWanted() const {
  return Forked() || !batches_.open() ? 0 : batches_.attachment().HostsWanted();
}

Status SessionCore::NoteHostForked() {
  if (Forked()) return ForkedStatus();
  if (batches_.open()) batches_.attachment().NoteHostForked();
  return {};
}

std::string SessionCore::WhyNothingCame() const {
  const base::Duration waited = waits_.since_taken();
  if (waited < kWorthAsking) return "no batch was ready";
  return absl::StrCat("no batch became ready in time; the slow stage is ",
                      SlowStage(progress_.Ask(std::min(waited, kAskTimeout))));
}

// An error with a batch that is copied ahead is reported by the next call.
Result<Batch> SessionCore::TakeReady(const Stream* stream) {
  const absl::StatusOr<ReadyBatches::Taken> taken = batches_.Take(stream, position_.state().epoch);
  if (!taken.ok()) [[unlikely]]
    return absl::IsUnavailable(taken.status()) ? Lost(taken.status()) : Fail(taken.status());
  Batch batch = Hand(*taken);
  const absl::Status ahead = batches_.CopyAhead(position_.state().epoch);
  if (!ahead.ok()) [[unlikely]]
    (void)Fail(ahead);
  return batch;
}

Batch SessionCore::Hand(const ReadyBatches::Taken& taken) {
  taken.lease_owner->Hold();
  Batch batch(taken.lease_owner, taken.batch.view);
  batch.view_.step = position_.Take({.epoch = batch.view_.epoch,
                                     .step = batch.view_.step,
                                     .consumed = taken.batch.consumed,
                                     .last_of_epoch = batch.view_.last_of_epoch});
  waits_.Taken();
  return batch;
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

Status SessionCore::EndData() {
  data_ended_ = true;
  return Status(Code::kEndOfData, "all requested epochs are done");
}

// What the page's state means once all announced batches have been taken.
Status SessionCore::Ended(shm::SessionState state) {
  switch (state) {
    case shm::SessionState::kFinished:
      return EndData();
    case shm::SessionState::kFailed:
      return Fail(batches_.attachment().Failure());
    case shm::SessionState::kClosing:
      return Lost(absl::UnavailableError("it is stopping"));
    case shm::SessionState::kOpen:
      break;
  }
  return Fail(absl::InternalError(absl::StrCat("the daemon set the session's state to ",
                                               static_cast<uint32_t>(state),
                                               ", which this client does not know")));
}

Status SessionCore::Lost(const absl::Status& why) {
  batches_.attachment().Abandon();
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

void SessionCore::LetGo() {
  batches_.Close();
  progress_.Set(nullptr);
}

absl::Status SessionCore::Reattach(base::TimePoint deadline) {
  const auto open = [&] {
    return opener_->Open(position_.state(), position_.EpochsLeft(), deadline);
  };
  PENSTOCK_ASSIGN_OR_RETURN(Opened opened, Reopen(open, grant_, deadline));
  grant_ = opened.attachment->grant();
  position_.Reopened(grant_);
  batches_ = ReadyBatches(std::move(opened));
  progress_.Set(&batches_.attachment());
  return absl::OkStatus();
}

SessionStats SessionCore::Stats() {
  SessionStats counted = waits_.Count(base::Now());
  counted.rows_replaced = opener_->RowsReplaced();
  counted.decoder_bytes = opener_->DecoderBytes();
  if (Forked()) {
    counted.verdict = ForkedStatus().message();
    return counted;
  }
  return Complete(counted, progress_.Ask(kAskTimeout));
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
  batches_.CloseStage();
  if (batches_.open() && !batches_.attachment().HasOtherHolders())
    status = batches_.attachment().Close();
  LetGo();
  return ToPublic(status);
}

}  // namespace penstock::client
