// Where an object lies: what a URL says, and how to write it in a request and in messages. Pure.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::store {

enum class Scheme { kS3, kGs, kHttps, kHttp };

struct Address {
  Scheme scheme = Scheme::kS3;
  std::string place = {};  // s3, gs: the bucket. http, https: HOST or HOST:PORT
  // s3, gs: the object's name, as it is. http, https: the path with its slash, percent-encoded as
  // in the URL.
  std::string key = {};
  std::string query = {};  // http, https: what follows the question mark. It may hold a signature.

  bool operator==(const Address&) const = default;
};

// "s3://BUCKET/KEY", "gs://BUCKET/KEY", "https://HOST[:PORT]/PATH[?QUERY]", "http://…".
// **Errors**: InvalidArgument. A user and a password in the URL are refused, because URLs are
// written to logs.
absl::StatusOr<Address> ParseAddress(absl::string_view url);

// The URL again, for messages: instead of a query's values, which may be secrets, "…".
std::string ToText(const Address& address);

// Percent-encodes all bytes but letters, digits and "-._~", as signatures need it. `keep`: further
// characters that stay.
std::string PercentEncode(absl::string_view text, absl::string_view keep = "");
// **Errors**: InvalidArgument for a % without two hexadecimal digits.
absl::StatusOr<std::string> PercentDecode(absl::string_view text);

}  // namespace penstock::store
