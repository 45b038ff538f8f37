// Reads the stored bytes of bad samples for the page of the metrics port. Any storage may hang:
// then the asker gets the reason after `patience`, and the read keeps one of a few threads of its
// own until its storage answers. A dataset has one read at a time.
//
// **Ownership**: owned by the daemon. **Thread safety**: one thread, the port's, calls Answer,
// which never waits. The destructor waits for reads in progress.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/token_bucket.h"
#include "server/app/catalog/desks.h"
#include "server/source/core/dataset.h"
#include "server/status/page/bad_sample.h"

namespace penstock::app {

// Reads the sample as it is stored. **Errors**: Unavailable if it cannot be read now; NotFound, in
// words, if it changed since it was indexed, is too large or has no bytes of its own. May block.
absl::StatusOr<std::string> ReadStoredSample(const source::Dataset& dataset, uint64_t sample);

class BadSamplePictures {
 public:
  using Dataset = std::shared_ptr<const source::Dataset>;  // shared with the catalogue and feeds
  using Done = std::function<void(absl::StatusOr<Dataset>)>;
  // Looks in the list of bad samples, and calls `done` on any thread at any later time. False: it
  // looks for nothing now.
  using Find = std::function<bool(const status::BadSampleName&, Done done)>;
  struct Options {
    base::Duration patience = std::chrono::seconds(3);
    size_t most_at_once = 4;  // looked for, read or being sent
    base::TokenBucket::Options looks = {.per_second = 32, .burst = 32};
    base::TokenBucket::Options reads = {.per_second = 4, .burst = 8};
    Desks::Options desks = {.most_threads = 4,
                            .most_of_a_user = 4,
                            .most_waiting = 16,
                            .most_waiting_of_a_user = 16,
                            .thread_name = "pictures",
                            .priority = posix::Priority::kLowest};
  };

  explicit BadSamplePictures(Find find) : BadSamplePictures(std::move(find), Options{}) {}
  BadSamplePictures(Find find, const Options& options);
  ~BadSamplePictures();

  // The answer to a request for kBadSamplePath; pending until the sample is found and read.
  status::HttpPage Answer(const status::HttpRequest& request);

 private:
  struct Picture;
  using SharedPicture = std::shared_ptr<Picture>;
  absl::Status Begin(const status::BadSampleName& name, base::TimePoint now);
  absl::Status MayBegin(base::TimePoint now);
  status::HttpPage Proceed(const SharedPicture& picture, base::TimePoint now);
  absl::Status StartReading(const SharedPicture& picture, Dataset dataset, base::TimePoint now);
  bool IsReading(const source::Dataset& dataset) const;
  void Forget(base::TimePoint now);

  const Find find_;
  const Options options_;
  const base::SteadyClock clock_;
  base::TokenBucket looks_, reads_;
  // Those that somebody waits for; shared with the looks and reads in progress.
  std::map<status::BadSampleName, SharedPicture> pictures_;
  std::vector<std::weak_ptr<const Picture>> alive_;  // those and the ones that are being sent
  // Each dataset's read in progress; the read holds the pointer, and its dataset.
  std::map<const source::Dataset*, std::weak_ptr<const void>> reading_;
  Desks desks_;  // declared last, because its jobs use pictures
};

}  // namespace penstock::app
