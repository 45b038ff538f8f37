// The daemon's own facts for metrics, which no feed knows.
//
// **Thread safety**: any thread. **Requires**: the parts outlive it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "common/base/clock.h"
#include "server/app/service/service.h"
#include "server/checkpoints/store.h"
#include "server/doorway/doorway.h"
#include "server/feed/engine/runner.h"
#include "server/kept/row_store.h"
#include "server/rpc/server.h"
#include "server/status/snapshot.h"
#include "server/store/files/store_files.h"

namespace penstock::app {

class DaemonFacts {
 public:
  struct Parts {
    const feed::Runner& runner;
    const Service& service;
    const doorway::Doorway& doorway;
    const rpc::Server& server;
    const checkpoints::CheckpointStore& checkpoints;
    const kept::KeptRowStore& kept_rows;
    const kept::KeptRowStore& kept_images;
    const std::atomic<uint64_t>& signals_refused;
    const store::StoreFiles* stores = nullptr;  // null: URLs are refused
    bool workers_are_sandboxed = true;
  };
  // `is_ready`: a canary batch came through.
  DaemonFacts(const Parts& parts, uint64_t max_connections, std::function<bool()> is_ready,
              base::TimePoint started)
      : parts_(parts),
        max_connections_(max_connections),
        is_ready_(std::move(is_ready)),
        started_(started) {}

  status::Facts Get(base::TimePoint now) const;
  // Total of connections that were cut off, at the gRPC sockets and at the doorway.
  uint64_t CountCutOff() const;

 private:
  std::map<std::string, uint64_t> CutOff() const;

  const Parts parts_;
  const uint64_t max_connections_;
  const std::function<bool()> is_ready_;
  const base::TimePoint started_;
};

}  // namespace penstock::app
