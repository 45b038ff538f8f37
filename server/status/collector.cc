#include "server/status/collector.h"

#include <utility>

namespace penstock::status {

Collector::Collector(Sources sources, Options options)
    : sources_(std::move(sources)), options_(options) {}

std::shared_ptr<const std::string> Collector::Page(ScrapeFacts scrapes) {
  if (page_ != nullptr && clock_.Now() - page_at_ < options_.fresh) return page_;
  Renew();
  const Facts facts = sources_.facts();
  base::MutexLock lock(inbox_->mutex);
  page_at_ = clock_.Now();
  scrapes.snapshot_age = page_at_ - (inbox_->snapshot ? inbox_->at : started_);
  page_ = std::make_shared<const std::string>(
      Format(Metrics(facts, inbox_->snapshot ? &*inbox_->snapshot : nullptr, scrapes)));
  return page_;
}

// If a question of an earlier call is still unanswered, does not wait for it again.
void Collector::Renew() {
  {
    base::MutexLock lock(inbox_->mutex);
    if (inbox_->asked) return;
    inbox_->asked = true;
  }
  const bool taken = sources_.ask([inbox = inbox_](Snapshot snapshot) {
    base::MutexLock lock(inbox->mutex);
    inbox->snapshot = std::move(snapshot);
    inbox->at = base::Now();
    inbox->asked = false;
    inbox->answered.NotifyAll();
  });
  const base::TimePoint deadline = clock_.Now() + options_.patience;
  base::MutexLock lock(inbox_->mutex);
  if (!taken) inbox_->asked = false;
  for (base::TimePoint now = clock_.Now(); inbox_->asked && now < deadline; now = clock_.Now())
    inbox_->answered.WaitFor(inbox_->mutex, deadline - now);
}

}  // namespace penstock::status
