// Builds the metrics page: asks the runner for a snapshot and does without it if none arrives in
// time. It never waits longer than `patience`, and only once while the runner is stuck.
//
// **Thread safety**: one thread (the server's) asks for pages; the runner's answer may arrive on
// any thread at any later time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "server/status/http_request.h"
#include "server/status/latest_answer.h"
#include "server/status/metrics.h"

namespace penstock::status {

class Collector {
 public:
  using Done = LatestAnswer<Snapshot>::Done;
  struct Sources {
    // Asks for a snapshot. False: nobody accepts the question now, and `done` is never called.
    std::function<bool(Done done)> ask;
    std::function<Facts()> facts;
  };
  struct Options {
    base::Duration patience = std::chrono::seconds(1);
    // How long a page is reused for everybody, so that a flood of scrapes costs the runner only ten
    // snapshots a second.
    base::Duration fresh = std::chrono::milliseconds(100);
  };
  explicit Collector(Sources sources) : Collector(std::move(sources), Options{}) {}
  Collector(Sources sources, Options options);

  // `scrapes`: everything except the snapshot's age, which is filled in here.
  std::shared_ptr<const std::string> Page(ScrapeFacts scrapes, const PageForm& form = {});

 private:
  void Collect(ScrapeFacts scrapes);

  const Sources sources_;
  const Options options_;
  const base::SteadyClock clock_;
  const base::TimePoint started_ = clock_.Now();
  LatestAnswer<Snapshot> snapshot_;
  // The current metrics, and those forms of the page that were asked for, each shared with the
  // responses that carry it.
  std::vector<Family> families_;
  std::vector<std::pair<PageForm, std::shared_ptr<const std::string>>> pages_;  // at most four
  base::TimePoint collected_at_{};
};

}  // namespace penstock::status
