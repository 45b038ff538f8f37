// The pages besides /metrics: the page itself, /status.json, /history.json and /bad-sample.
//
// **Thread safety**: one thread (the server's) asks for pages, another one calls Tick.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/clock.h"
#include "penstock/v1/page.pb.h"
#include "server/status/http_connection.h"
#include "server/status/latest_answer.h"
#include "server/status/page/history.h"

namespace penstock::status {

// Milliseconds since 1970.
int64_t UnixMs();

class Pages {
 public:
  using Page = std::shared_ptr<const v1::StatusPage>;  // shared by the asker and the asked
  struct Sources {
    LatestAnswer<Page>::Ask page;
    LatestAnswer<Snapshot>::Ask snapshot;
    std::function<bool()> draining;  // any thread
    int64_t started_unix_ms = 0;
    // The answer to a request for kBadSamplePath; not set: there are no pictures.
    std::function<HttpPage(const HttpRequest&)> bad_sample = {};
  };
  struct Options {
    // How long a stuck runner is waited for, once.
    base::Duration patience = std::chrono::seconds(1);
    // How long an answer is reused for everybody, so that any number of open pages costs the runner
    // one report a second.
    base::Duration fresh = std::chrono::milliseconds(900);
  };
  explicit Pages(Sources sources) : Pages(std::move(sources), Options{}) {}
  Pages(Sources sources, Options options);

  // Null: nothing was ever answered, or it cannot be written as JSON.
  std::shared_ptr<const std::string> StatusJson();
  std::shared_ptr<const std::string> HistoryJson();
  bool shows_bad_samples() const { return sources_.bad_sample != nullptr; }
  // **Requires**: shows_bad_samples().
  HttpPage BadSample(const HttpRequest& request) const { return sources_.bad_sample(request); }

  // Call it several times a second: adds to the history when an interval is over.
  void Tick(base::TimePoint now);

 private:
  v1::StatusHistory NewestHistory(size_t records) const;

  const Sources sources_;
  const Options options_;
  const base::SteadyClock clock_;
  LatestAnswer<Page> page_;
  const std::shared_ptr<History> history_ = std::make_shared<History>();  // shared with questions
  base::TimePoint noted_at_{};                                            // used by Tick
  std::shared_ptr<const std::string> status_, history_text_;  // shared with the responses
  base::TimePoint status_at_{}, history_at_{};
};

}  // namespace penstock::status
