#include "server/store/client/attempt.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "server/store/client/content_range.h"
#include "server/store/client/transfer_status.h"

namespace penstock::store {
namespace {

constexpr size_t kMostHeaders = 64 << 10;
constexpr size_t kMostErrorBody = 16 << 10;
constexpr long kBufferBytes = 256 << 10;
constexpr long kDirectConnectMs = 1000;
constexpr long kMostRedirects = 5;

bool HasBody(const TransferRequest& request) {
  using Method = TransferRequest::Method;
  return request.method == Method::kPut || request.method == Method::kPost;
}

long ToMs(base::Duration time) {
  return std::max<long>(1, std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

template <typename Value>
void Set(const Curl& curl, CURL* handle, CURLoption option, Value value) {
  PENSTOCK_CHECK(curl.easy_setopt(handle, option, value) == CURLE_OK);
}

}  // namespace

absl::string_view TransferAnswer::Header(absl::string_view name) const {
  for (const auto& [each, value] : headers)
    if (each == name) return value;
  return "";
}

void Attempt::SetUp(const Curl& curl, CURL* handle, const Options& options) {
  const auto set = [&](CURLoption option, auto value) { Set(curl, handle, option, value); };
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_NOPROGRESS, 1L);
  set(CURLOPT_BUFFERSIZE, kBufferBytes);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, ToMs(options.connect_timeout));
  set(CURLOPT_LOW_SPEED_LIMIT, 1024L);
  set(CURLOPT_LOW_SPEED_TIME, std::max(1L, ToMs(options.stall_timeout) / 1000));
  set(CURLOPT_HEADERFUNCTION, &Attempt::OnHeader);
  set(CURLOPT_WRITEFUNCTION, &Attempt::OnBytes);
  if (!options.ca_file.empty()) set(CURLOPT_CAINFO, options.ca_file.c_str());
  if (!options.ca_folder.empty()) set(CURLOPT_CAPATH, options.ca_folder.c_str());
  if (!options.proxy.empty()) set(CURLOPT_PROXY, options.proxy.c_str());
}

bool Attempt::IsUsual(const TransferRequest& request) {
  return !HasBody(request) && request.ca_file.empty() && !request.is_direct;
}

Attempt::Attempt(const Curl& curl, CURL* handle, const TransferRequest& request)
    : curl_(curl), handle_(handle), request_(request) {
  // Everything that another request may have set on the handle is set, or taken back.
  SetText(CURLOPT_URL, request_.url);
  Set(curl_, handle_, CURLOPT_TIMEOUT_MS, ToMs(request_.deadline));
  if (request_.method == TransferRequest::Method::kHead)
    Set(curl_, handle_, CURLOPT_NOBODY, 1L);
  else
    Set(curl_, handle_, CURLOPT_HTTPGET, 1L);
  SetRedirects();
  if (!IsUsual(request_)) SetUnusual();
  Set(curl_, handle_, CURLOPT_HEADERDATA, this);
  Set(curl_, handle_, CURLOPT_WRITEDATA, this);
  // Not as a header, which would be signed: proxies may change it.
  SetText(CURLOPT_RANGE, request_.range
                             ? absl::StrCat(request_.range->offset, "-",
                                            request_.range->offset + request_.range->bytes - 1)
                             : "");
  Sign();
  for (const auto& [name, value] : request_.headers) AddHeader(name, value);
  Set(curl_, handle_, CURLOPT_HTTPHEADER, headers_);
}

Attempt::~Attempt() { curl_.slist_free_all(headers_); }

void Attempt::SetText(CURLoption option, const std::string& text) {
  Set(curl_, handle_, option, text.empty() ? static_cast<const char*>(nullptr) : text.c_str());
}

void Attempt::AddHeader(absl::string_view name, absl::string_view value) {
  headers_ = curl_.slist_append(headers_, absl::StrCat(name, ": ", value).c_str());
}

// Nothing secret is sent along: such requests have no signature.
void Attempt::SetRedirects() {
  PENSTOCK_CHECK(!request_.follows_redirects || request_.sign_with == nullptr);
  Set(curl_, handle_, CURLOPT_FOLLOWLOCATION, request_.follows_redirects ? 1L : 0L);
  Set(curl_, handle_, CURLOPT_MAXREDIRS, kMostRedirects);
  const bool is_secure = absl::StartsWith(request_.url, "https://");
  SetText(CURLOPT_REDIR_PROTOCOLS_STR, is_secure ? "https" : "http,https");
}

// The body stays with the request, so libcurl does not copy it.
void Attempt::SetUnusual() {
  if (!request_.ca_file.empty()) SetText(CURLOPT_CAINFO, request_.ca_file);
  if (request_.is_direct) {
    Set(curl_, handle_, CURLOPT_PROXY, "");
    Set(curl_, handle_, CURLOPT_CONNECTTIMEOUT_MS, kDirectConnectMs);
  }
  if (!HasBody(request_)) return;
  Set(curl_, handle_, CURLOPT_POST, 1L);
  Set(curl_, handle_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
  Set(curl_, handle_, CURLOPT_POSTFIELDS, request_.body.c_str());
  if (request_.method == TransferRequest::Method::kPut) SetText(CURLOPT_CUSTOMREQUEST, "PUT");
}

// libcurl 7.88 signs the path and the query as they stand in the URL, and sends no hash of the
// content by itself, which S3 demands.
void Attempt::Sign() {
  const StoreKeys* const keys = request_.sign_with.get();
  SetText(CURLOPT_USERNAME, keys != nullptr ? keys->key_id : "");
  SetText(CURLOPT_PASSWORD, keys != nullptr ? keys->secret : "");
  if (keys == nullptr) {
    Set(curl_, handle_, CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));  // no longer AWS's
    return;
  }
  SetText(CURLOPT_AWS_SIGV4, absl::StrCat("aws:amz:", request_.region, ":s3"));
  AddHeader("x-amz-content-sha256", "UNSIGNED-PAYLOAD");
  if (!keys->token.empty()) AddHeader("x-amz-security-token", keys->token);
}

TransferAnswer Attempt::End(CURLcode code) {
  curl_.easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &code_);
  answer_.code = static_cast<int>(code_);
  answer_.status = wrong_.ok() ? ToTransferStatus(curl_, code) : wrong_;
  if (answer_.status.ok()) answer_.status = CheckWhole();
  return std::move(answer_);
}

