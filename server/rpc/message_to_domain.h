// The one place where bytes of clients become the daemon's own types. What these types cannot
// express is refused here; which values a session's options may have, server/session/validate.h
// says. Pure.
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

// Of the metadata "penstock-ticket"; nothing: it is missing. Unauthenticated in words.
absl::StatusOr<Ticket> TicketFrom(std::optional<absl::string_view> metadata);

// FailedPrecondition: another protocol version.
absl::StatusOr<session::Request> SessionFrom(const v1::OpenSessionRequest& message);

// Of the first message of an order; at least 1.
absl::StatusOr<uint64_t> OrderLengthFrom(const v1::SendOrderRequest& first);

// What a message of an order adds to it; as long as the message lives.
absl::StatusOr<std::span<const uint64_t>> OrderChunkFrom(const v1::SendOrderRequest& message);

absl::StatusOr<std::vector<uint64_t>> SampleIdsFrom(const v1::DescribeSamplesRequest& message);

// A page's size becomes what one answer may hold; its token, where the page begins.
absl::StatusOr<QuarantineQuery> QuarantineQueryFrom(const v1::ListQuarantineRequest& message);

// Of CloseSession, GetProgress and ListSlabs.
absl::StatusOr<uint64_t> SessionIdFrom(uint64_t session_id);

// Of WatchStatus.
absl::StatusOr<std::chrono::milliseconds> IntervalFrom(const v1::WatchStatusRequest& message);

// A dataset's name or path, as it stands in any request.
absl::StatusOr<std::string> DatasetFrom(const std::string& text);

// The same, where "" means all of them.
absl::StatusOr<std::string> DatasetOrAllFrom(const std::string& text);

}  // namespace penstock::rpc
