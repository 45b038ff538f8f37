// Which feeds there are: one entry for each feed that has sessions, rows in flight or full slots.
// Two sessions share a feed, and the slots that it filled, when they are of one user, over the very
// same opened dataset (the same DatasetState, not one with an equal digest) and ask for the same in
// every field. A fingerprint says nothing about content, so it never decides what is shared.
//
// **Ownership**: the engine owns the book. An entry holds neither the dataset nor a given order:
// once either is gone, nothing can ask for that feed again.
// **Thread safety**: the runner's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>

#include "absl/container/flat_hash_set.h"
#include "server/feed/core/core.h"
#include "server/feed/engine/fingerprint.h"

namespace penstock::feed {

struct DatasetState;
struct Feed;

class FeedBook {
 public:
  struct Entry {
    UserId user;
    std::weak_ptr<const DatasetState> dataset;
    FeedSpec spec;  // but for `given`
    std::weak_ptr<const plan::GivenOrder> given;
    std::weak_ptr<Feed> feed;  // with its sessions and its rows in flight
  };

  // The number of the feed that this user's sessions over this dataset with this spec share; a new
  // one where there is none yet. Numbers are never used again.
  FeedId IdOf(UserId user, const std::shared_ptr<const DatasetState>& dataset,
              const FeedSpec& spec);

  // The feed; somebody has it.
  std::shared_ptr<Feed> InUse(FeedId feed) const;
  Entry& At(FeedId feed);
  const Entry& At(FeedId feed) const;
  const std::map<uint64_t, Entry>& entries() const { return entries_; }

  // Drops the entries that no session and no row uses, except those that `slots` are keyed by.
  void Prune(const absl::flat_hash_set<FeedId>& in_slots);
  // Whether Prune could drop something.
  bool HasIdle() const;

 private:
  std::map<uint64_t, Entry> entries_;                     // by number
  std::unordered_multimap<uint64_t, uint64_t> by_looks_;  // fingerprint → number
  uint64_t next_ = 1;
};

}  // namespace penstock::feed
