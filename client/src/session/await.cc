#include "client/src/session/await.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/shm/control_page.h"

namespace penstock::client {
namespace {

using std::chrono::milliseconds;

// Maximum time between two looks at the doorway, and so until the daemon's death is noticed.
constexpr base::Duration kSlice = milliseconds(200);
// The same while no place is free: another thread may release a batch, which wakes nobody.
constexpr base::Duration kFullSlice = milliseconds(2);
// If the consumer holds all its batches: how long we wait for another thread to release one.
constexpr base::Duration kHoardingPatience = std::chrono::seconds(1);

bool HoardsForTooLong(const ReadyBatches& batches, Waits& waits) {
  const base::TimePoint now = base::Now();
  const std::optional<base::TimePoint> since =
      waits.Hoards(batches.Held() >= batches.MostHeld(), now);
  return since && now - *since >= kHoardingPatience;
}

// The daemon is told of the sleep while a batch is being made, too: if it has announced nothing
// further, more workers would help.
void Sleep(const ReadyBatches& batches, uint32_t wakeup, base::Duration most) {
  Attachment& attachment = batches.attachment();
  attachment.SayAsleep(true);
  if (batches.IsMaking()) {
    batches.AwaitMade(std::min(kSlice, most));
  } else {
    attachment.Sleep(wakeup, std::min(batches.IsFull() ? kFullSlice : kSlice, most));
  }
  attachment.SayAsleep(false);
}

// Reads the page's `wakeup` before the rest of the page: a later change then ends the sleep.
absl::StatusOr<News> AwaitNews(ReadyBatches& batches, Waits& waits, base::TimePoint deadline,
                               uint64_t epoch) {
  Attachment& attachment = batches.attachment();
  for (;;) {
    const uint32_t wakeup = attachment.wakeup();
    batches.MakeAhead(epoch);
    if (const std::optional<News> news = LookFor(batches)) return *news;
    if (HoardsForTooLong(batches, waits)) return News::kHoarding;
    PENSTOCK_RETURN_IF_ERROR(attachment.Pump());
    const base::Duration left = deadline - base::Now();
    if (left <= base::Duration::zero()) return News::kNone;
    Sleep(batches, wakeup, left);
  }
}

}  // namespace

// Reads the state before `announced`: the daemon writes its last announcement before the state.
std::optional<News> LookFor(const ReadyBatches& batches) {
  const shm::SessionState state = batches.attachment().state();
  if (batches.HasBatch()) return News::kBatch;
  if (state != shm::SessionState::kOpen && batches.AllTaken()) return News::kEnd;
  if (batches.attachment().HostsWanted() != 0) return News::kHostWanted;
  return std::nullopt;
}

absl::StatusOr<News> Await(ReadyBatches& batches, Waits& waits, base::TimePoint deadline,
                           uint64_t epoch) {
  if (const std::optional<News> news = LookFor(batches)) return *news;
  const base::TimePoint begun = base::Now();
  const absl::StatusOr<News> news = AwaitNews(batches, waits, deadline, epoch);
  waits.Waited(base::Now() - begun);
  return news;
}

Status HoardingStatus(const ReadyBatches& batches) {
  const bool window = batches.WindowIsLimit();
  return Status(Code::kResourceExhausted,
                absl::StrCat("this consumer holds ", batches.Held(), " batches, all that ",
                             window ? "its window has" : "its places in GPU memory allow",
                             ", so no other can come; release one, or open the session with a "
                             "larger ",
                             window ? "window" : "device_depth"));
}

}  // namespace penstock::client
