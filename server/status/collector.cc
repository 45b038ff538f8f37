#include "server/status/collector.h"

#include <utility>

#include "server/status/gzip.h"

namespace penstock::status {

Collector::Collector(Sources sources, Options options)
    : sources_(std::move(sources)), options_(options) {}

std::shared_ptr<const std::string> Collector::Page(ScrapeFacts scrapes, const PageForm& form) {
  if (families_.empty() || clock_.Now() - collected_at_ >= options_.fresh) Collect(scrapes);
  for (const auto& [known, page] : pages_)
    if (known == form) return page;
  std::string text =
      Format(families_, form.open_metrics ? TextFormat::kOpenMetrics : TextFormat::kPrometheus);
  if (form.gzip) text = Gzip(text);
  pages_.emplace_back(form, std::make_shared<const std::string>(std::move(text)));
  return pages_.back().second;
}

void Collector::Collect(ScrapeFacts scrapes) {
  Renew();
  const Facts facts = sources_.facts();
  base::MutexLock lock(inbox_->mutex);
  collected_at_ = clock_.Now();
  scrapes.snapshot_age = collected_at_ - (inbox_->snapshot ? inbox_->at : started_);
  families_ = Metrics(facts, inbox_->snapshot ? &*inbox_->snapshot : nullptr, scrapes);
  pages_.clear();
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
