// SessionCore: waiting for the next batch, giving up, and the error messages for that.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/src/core/convert.h"
#include "client/src/session/session_core.h"

namespace penstock::client {
namespace {

using std::chrono::milliseconds;

// Maximum time between two looks at the doorway, and so until the daemon's death is noticed.
constexpr base::Duration kSlice = milliseconds(200);
// The same while no place is free: another thread may release a batch, which wakes nobody.
constexpr base::Duration kFullSlice = milliseconds(2);
// If the consumer holds all its batches: how long we wait for another thread to release one.
constexpr base::Duration kHoardingPatience = std::chrono::seconds(1);
// How long we wait for the daemon's report on the slow stage; never longer than already waited.
constexpr base::Duration kAskTimeout = std::chrono::seconds(1);
constexpr base::Duration kWorthAsking = milliseconds(10);

}  // namespace

// `now + timeout`, limited to a year so that the clock cannot overflow.
base::TimePoint SessionCore::DeadlineAfter(milliseconds timeout) {
  constexpr milliseconds kLongest = std::chrono::hours(24 * 365);
  return base::Now() + std::clamp(timeout, milliseconds(0), kLongest);
}

Result<Batch> SessionCore::Wait(const Stream* stream, base::TimePoint deadline) {
  const absl::StatusOr<News> news = Await(deadline);
  if (!news.ok()) return Lost(news.status());
  switch (*news) {
    case News::kBatch:
      return TakeReady(stream);
    case News::kEnd:
      return Ended(attachment_->state());
    case News::kHoarding:
      return Hoarding();
    case News::kNone:
      break;
  }
  if (Held() >= MostHeld()) return Hoarding();
  return Status(Code::kDeadlineExceeded, WhyNothingCame());
}

Result<bool> SessionCore::WaitReady(milliseconds timeout) {
  if (Forked()) return ForkedStatus();
  if (!attachment_ || closed_ || epoch_ended_) return true;
  const absl::StatusOr<News> news = Await(DeadlineAfter(timeout));
  return !news.ok() || *news != News::kNone;
}

// If there is something at once, this is no wait, and the clock is not read.
absl::StatusOr<SessionCore::News> SessionCore::Await(base::TimePoint deadline) {
  if (const std::optional<News> news = Look()) return *news;
  const base::TimePoint begun = base::Now();
  const absl::StatusOr<News> news = AwaitNews(deadline);
  waits_.Waited(base::Now() - begun);
  return news;
}

// Reads the page's `bell` before the rest of the page: a later change then ends the sleep.
absl::StatusOr<SessionCore::News> SessionCore::AwaitNews(base::TimePoint deadline) {
  for (;;) {
    const uint32_t wakeup = attachment_->wakeup();
    if (const std::optional<News> news = Look()) return *news;
    if (HoardsForTooLong()) return News::kHoarding;
    PENSTOCK_RETURN_IF_ERROR(attachment_->Pump());
    const base::Duration left = deadline - base::Now();
    if (left <= base::Duration::zero()) return News::kNone;
    const bool full = stage_ && !stage_->HasFreeBuffer();
    attachment_->Sleep(wakeup, std::min(full ? kFullSlice : kSlice, left));
  }
}

// Reads the state before `announced`: the daemon writes its last announcement before the state.
std::optional<SessionCore::News> SessionCore::Look() {
  const shm::SessionState state = attachment_->state();
  if (SomethingIsReady()) return News::kBatch;
  if (state != shm::SessionState::kOpen && attachment_->announced() == taken_) return News::kEnd;
  return std::nullopt;
}

// Batches that the consumer holds. A batch that a stream will release does not count.
uint32_t SessionCore::Held() const {
  return (stage_ ? stage_->holders() : attachment_->holders()) - 1;
}

uint32_t SessionCore::MostHeld() const {
  if (stage_) return stage_->depth();
  const uint32_t window = std::max(grant_.window, 1u);
  return gpu_ == nullptr ? window : std::min(window, std::max(grant_.device_depth, 1u));
}

bool SessionCore::HoardsForTooLong() {
  const base::TimePoint now = base::Now();
  const std::optional<base::TimePoint> since = waits_.Hoards(Held() >= MostHeld(), now);
  return since && now - *since >= kHoardingPatience;
}

Status SessionCore::Hoarding() const {
  const bool window = gpu_ == nullptr || (!stage_ && grant_.window <= grant_.device_depth);
  const std::string all =
      absl::StrCat("this consumer holds ", Held(), " batches, all that ",
                   window ? "its window has" : "its places in GPU memory allow");
  return Status(
      Code::kResourceExhausted,
      absl::StrCat(all, ", so no other can come; release one, or open the session with a larger ",
                   window ? "window" : "device_depth"));
}

std::string SessionCore::WhyNothingCame() const {
  const base::Duration waited = waits_.since_taken();
  if (waited < kWorthAsking) return "no batch was ready";
  return absl::StrCat("no batch became ready in time; the slow stage is ",
                      SlowStage(attachment_->AskProgress(std::min(waited, kAskTimeout))));
}

SessionStats SessionCore::Stats() {
  SessionStats counted = waits_.Count(base::Now());
  if (Forked()) {
    counted.verdict = ForkedStatus().message();
    return counted;
  }
  std::shared_ptr<Link> link;  // shared, because it may be replaced meanwhile
  uint64_t session = 0;
  {
    const base::MutexLock lock(asked_mutex_);
    link = asked_link_;
    session = asked_session_;
  }
  if (link == nullptr) return Complete(counted, absl::UnavailableError("the session is not open"));
  return Complete(counted, link->GetProgress(session, kAskTimeout));
}

}  // namespace penstock::client