size_t Attempt::OnHeader(char* text, size_t, size_t bytes, void* self) {
  return static_cast<Attempt*>(self)->TakeHeader({text, bytes}) ? bytes : 0;
}

size_t Attempt::OnBytes(char* bytes, size_t, size_t count, void* self) {
  const auto taken = std::as_bytes(std::span(bytes, count));
  return static_cast<Attempt*>(self)->TakeBytes(taken) ? count : 0;
}

bool Attempt::TakeHeader(absl::string_view line) {
  header_bytes_ += line.size();
  if (header_bytes_ > kMostHeaders)
    return Refuse(absl::UnavailableError("the answer's headers have more than 64 KiB"));
  if (absl::StartsWith(line, "HTTP/")) answer_.headers.clear();  // another answer
  const size_t colon = line.find(':');
  if (colon == absl::string_view::npos) return true;
  answer_.headers.emplace_back(absl::AsciiStrToLower(line.substr(0, colon)),
                               absl::StripAsciiWhitespace(line.substr(colon + 1)));
  return true;
}

bool Attempt::TakeBytes(std::span<const std::byte> bytes) {
  if (!is_checked_) {
    is_checked_ = true;
    curl_.easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &code_);
    wrong_ = CheckRange();
    if (!wrong_.ok()) return false;
  }
  if (is_success()) return TakeBody(bytes);
  const size_t room = kMostErrorBody - std::min(kMostErrorBody, answer_.body.size());
  Append(bytes.first(std::min(room, bytes.size())));
  return true;
}

bool Attempt::TakeBody(std::span<const std::byte> bytes) {
  if (request_.range && bytes.size() > request_.range->bytes - answer_.bytes)
    return Refuse(absl::UnavailableError("the answer is longer than the range asked for"));
  if (!request_.parts.empty()) FillParts(bytes);
  answer_.bytes += bytes.size();
  if (!request_.parts.empty()) return true;
  if (request_.sink)
    return request_.sink(bytes) || Refuse(absl::CancelledError("nobody takes the bytes"));
  if (answer_.bytes > request_.most_body)
    return Refuse(absl::ResourceExhaustedError(
        absl::StrCat("the answer has more than ", request_.most_body, " bytes")));
  Append(bytes);
  return true;
}

// `answer_.bytes` is the place of the bytes in the body.
void Attempt::FillParts(std::span<const std::byte> bytes) {
  const uint64_t begin = answer_.bytes, end = begin + bytes.size();
  for (; part_ < request_.parts.size(); ++part_) {
    const TransferPart& part = request_.parts[part_];
    const uint64_t from = std::max(begin, part.from);
    const uint64_t to = std::min(end, part.from + part.into.size());
    if (from < to)
      std::memcpy(part.into.data() + (from - part.from), bytes.data() + (from - begin), to - from);
    if (part.from + part.into.size() > end) return;
  }
}

void Attempt::Append(std::span<const std::byte> bytes) {
  answer_.body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

bool Attempt::Refuse(absl::Status why) {
  wrong_ = std::move(why);
  return false;
}

// Some servers answer a range with 200 and a Content-Range; others ignore the range.
absl::Status Attempt::CheckRange() {
  if (!request_.range || !is_success()) return absl::OkStatus();
  const TransferRange& asked = *request_.range;
  const absl::string_view text = answer_.Header("content-range");
  if (text.empty()) {
    uint64_t length = 0;
    const bool is_whole = asked.offset == 0 && code_ == 200 &&
                          absl::SimpleAtoi(answer_.Header("content-length"), &length) &&
                          length == asked.bytes;
    if (!is_whole) return absl::UnavailableError("the store ignores ranges");
    answer_.total_bytes = length;
    return absl::OkStatus();
  }
  const std::optional<ContentRange> range = ParseContentRange(text);
  if (!range || range->first != asked.offset || range->last - range->first + 1 != asked.bytes)
    return absl::UnavailableError(
        absl::StrCat("the store answered with the range '", absl::CHexEscape(text.substr(0, 80)),
                     "' instead of bytes ", asked.offset, "-", asked.offset + asked.bytes - 1));
  answer_.total_bytes = range->total;
  return absl::OkStatus();
}

absl::Status Attempt::CheckWhole() const {
  if (!request_.range || !is_success() || request_.method == TransferRequest::Method::kHead ||
      answer_.bytes == request_.range->bytes)
    return absl::OkStatus();
  // Where the sizes are the same, it is how the object is stored.
  if (const absl::string_view packed = answer_.Header("content-encoding");
      !packed.empty() && packed != "identity")
    return absl::FailedPreconditionError(
        absl::StrCat("the server packs what it sends (Content-Encoding: ",
                     absl::CHexEscape(packed.substr(0, 80)),
                     "), so ranges are not those of the file; switch that off for these files"));
  return absl::UnavailableError(absl::StrCat("the answer ended after ", answer_.bytes, " of ",
                                             request_.range->bytes, " bytes"));
}

}  // namespace penstock::store
