#include "server/store/client/store_request.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "server/store/address/amazon.h"
#include "server/store/client/retry_reason.h"
#include "server/store/client/slow_down.h"

namespace penstock::store {
namespace {

constexpr char kGoogle[] = "https://storage.googleapis.com";
constexpr size_t kMostWords = 200;

bool IsBucket(const Address& address) {
  return address.scheme == Scheme::kS3 || address.scheme == Scheme::kGs;
}

bool IsPathStyle(const Address& address, const StoreAccess& access) {
  if (access.path_style) return *access.path_style;
  return !access.endpoint.empty() || address.scheme == Scheme::kGs ||
         absl::StrContains(address.place, '.');
}

// The URL of the bucket, without a slash at its end.
std::string BucketUrl(const Address& address, const StoreAccess& access) {
  std::string endpoint = access.endpoint;
  if (endpoint.empty())
    endpoint = address.scheme == Scheme::kGs
                   ? kGoogle
                   : absl::StrCat("https://s3.", access.region, ".", AmazonDomain(access.region));
  while (absl::EndsWith(endpoint, "/")) endpoint.pop_back();
  if (IsPathStyle(address, access)) return absl::StrCat(endpoint, "/", address.place);
  const size_t host = endpoint.find("://") + 3;
  return absl::StrCat(endpoint.substr(0, host), address.place, ".", endpoint.substr(host));
}

TransferRequest MakeRequest(const Address& address, const StoreAccess& access, std::string url) {
  TransferRequest request;
  request.url = std::move(url);
  request.ca_file = access.ca_file;
  if (!IsBucket(address)) {
    request.follows_redirects = access.follows_redirects;
    return request;
  }
  request.sign_with = access.credentials;
  request.region = access.region;
  // Otherwise Google unpacks what is stored with gzip, and ignores ranges.
  if (address.scheme == Scheme::kGs) request.headers.emplace_back("Accept-Encoding", "gzip");
  return request;
}

// The element's text in the XML of an error; only for words, so nothing is decoded.
std::string Element(absl::string_view xml, absl::string_view name) {
  const std::string open = absl::StrCat("<", name, ">"), close = absl::StrCat("</", name, ">");
  const size_t begin = xml.find(open);
  if (begin == absl::string_view::npos) return "";
  const absl::string_view rest = xml.substr(begin + open.size());
  return absl::CHexEscape(rest.substr(0, std::min(rest.find(close), kMostWords)));
}

// "403 AccessDenied: Access Denied"
std::string Words(const TransferAnswer& answer) {
  const std::string code = Element(answer.body, "Code"), text = Element(answer.body, "Message");
  return absl::StrCat(answer.code, code.empty() ? "" : " ", code, text.empty() ? "" : ": ", text);
}

// Of an URL only scheme and host, because a query may hold a signature.
std::string SchemeAndHost(absl::string_view url) {
  const size_t host = url.find("://");
  if (host == absl::string_view::npos) return "another path of this server";
  const absl::string_view shown = url.substr(0, url.find_first_of("/?#", host + 3));
  if (absl::StrContains(shown, '@')) return "an address with a password";
  return absl::CHexEscape(shown.substr(0, kMostWords));
}

// Where a redirect leads, which is not followed.
std::string Elsewhere(const TransferAnswer& answer) {
  if (answer.code < 300 || answer.code >= 400) return "";
  if (const std::string region = RegionIn(answer); !region.empty())
    return absl::StrCat("; the bucket is in the region ", absl::CHexEscape(region));
  if (const std::string endpoint = Element(answer.body, "Endpoint"); !endpoint.empty())
    return absl::StrCat("; the bucket is at the endpoint ", endpoint);
  const absl::string_view to = answer.Header("location");
  if (to.empty()) return "";
  return absl::StrCat("; it redirects to ", SchemeAndHost(to),
                      ", which is not followed: use the address to which it leads");
}

bool IsToBeTriedAgain(const TransferAnswer& answer) {
  switch (answer.code) {
    case 408:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
      return true;
    case 400:
      return Element(answer.body, "Code") == "RequestTimeout";
    default:
      return false;
  }
}

}  // namespace

std::string ToRequestUrl(const Address& address, const StoreAccess& access) {
  if (IsBucket(address))
    return absl::StrCat(BucketUrl(address, access), "/", PercentEncode(address.key, "/"));
  return absl::StrCat(address.scheme == Scheme::kHttps ? "https://" : "http://", address.place,
                      address.key, address.query.empty() ? "" : "?", address.query);
}

TransferRequest ToStatRequest(const Address& address, const StoreAccess& access) {
  TransferRequest request = MakeRequest(address, access, ToRequestUrl(address, access));
  request.method = TransferRequest::Method::kHead;
  return request;
}

TransferRequest ToReadRequest(const Address& address, const StoreAccess& access,
                              const ObjectVersion& version, const TransferRange& range) {
  TransferRequest request = MakeRequest(address, access, ToRequestUrl(address, access));
  request.range = range;
  const bool is_strong = !version.etag.empty() && !absl::StartsWith(version.etag, "W/");
  if (is_strong)
    request.headers.emplace_back("If-Match", version.etag);
  else if (!version.modified.empty())
    request.headers.emplace_back("If-Unmodified-Since", version.modified);
  return request;
}

TransferRequest ToBucketRequest(const Address& address, const StoreAccess& access,
                                const std::string& query) {
  return MakeRequest(address, access, absl::StrCat(BucketUrl(address, access), "/?", query));
}

absl::string_view EtagOf(const TransferAnswer& answer) {
  const absl::string_view etag = answer.Header("etag");
  absl::string_view value = absl::StripAsciiWhitespace(etag);
  absl::ConsumePrefix(&value, "W/");
  return value.empty() || value == "\"\"" ? absl::string_view() : etag;
}

absl::StatusOr<ObjectVersion> ToVersion(const TransferAnswer& answer, const Address& address) {
  PENSTOCK_RETURN_IF_ERROR(ToStatus(answer, address));
  ObjectVersion version;
  version.bytes = answer.total_bytes;  // of an answer to a range
  if (version.bytes == 0 && !absl::SimpleAtoi(answer.Header("content-length"), &version.bytes))
    return absl::DataLossError(
        absl::StrCat("'", ToText(address), "': the store does not tell its size"));
  version.etag = std::string(EtagOf(answer));
  version.modified = std::string(answer.Header("last-modified"));
  absl::Time time;
  if (absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT", version.modified, &time, nullptr))
    version.modified_ns = absl::ToUnixNanos(time);
  return version;
}

absl::Status CheckVersion(const TransferAnswer& answer, const ObjectVersion& version,
                          const Address& address) {
  const auto changed = [&](auto... how) {
    return absl::DataLossError(
        absl::StrCat("'", ToText(address), "' has changed since it was indexed: ", how...));
  };
  if (answer.total_bytes != 0 && answer.total_bytes != version.bytes)
    return changed("its size was ", version.bytes, " and is ", answer.total_bytes);
  const absl::string_view etag = EtagOf(answer), modified = answer.Header("last-modified");
  if (!etag.empty() && !version.etag.empty() && etag != version.etag)
    return changed("its ETag is another one");
  if (!modified.empty() && !version.modified.empty() && modified != version.modified)
    return changed("it was written at another time");
  if (version.etag.empty() ? !modified.empty() : !etag.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("'", ToText(address), "': the server does not say which version it sends, so a ",
                   "change could not be noticed; serve it by one that does"));
}

absl::Status ToStatus(const TransferAnswer& answer, const Address& address) {
  const std::string object = absl::StrCat("'", ToText(address), "'");
  if (!answer.status.ok()) return base::Annotate(answer.status, object);
  if (answer.ok()) return absl::OkStatus();
  if (IsToBeTriedAgain(answer)) {
    absl::Status status =
        absl::UnavailableError(absl::StrCat(object, ": the store answered ", Words(answer)));
    if (FindRetryReason(answer) == RetryReason::kSlowDown) MarkSlowDown(status);
    return status;
  }
  switch (answer.code) {
    case 404:
      return absl::NotFoundError(absl::StrCat(object, " is not there (", Words(answer), ")"));
    case 401:
    case 403:
      return absl::PermissionDeniedError(absl::StrCat(
          object, " may not be read, or is not there and may not be listed (", Words(answer), ")"));
    case 412:
      return absl::DataLossError(absl::StrCat(
          object, " has changed since it was indexed: the store has another version of it"));
    case 416:
      return absl::DataLossError(
          absl::StrCat(object, " has changed since it was indexed: it is shorter"));
    default:
      return absl::FailedPreconditionError(
          absl::StrCat(object, ": the store answered ", Words(answer), Elsewhere(answer)));
  }
}

bool MayHaveEndedKeys(const TransferAnswer& answer) {
  if (!answer.status.ok()) return false;
  if (answer.code == 401 || answer.code == 403) return true;
  if (answer.code != 400) return false;
  const std::string code = Element(answer.body, "Code");
  return code.empty() || code == "ExpiredToken" || code == "ExpiredTokenException" ||
         code == "InvalidToken" || code == "TokenRefreshRequired";
}

std::string RegionIn(const TransferAnswer& answer) {
  if (!answer.status.ok() || (answer.code != 301 && answer.code != 307 && answer.code != 400))
    return "";
  std::string region(answer.Header("x-amz-bucket-region"));
  if (region.empty()) region = Element(answer.body, "Region");
  const bool is_name = std::all_of(region.begin(), region.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-';
  });
  return is_name && region.size() <= 64 ? region : "";
}

base::Duration ToPause(const TransferAnswer& answer) {
  uint64_t seconds = 0;
  if (!absl::SimpleAtoi(answer.Header("retry-after"), &seconds)) return {};
  return std::chrono::seconds(std::min<uint64_t>(seconds, 3600));
}

}  // namespace penstock::store
