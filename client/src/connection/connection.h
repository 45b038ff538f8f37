// One connection to one daemon: the doorway and the calls. It lives as long as a client, a session
// or a batch needs it. When the daemon dies, it is replaced by a new one, never repaired.
//
// **Thread safety**: any thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/src/connection/doorway.h"
#include "client/src/connection/negotiation.h"
#include "client/src/connection/rpc.h"
#include "client/src/gpu/pins.h"
#include "client/src/gpu/slabs.h"
#include "client/src/session/attachment.h"

namespace penstock::client {

// Where a session's batches go on a GPU. Shared with the session.
struct GpuPlaces {
  std::shared_ptr<Gpu> gpu;  // null: host delivery
  RowMakers makers = {};     // of undecoded rows; empty: there are none
  uint32_t depth = 0;        // batches in GPU memory at once, for pinned delivery
};

class Connection final : public Link, public std::enable_shared_from_this<Connection> {
 public:
  // **Errors**: FailedPrecondition names both protocol versions if they differ.
  static absl::StatusOr<std::shared_ptr<Connection>> Connect(const std::string& address,
                                                             const std::string& client,
                                                             std::function<bool()> interrupted);

  absl::StatusOr<v1::DescribeDatasetResponse> Describe(const std::string& dataset);
  absl::StatusOr<std::string> ContentDigest(const std::string& dataset);
  absl::StatusOr<v1::DescribeSamplesResponse> DescribeSamples(const std::string& dataset,
                                                              std::span<const uint64_t> ids);
  // Sends an order and returns its name, by which sessions refer to it.
  absl::StatusOr<uint64_t> SendOrder(const std::vector<uint64_t>& order, base::TimePoint deadline);
  // Opens the session as `ask` says, and the memory for its batches.
  Tried Open(const v1::OpenSessionRequest& request, const Ask& ask, const GpuPlaces& places,
             base::TimePoint deadline);
  absl::StatusOr<uint64_t> Quarantined(const std::string& dataset);
  absl::StatusOr<BadSamples> Bad(const std::string& dataset);

  absl::Status Pump() override { return doorway_->Pump(); }
  std::shared_ptr<const posix::Mapping> Segment(uint32_t id) override {
    return doorway_->Segment(id);
  }
  std::shared_ptr<PrivateViews> Views(uint32_t id) override { return doorway_->Views(id); }
  absl::StatusOr<std::shared_ptr<const PinnedSegment>> Pin(uint32_t id, Gpu& gpu) override;
  std::shared_ptr<const Gpu::Memory> Slab(uint32_t id) override { return slabs_.Find(id); }
  absl::Status FetchSlabs(uint64_t session_id, Gpu& gpu) override;
  absl::StatusOr<Progress> GetProgress(uint64_t session_id, base::Duration timeout) override;
  absl::Status ReportUndecodable(uint64_t session_id, std::span<const uint64_t> samples,
                                 base::Duration timeout) override;
  absl::Status CloseSession(uint64_t session_id, base::Duration timeout) override;

 private:
  Connection(std::unique_ptr<Doorway> doorway, const std::string& address,
             std::function<bool()> interrupted);
  absl::StatusOr<Opened> Attach(const Grant& grant, const v1::OpenSessionResponse& response,
                                const GpuPlaces& places, base::TimePoint deadline);
  absl::Status Prove(const v1::OpenSessionResponse& response, Attachment& attachment);

  const std::unique_ptr<Doorway> doorway_;
  Rpc rpc_;
  Slabs slabs_;
  Pins pins_;
};

}  // namespace penstock::client
