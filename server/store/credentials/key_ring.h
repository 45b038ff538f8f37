// The keys that requests are signed with, renewed before they end.
//
// One thread of the ring, `store-keys`, is the only one that asks the source, so there is one
// renewal at a time. Requests under way go on with the keys that they were signed with. While a
// renewal fails, the old keys are used until they end.
// **Thread safety**: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "common/base/back_off.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/store/credentials/key_source.h"

namespace penstock::store {

class KeyRing {
 public:
  struct Options {
    // Keys are renewed so long before they end, or in the last quarter of their life if that is
    // shorter; up to a fifth of it earlier at random, so that not all daemons come at once.
    base::Duration ahead = std::chrono::minutes(5);
    base::Duration reread = std::chrono::seconds(60);  // how often files are read again
    // The least between two renewals; after one that failed it doubles, up to the longest pause.
    base::Duration first_pause = std::chrono::seconds(1);
    base::Duration longest_pause = std::chrono::seconds(60);
    // Between renewals for a server's keys that a store has refused.
    base::Duration between_refused = std::chrono::seconds(10);
    base::Duration patience = std::chrono::seconds(30);  // of callers
  };
  // What happened, for the log. Called by the ring's thread.
  struct KeyNews {
    absl::Status status;                  // of the renewal
    std::string from = {};                // who gave the keys, or why there are none
    std::optional<int64_t> seconds = {};  // until they end
  };
  using OnNews = std::function<void(const KeyNews&)>;

  KeyRing(std::unique_ptr<KeySource> source, const Options& options, OnNews on_news = {});
  ~KeyRing();  // calls Stop
  KeyRing(const KeyRing&) = delete;
  KeyRing& operator=(const KeyRing&) = delete;

  // Ends all waiting with Cancelled, and the thread once its source has answered.
  void Stop();

  // The keys to sign with now. Waits for the first ones, and for new ones if the old ones have
  // ended. **Errors**: those of the source; Unavailable: no answer within the patience; Cancelled.
  absl::StatusOr<SharedKeys> Get();
  // The same without waiting. Nullopt: there are none yet, or they have ended.
  std::optional<SharedKeys> Peek();

  // A store has refused `refused`, perhaps because they have ended. Returns whether there are other
  // keys by now, and waits for a renewal if that may help.
  bool Renew(const SharedKeys& refused);
  // Whether Renew may give other keys. Never waits.
  bool CanRenew() const;
  // Asks the source again soon. Never waits.
  void RenewSoon();
  // Reads keys in files again, and waits for that; does nothing for keys of servers.
  void Reread();

  // "signed with the keys of instance metadata; renewing them failed: …", for messages.
  std::string Describe() const;

 private:
  void Serve();
  // What the source gives. That a file's keys are gone is an error at first, because whoever writes
  // it may be half-way, and believed if it still holds `reread` later.
  absl::StatusOr<KeysFound> Fetch();
  bool AwaitDue();  // false: the ring ends
  // Returns whether the log should hear of it. `left`: until the keys end.
  bool Take(absl::StatusOr<KeysFound> found, std::optional<base::Duration> left);
  void Ask() PENSTOCK_REQUIRES(mutex_);
  bool FailedJustNow(base::TimePoint now) const PENSTOCK_REQUIRES(mutex_);
  // Waits until the source has answered more than `asked` times, at most the patience.
  void AwaitAnswer(uint64_t asked) PENSTOCK_REQUIRES(mutex_);
  bool HasUsable(base::TimePoint now) const PENSTOCK_REQUIRES(mutex_);
  bool Changes() const PENSTOCK_REQUIRES(mutex_);
  base::Duration UntilNext(base::Duration left) const;

  const std::unique_ptr<KeySource> source_;  // of the thread
  const Options options_;
  const OnNews on_news_;
  mutable base::Mutex mutex_;
  base::CondVar changed_;
  std::optional<KeysFound> found_ PENSTOCK_GUARDED_BY(mutex_);       // the newest
  std::optional<base::TimePoint> end_ PENSTOCK_GUARDED_BY(mutex_);   // of them
  std::optional<base::TimePoint> next_ PENSTOCK_GUARDED_BY(mutex_);  // when to ask again by itself
  absl::Status trouble_ PENSTOCK_GUARDED_BY(mutex_);                 // why the last renewal failed
  std::optional<base::TimePoint> gone_since_ PENSTOCK_GUARDED_BY(mutex_);
  base::BackOff back_off_ PENSTOCK_GUARDED_BY(mutex_);
  base::TimePoint last_answer_ PENSTOCK_GUARDED_BY(mutex_){};
  std::optional<base::TimePoint> last_for_refused_ PENSTOCK_GUARDED_BY(mutex_);
  uint64_t answers_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  bool is_asked_ PENSTOCK_GUARDED_BY(mutex_) = false;
  bool is_asking_ PENSTOCK_GUARDED_BY(mutex_) = false;
  bool stopping_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::thread thread_ PENSTOCK_GUARDED_BY(mutex_);  // begins when keys are first needed
};

}  // namespace penstock::store
