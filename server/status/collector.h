// The page that is scraped: asks the runner for a snapshot, and does without where none comes in
// time. It never waits for the runner longer than its patience, and only once while that is stuck.
// One thread (the server's) asks for pages; the answer may come from any, at any time later.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "server/status/metrics.h"

namespace penstock::status {

class Collector {
 public:
  using Done = std::function<void(Snapshot)>;
  struct Sources {
    // Asks for a snapshot; false: nobody takes the question now, and `done` is never called.
    std::function<bool(Done done)> ask;
    std::function<Facts()> facts;
  };
  struct Options {
    base::Duration patience = std::chrono::seconds(1);
    // So long a page is good for everybody: a flood of scrapes costs the runner ten snapshots a
    // second.
    base::Duration fresh = std::chrono::milliseconds(100);
  };
  explicit Collector(Sources sources) : Collector(std::move(sources), Options{}) {}
  Collector(Sources sources, Options options);

  // Of the scrapes' facts everything but the snapshot's age.
  std::shared_ptr<const std::string> Page(ScrapeFacts scrapes);

 private:
  // Shared with the question, which may be answered after we are gone.
  struct Inbox {
    base::Mutex mutex;
    base::CondVar answered;
    bool asked PENSTOCK_GUARDED_BY(mutex) = false;
    std::optional<Snapshot> snapshot PENSTOCK_GUARDED_BY(mutex);
    base::TimePoint at PENSTOCK_GUARDED_BY(mutex);
  };
  void Renew();

  const Sources sources_;
  const Options options_;
  const base::SteadyClock clock_;
  const base::TimePoint started_ = clock_.Now();
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  std::shared_ptr<const std::string> page_;  // shared with the answers that carry it
  base::TimePoint page_at_{};
};

}  // namespace penstock::status
