// Converts clients' messages to domain types. Refuses what these types cannot express;
// server/session/validate.h decides which values a session's options may have. Pure.
//
// **Errors**: InvalidArgument names the field, what was wanted, what was got and what to do.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "penstock/v1/admin.pb.h"
#include "penstock/v1/feed.pb.h"
#include "server/rpc/controller.h"

namespace penstock::rpc {

inline constexpr size_t kMaxOrderChunk = 65'536;
inline constexpr size_t kMaxSampleIds = 4096;
inline constexpr uint32_t kMaxQuarantinePage = 5000;
inline constexpr uint32_t kMinWatchMs = 100, kMaxWatchMs = 60'000, kUsualWatchMs = 1000;

// Parses the metadata "penstock-ticket"; nullopt means that it is missing. **Errors**:
// Unauthenticated.
absl::StatusOr<Ticket> TicketFrom(std::optional<absl::string_view> metadata);

// **Errors**: FailedPrecondition for an unsupported protocol version.
absl::StatusOr<session::Request> SessionFrom(const v1::OpenSessionRequest& message);

// Reads an order's length from its first message; at least 1.
absl::StatusOr<uint64_t> OrderLengthFrom(const v1::SendOrderRequest& first);

// The samples that a message adds to an order. Valid as long as the message.
absl::StatusOr<std::span<const uint64_t>> OrderChunkFrom(const v1::SendOrderRequest& message);

absl::StatusOr<std::vector<uint64_t>> SampleIdsFrom(const v1::DescribeSamplesRequest& message);

// Clamps the page size to what one response can hold, and parses the token.
absl::StatusOr<QuarantineQuery> QuarantineQueryFrom(const v1::ListQuarantineRequest& message);

// For CloseSession, GetProgress and ListSlabs.
absl::StatusOr<uint64_t> SessionIdFrom(uint64_t session_id);

// For WatchStatus.
absl::StatusOr<std::chrono::milliseconds> IntervalFrom(const v1::WatchStatusRequest& message);

// Validates the name or path of a dataset in any request.
absl::StatusOr<std::string> DatasetFrom(const std::string& text);

// As DatasetFrom, but accepts "" for all datasets.
absl::StatusOr<std::string> DatasetOrAllFrom(const std::string& text);

}  // namespace penstock::rpc
