// The existing feeds: one entry for each feed that has sessions, rows in progress or full slots.
// Two sessions share a feed, and the slots that it filled, if they belong to one user, use the very
// same opened dataset (the same DatasetState, not one with an equal digest) and request the same in
// every field. A fingerprint says nothing about content, so it never decides what is shared.
//
// **Ownership**: owned by the engine. An entry keeps neither the dataset nor a given order alive:
// without them, nobody can ask for that feed again. **Thread safety**: the runner's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>

#include "absl/container/flat_hash_set.h"
#include "server/feed/core/core.h"
#include "server/feed/identity/fingerprint.h"

namespace penstock::feed {

struct DatasetState;
struct Feed;

class FeedBook {
 public:
  struct Entry {
    UserId user;
    std::weak_ptr<const DatasetState> dataset;
    FeedSpec spec;  // without `given`
    std::weak_ptr<const plan::GivenOrder> given;
    std::weak_ptr<Feed> feed;  // owned by its sessions and its rows in progress
    bool is_over = false;      // nobody gets this number any more
  };

  // Returns the number of the feed that this user's sessions with this dataset and spec share;
  // creates one if necessary. Numbers are never reused.
  FeedId IdOf(UserId user, const std::shared_ptr<const DatasetState>& dataset,
              const FeedSpec& spec);

  // Sessions that ask for the same from now on share another feed, and none of the slots that this
  // one filled.
  void End(FeedId feed) { At(feed).is_over = true; }

  // The feed. **Requires**: it is in use.
  std::shared_ptr<Feed> InUse(FeedId feed) const;
  Entry& At(FeedId feed);
  const Entry& At(FeedId feed) const;
  const std::map<uint64_t, Entry>& entries() const { return entries_; }

  // Drops the entries without sessions and rows in progress. Keeps those in `in_slots`, whose feeds
  // have full slots.
  void Prune(const absl::flat_hash_set<FeedId>& in_slots);
  // Whether Prune could drop something.
  bool HasIdle() const;

 private:
  std::map<uint64_t, Entry> entries_;                     // by number
  std::unordered_multimap<uint64_t, uint64_t> by_looks_;  // fingerprint → number
  uint64_t next_ = 1;
};

}  // namespace penstock::feed
