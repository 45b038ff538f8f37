// What servers that give keys answer. Pure.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/store/credentials/store_keys.h"

namespace penstock::store {

// The members of a JSON object whose values are texts, numbers, true, false or null (left out).
// **Errors**: DataLoss, without any of the text: it is something else.
absl::StatusOr<std::map<std::string, std::string>> ReadFlatJson(absl::string_view text);

// A time such as 2026-01-31T23:59:59Z. Nullopt: it is none.
std::optional<std::chrono::system_clock::time_point> ReadIsoTime(absl::string_view text);

// Keys as instance metadata and containers' servers give them: AccessKeyId, SecretAccessKey, Token,
// Expiration. **Errors**: DataLoss; Unavailable if `Code` is there and says no success.
// `from`: who answered, for messages.
absl::StatusOr<SharedKeys> ReadJsonKeys(absl::string_view text, absl::string_view from);

// Keys are written into headers. **Errors**: FailedPrecondition, without a key: one holds blanks, a
// line's end or other characters that no key has. `from`: whose they are.
absl::Status CheckKeyTexts(const StoreKeys& keys, absl::string_view from);

// Keys as STS gives them. **Errors**: DataLoss.
absl::StatusOr<SharedKeys> ReadStsKeys(absl::string_view xml, absl::string_view from);

// The text of the first element of that name, without attributes and entities; empty: there is
// none.
std::string XmlText(absl::string_view xml, absl::string_view name);

}  // namespace penstock::store
