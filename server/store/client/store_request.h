// The requests for objects of a store, and what its answers mean. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "server/store/address/address.h"
#include "server/store/client/transfer.h"
#include "server/store/credentials/store_keys.h"

namespace penstock::store {

// How to reach a store.
struct StoreAccess {
  // "https://HOST[:PORT]"; empty: that of AWS in the region, or of Google.
  std::string endpoint = {};
  std::string region = "us-east-1";
  // Whether the bucket is the first folder of the path, instead of a part of the host's name.
  // Not set: with an endpoint of one's own, for Google, and for names with dots, which certificates
  // do not cover.
  std::optional<bool> path_style = {};
  SharedKeys credentials = {};     // null: requests are anonymous
  std::string ca_file = {};        // certificates to trust; empty: those of the transfers
  bool follows_redirects = false;  // of http:// and https://
};

// One version of an object, and what tells it from others.
struct ObjectVersion {
  uint64_t bytes = 0;
  std::string etag = {};      // with its quotes; empty: the store gives none
  std::string modified = {};  // Last-Modified, as it came
  int64_t modified_ns = 0;    // 0: unknown
  bool is_pinned() const { return !etag.empty() || !modified.empty(); }
};

// The URL of the object, percent-encoded.
std::string ToRequestUrl(const Address& address, const StoreAccess& access);
// Asks for the object's version. Its body is not asked for.
TransferRequest ToStatRequest(const Address& address, const StoreAccess& access);
// Asks for a range of that version, and no other: the store answers 412 if there is another one.
TransferRequest ToReadRequest(const Address& address, const StoreAccess& access,
                              const ObjectVersion& version, const TransferRange& range);

// Asks the bucket itself. `query`: encoded, without its question mark. **Requires**: s3:// or
// gs://.
TransferRequest ToBucketRequest(const Address& address, const StoreAccess& access,
                                const std::string& query);

// The answer's ETag, with its quotes; empty if there is none, or nothing between its quotes, which
// some servers send for every object.
absl::string_view EtagOf(const TransferAnswer& answer);
// The version that an answer to a stat speaks of. **Errors**: those of ToStatus; DataLoss if its
// size is missing.
absl::StatusOr<ObjectVersion> ToVersion(const TransferAnswer& answer, const Address& address);
// Whether the answer to a read is of that version. Some servers ignore If-Match, so the answer must
// say so itself. **Errors**: DataLoss: it is of another version; FailedPrecondition: it doesn't
// say. ETag and Last-Modified must both be the same where both are known, because some servers give
// an ETag that does not change with the object.
absl::Status CheckVersion(const TransferAnswer& answer, const ObjectVersion& version,
                          const Address& address);
// What an answer means, with the object's URL. Ok if it is a success. **Errors**: Unavailable: try
// again, AsksToSlowDown (slow_down.h): more slowly; NotFound; PermissionDenied; DataLoss: another
// version, or no such range.
absl::Status ToStatus(const TransferAnswer& answer, const Address& address);
// Whether the store may have refused the request because its keys have ended, or are no more valid.
// An answer to HEAD has no words, so any refusal counts there.
bool MayHaveEndedKeys(const TransferAnswer& answer);
// The region that the bucket is in, if the answer says that it is another one; else empty.
std::string RegionIn(const TransferAnswer& answer);
// How long the store wants to be left alone; zero: it does not say.
base::Duration ToPause(const TransferAnswer& answer);

}  // namespace penstock::store
