// The items that a worker was given, and the account to charge if it dies: that of its current
// sample, else of the last item it was given. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "server/workers/work.h"

namespace penstock::workers {

class GivenItems {
 public:
  void Add(uint64_t id, uint64_t account) {
    given_.push_back({id, account});
    last_account_ = account;
  }
  void Remove(std::span<const Outcome> ended) {
    for (const Outcome& outcome : ended)
      std::erase_if(given_, [&](const Given& each) { return each.id == outcome.id; });
  }
  // A new worker starts, which was given nothing. Its predecessor's items stay.
  void BeginAgain() { last_account_ = 0; }

  // The account of the last item that this worker was given; 0: none, or nobody's.
  uint64_t last_account() const { return last_account_; }
  // `in_hand`: the item that the worker was decoding when it died, if any.
  uint64_t WhoPays(std::optional<uint64_t> in_hand) const {
    if (in_hand)
      for (const Given& each : given_)
        if (each.id == *in_hand) return each.account;
    return last_account_;
  }

 private:
  struct Given {
    uint64_t id, account;
  };
  std::vector<Given> given_;  // items that have not ended
  uint64_t last_account_ = 0;
};

}  // namespace penstock::workers
