// Filters the progress of a drain: passes changes at once, and unchanged states once a second.
// Pure.
// **Thread safety**: one thread.
#pragma once

#include <google/protobuf/util/message_differencer.h>

#include <chrono>

#include "common/base/clock.h"
#include "penstock/v1/admin.pb.h"

namespace penstock::rpc {

class DrainNews {
 public:
  bool IsNews(const v1::DrainResponse& look, base::TimePoint now) {
    const bool same = google::protobuf::util::MessageDifferencer::Equals(look, last_);
    if (same && !look.done() && now - said_at_ < std::chrono::seconds(1)) return false;
    last_ = look;
    said_at_ = now;
    return true;
  }

 private:
  v1::DrainResponse last_;
  base::TimePoint said_at_{};
};

}  // namespace penstock::rpc
