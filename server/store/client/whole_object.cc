#include "server/store/client/whole_object.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/hash.h"

namespace penstock::store {

uint64_t PinOf(absl::string_view etag) {
  absl::ConsumePrefix(&etag, "W/");
  absl::ConsumePrefix(&etag, "\"");
  absl::ConsumeSuffix(&etag, "\"");
  base::Hasher hasher;
  hasher.Add(etag);
  return std::max<uint64_t>(hasher.Digest(), 1);
}

TransferRequest ToWholeRequest(const Address& address, const StoreAccess& access,
                               std::span<std::byte> into) {
  TransferRequest request = ToStatRequest(address, access);
  request.method = TransferRequest::Method::kGet;
  request.sink = [rest = into](std::span<const std::byte> bytes) mutable {
    if (bytes.size() > rest.size()) return false;
    std::memcpy(rest.data(), bytes.data(), bytes.size());
    rest = rest.subspan(bytes.size());
    return true;
  };
  return request;
}

absl::Status CheckWholeObject(const TransferAnswer& answer, const Address& address, uint64_t bytes,
                              uint64_t pin) {
  const auto changed = [&](auto... how) {
    return absl::DataLossError(
        absl::StrCat("'", ToText(address), "' has changed since it was listed: ", how...));
  };
  const bool is_success = answer.code >= 200 && answer.code < 300;
  const absl::string_view etag = EtagOf(answer);
  if (is_success && !etag.empty() && PinOf(etag) != pin) return changed("its ETag is another one");
  uint64_t length = 0;
  if (is_success && absl::SimpleAtoi(answer.Header("content-length"), &length) && length != bytes)
    return changed("its size was ", bytes, " and is ", length);
  PENSTOCK_RETURN_IF_ERROR(ToStatus(answer, address));
  if (etag.empty())
    return absl::FailedPreconditionError(
        absl::StrCat("'", ToText(address),
                     "': the store does not say which version it sends, so a change could not be "
                     "noticed; use one that does"));
  if (answer.bytes == bytes) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("'", ToText(address), "': the answer ended after ",
                                             answer.bytes, " of ", bytes, " bytes"));
}

}  // namespace penstock::store
