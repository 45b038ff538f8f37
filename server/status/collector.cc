#include "server/status/collector.h"

#include <utility>

namespace penstock::status {

Collector::Collector(Sources sources, Options options)
    : sources_(std::move(sources)), options_(options), snapshot_(sources_.ask, options.patience) {}

std::shared_ptr<const std::string> Collector::Page(ScrapeFacts scrapes) {
  if (page_ != nullptr && clock_.Now() - page_at_ < options_.fresh) return page_;
  snapshot_.Renew();
  const Facts facts = sources_.facts();
  page_at_ = clock_.Now();
  page_ = snapshot_.With([&](const Snapshot* snapshot, base::TimePoint at) {
    scrapes.snapshot_age = page_at_ - (snapshot != nullptr ? at : started_);
    return std::make_shared<const std::string>(Format(Metrics(facts, snapshot, scrapes)));
  });
  return page_;
}

}  // namespace penstock::status
