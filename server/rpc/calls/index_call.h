// One IndexDataset call: a stream of progress with one message in flight. A slow reader gets only
// the newest state, but each index that is exported.
// **Thread safety**: any thread.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "common/base/mutex.h"
#include "penstock/v1/admin.pb.h"
#include "server/rpc/access/audit.h"
#include "server/rpc/calls/calls.h"
#include "server/rpc/controller.h"

namespace penstock::rpc {

class IndexCall final : public grpc::ServerWriteReactor<v1::IndexDatasetResponse> {
 public:
  // Owned by gRPC until OnDone, and by the controller's callbacks until the last one was called.
  static std::shared_ptr<IndexCall> Make(Calls& calls, AuditedCall audited);

  // Whether it may reach the daemon. Call it once, before the controller has it.
  absl::Status Admit() { return under_way_.Admit(); }

  // The last one has done = true or is an error; later ones are ignored. If an index is waiting to
  // be sent, one with another index, and the last one, wait for it; the call is cancelled if that
  // takes a minute.
  void Progress(const absl::StatusOr<IndexProgress>& progress);
  bool cancelled() const { return cancelled_.load(); }

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override {
    under_way_.Done();
    self_.reset();
  }

 private:
  IndexCall(Calls& calls, AuditedCall audited)
      : under_way_(calls, audited.user()), audited_(std::move(audited)) {}
  void AwaitRoom() PENSTOCK_REQUIRES(mutex_);
  // Starts the next write, or ends the call, if due. **Requires**: the lock is not held.
  void GoOn();

  CallUnderWay under_way_;
  AuditedCall audited_;  // used by whoever ends the call
  std::atomic<bool> cancelled_{false};
  base::Mutex mutex_;
  bool writing_ PENSTOCK_GUARDED_BY(mutex_) = false;
  bool finished_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::optional<v1::IndexDatasetResponse> next_ PENSTOCK_GUARDED_BY(mutex_);
  base::CondVar room_;  // there is no next one
  std::optional<absl::Status> end_ PENSTOCK_GUARDED_BY(mutex_);
  v1::IndexDatasetResponse in_flight_;  // owned by gRPC while writing_
  std::shared_ptr<IndexCall> self_;
};

}  // namespace penstock::rpc
