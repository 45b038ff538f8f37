// How a session waits for its next batch, when it gives up, and what it says then.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/src/core/convert.h"
#include "client/src/session/session_core.h"

namespace penstock::client {
namespace {

using std::chrono::milliseconds;

// How long a wait may go without a look at the doorway: the daemon's death is noticed within it.
constexpr base::Duration kSlice = milliseconds(200);
// The same while a batch's place may be given back by another thread, which rings nothing.
constexpr base::Duration kFullSlice = milliseconds(2);
// How long another thread of a consumer that holds all it can has to release a batch.
constexpr base::Duration kHoardingPatience = std::chrono::seconds(1);
// How long the daemon may take to say what is slow; never longer than was waited already.
constexpr base::Duration kAskTimeout = std::chrono::seconds(1);
constexpr base::Duration kWorthAsking = milliseconds(10);

}  // namespace

// `now + timeout`, also for a timeout beyond what the clock can count.
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

// What is there already is no wait, and costs no look at the clock.
absl::StatusOr<SessionCore::News> SessionCore::Await(base::TimePoint deadline) {
  if (const std::optional<News> news = Look()) return *news;
  const base::TimePoint begun = base::Now();
  const absl::StatusOr<News> news = AwaitNews(deadline);
  waits_.Waited(base::Now() - begun);
  return news;
}

// The bell is read before the page: what changes after that ends the sleep.
absl::StatusOr<SessionCore::News> SessionCore::AwaitNews(base::TimePoint deadline) {
  for (;;) {
    const uint32_t bell = attachment_->bell();
    if (const std::optional<News> news = Look()) return *news;
    if (HoardsForTooLong()) return News::kHoarding;
    PENSTOCK_RETURN_IF_ERROR(attachment_->Pump());
    const base::Duration left = deadline - base::Now();
    if (left <= base::Duration::zero()) return News::kNone;
    const bool full = stage_ && !stage_->HasRoom();
    attachment_->Sleep(bell, std::min(full ? kFullSlice : kSlice, left));
  }
}

// The state is read before `announced`: the daemon writes its last announcement first.
std::optional<SessionCore::News> SessionCore::Look() {
  const shm::SessionState state = attachment_->state();
  if (SomethingIsReady()) return News::kBatch;
  if (state != shm::SessionState::kOpen && attachment_->announced() == taken_) return News::kEnd;
  return std::nullopt;
}

// Batches in the consumer's hands, and how many that can be. What a stream will give back is not
// held any more.
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
  const std::string all = absl::StrCat("this consumer holds ", Held(), " batches, all that ",
                                       window ? "its window has" : "its places in GPU memory hold");
  return Status(Code::kResourceExhausted,
                absl::StrCat(all, ": no other can come; release one, or open with a larger ",
                             window ? "window" : "device_depth"));
}

std::string SessionCore::WhyNothingCame() const {
  const base::Duration waited = waits_.since_taken();
  if (waited < kWorthAsking) return "no batch was ready";
  return absl::StrCat("no batch became ready in time; what is slow is ",
                      SlowStage(attachment_->AskProgress(std::min(waited, kAskTimeout))));
}

SessionStats SessionCore::Stats() {
  SessionStats counted = waits_.Count(base::Now());
  if (Forked()) {
    counted.verdict = ForkedStatus().message();
    return counted;
  }
  std::shared_ptr<Link> link;  // shared: it may be replaced meanwhile
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
