#include "server/store/address/address.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace penstock::store {
namespace {

constexpr size_t kLongestUrl = 4096;
constexpr size_t kLongestKey = 1024;  // of S3

absl::Status Wrong(absl::string_view url, absl::string_view why) {
  // Neither a query nor what may be a password is shown.
  const bool may_have_password = absl::StrContains(url, '@');
  const size_t end = may_have_password ? url.find("://") : url.find('?');
  const absl::string_view shown = url.substr(0, std::min<size_t>(end, 200));
  return absl::InvalidArgumentError(
      absl::StrCat("'", absl::CHexEscape(shown), shown.size() < url.size() ? "…" : "", "' ", why));
}

bool IsBucketName(absl::string_view name) {
  return name.size() >= 3 && name.size() <= 255 &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains(".-_", c);
         });
}

bool IsHost(absl::string_view place) {
  const bool bracketed = absl::StartsWith(place, "[");
  const size_t colon = place.find(':', bracketed ? place.find(']') : 0);
  const absl::string_view host = place.substr(0, colon);
  if (host.empty() || host.size() > 255) return false;
  if (colon != absl::string_view::npos) {
    const absl::string_view port = place.substr(colon + 1);
    if (port.empty() || port.size() > 5 ||
        !std::all_of(port.begin(), port.end(),
                     [](unsigned char c) { return absl::ascii_isdigit(c); }))
      return false;
  }
  return std::all_of(host.begin(), host.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains(".-_[]:", c);
  });
}

bool HasDots(absl::string_view path) {
  for (const absl::string_view part : absl::StrSplit(path, '/'))
    if (part == "." || part == "..") return true;
  return false;
}

absl::StatusOr<Address> ParseBucket(absl::string_view url, Scheme scheme, absl::string_view rest) {
  const size_t slash = rest.find('/');
  const absl::string_view bucket = rest.substr(0, slash);
  if (!IsBucketName(bucket)) return Wrong(url, "does not begin with the name of a bucket");
  if (slash == absl::string_view::npos)
    return Wrong(url, "names a bucket alone; a folder in it ends in a slash");
  const absl::string_view key = rest.substr(slash + 1);
  if (key.size() > kLongestKey) return Wrong(url, "is longer than 1,024 bytes behind the bucket");
  return Address{.scheme = scheme, .place = std::string(bucket), .key = std::string(key)};
}

absl::StatusOr<Address> ParseHttp(absl::string_view url, Scheme scheme, absl::string_view rest) {
  const absl::string_view place = rest.substr(0, rest.find_first_of("/?#"));
  if (absl::StrContains(place, '@'))
    return Wrong(url, "contains a user or a password, which would be logged; configure them");
  if (!IsHost(place)) return Wrong(url, "does not begin with a host");
  rest.remove_prefix(place.size());
  if (!absl::StartsWith(rest, "/")) return Wrong(url, "names a host, but no file there");
  if (absl::StrContains(rest, '#')) return Wrong(url, "has a fragment; write %23 for #");
  const size_t question = rest.find('?');
  Address address = {.scheme = scheme, .place = std::string(place)};
  address.key = std::string(rest.substr(0, question));
  if (question != absl::string_view::npos) address.query = std::string(rest.substr(question + 1));
  if (absl::StrContains(address.key, ' ')) return Wrong(url, "contains a space; write %20");
  PENSTOCK_ASSIGN_OR_RETURN(const std::string decoded, PercentDecode(address.key));
  if (HasDots(decoded)) return Wrong(url, "contains '.' or '..' as a folder");
  return address;
}

}  // namespace

absl::StatusOr<Address> ParseAddress(absl::string_view url) {
  if (url.size() > kLongestUrl) return Wrong(url, "is longer than 4,096 bytes");
  if (std::any_of(url.begin(), url.end(), [](unsigned char c) { return absl::ascii_iscntrl(c); }))
    return Wrong(url, "contains a control character");
  const std::pair<absl::string_view, Scheme> schemes[] = {{"s3://", Scheme::kS3},
                                                          {"gs://", Scheme::kGs},
                                                          {"https://", Scheme::kHttps},
                                                          {"http://", Scheme::kHttp}};
  for (const auto& [begin, scheme] : schemes) {
    if (!absl::StartsWithIgnoreCase(url, begin)) continue;
    const absl::string_view rest = url.substr(begin.size());
    const bool is_bucket = scheme == Scheme::kS3 || scheme == Scheme::kGs;
    return is_bucket ? ParseBucket(url, scheme, rest) : ParseHttp(url, scheme, rest);
  }
  return Wrong(url, "is no URL that begins with s3://, gs://, https:// or http://");
}

std::string ToText(const Address& address) {
  switch (address.scheme) {
    case Scheme::kS3:
      return absl::StrCat("s3://", address.place, "/", address.key);
    case Scheme::kGs:
      return absl::StrCat("gs://", address.place, "/", address.key);
    default:
      break;
  }
  std::vector<std::string> names;
  if (!address.query.empty())
    for (const absl::string_view part : absl::StrSplit(address.query, '&'))
      names.push_back(absl::StrCat(part.substr(0, part.find('=')), "=…"));
  return absl::StrCat(address.scheme == Scheme::kHttps ? "https://" : "http://", address.place,
                      address.key, names.empty() ? "" : "?", absl::StrJoin(names, "&"));
}

std::string PercentEncode(absl::string_view text, absl::string_view keep) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || absl::StrContains("-._~", c) || absl::StrContains(keep, c))
      encoded += c;
    else
      encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return encoded;
}

absl::StatusOr<std::string> PercentDecode(absl::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size() || !absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 1])) ||
        !absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 2])))
      return absl::InvalidArgumentError("a % without two hexadecimal digits");
    decoded += absl::HexStringToBytes(text.substr(i + 1, 2));
    i += 2;
  }
  return decoded;
}

}  // namespace penstock::store
