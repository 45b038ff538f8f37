#include "server/status/collector.h"

#include <utility>

#include "server/status/gzip.h"

namespace penstock::status {

Collector::Collector(Sources sources, Options options)
    : sources_(std::move(sources)), options_(options), snapshot_(sources_.ask, options.patience) {}

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
  snapshot_.Renew();
  const Facts facts = sources_.facts();
  collected_at_ = clock_.Now();
  families_ = snapshot_.With([&](const Snapshot* snapshot, base::TimePoint at) {
    scrapes.snapshot_age = collected_at_ - (snapshot != nullptr ? at : started_);
    return Metrics(facts, snapshot, scrapes);
  });
  pages_.clear();
}

}  // namespace penstock::status
