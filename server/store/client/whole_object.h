// Reads small objects whole, in the version that a listing has named. Pure.
//
// A listing gives an ETag of each object. What is kept of it is a hash, so a request cannot name
// the version; the answer does, and does not count if it is another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/store/address/address.h"
#include "server/store/client/store_request.h"
#include "server/store/client/transfer.h"

namespace penstock::store {

// A hash of an ETag, without its quotes and whether it is weak, because listings and answers may
// differ in these. Never 0. **Requires**: it is not empty.
uint64_t PinOf(absl::string_view etag);

// Asks for the whole object, and fills `into` as the answer arrives. More bytes than that end the
// transfer. `into` stays until then.
TransferRequest ToWholeRequest(const Address& address, const StoreAccess& access,
                               std::span<std::byte> into);

// Whether the answer has filled `bytes` with the version of that pin. **Errors**: those of
// ToStatus; DataLoss: it is another version; FailedPrecondition: it does not say which one it is.
absl::Status CheckWholeObject(const TransferAnswer& answer, const Address& address, uint64_t bytes,
                              uint64_t pin);

}  // namespace penstock::store
