#include "server/store/client/transfers.h"

#include <pthread.h>

#include <algorithm>
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
constexpr int kLongestWaitMs = 1000;
constexpr long kDirectConnectMs = 1000;
constexpr long kMostRedirects = 5;

long ToMs(base::Duration time) {
  return std::max<long>(1, std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

absl::Status Ending() { return absl::CancelledError("the daemon is ending"); }

}  // namespace

absl::string_view TransferAnswer::Header(absl::string_view name) const {
  for (const auto& [each, value] : headers)
    if (each == name) return value;
  return "";
}

struct Transfers::Multi {
  CURLM* handle = nullptr;
};

// One request and its handle.
class Transfers::Transfer {
 public:
  Transfer(const Curl& curl, TransferRequest request, Done done)
      : curl_(curl), request_(std::move(request)), done_(std::move(done)) {}
  ~Transfer() {
    if (easy_ != nullptr) curl_.easy_cleanup(easy_);
    curl_.slist_free_all(headers_);
  }

  // Null if there is no memory.
  CURL* Prepare(const Options& options) {
    easy_ = curl_.easy_init();
    if (easy_ == nullptr) return nullptr;
    const auto set = [&](CURLoption option, auto value) {
      PENSTOCK_CHECK(curl_.easy_setopt(easy_, option, value) == CURLE_OK);
    };
    set(CURLOPT_URL, request_.url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_NOPROGRESS, 1L);
    set(CURLOPT_BUFFERSIZE, kBufferBytes);
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_CONNECTTIMEOUT_MS, ToMs(options.connect_timeout));
    set(CURLOPT_TIMEOUT_MS, ToMs(request_.deadline));
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, std::max(1L, ToMs(options.stall_timeout) / 1000));
    set(CURLOPT_NOBODY, request_.method == TransferRequest::Method::kHead ? 1L : 0L);
    set(CURLOPT_HEADERFUNCTION, &Transfer::OnHeader);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEFUNCTION, &Transfer::OnBytes);
    set(CURLOPT_WRITEDATA, this);
    const std::string& ca_file = request_.ca_file.empty() ? options.ca_file : request_.ca_file;
    if (!ca_file.empty()) set(CURLOPT_CAINFO, ca_file.c_str());
    if (!options.ca_folder.empty()) set(CURLOPT_CAPATH, options.ca_folder.c_str());
    if (!options.proxy.empty()) set(CURLOPT_PROXY, options.proxy.c_str());
    if (request_.is_direct) {
      set(CURLOPT_PROXY, "");
      set(CURLOPT_CONNECTTIMEOUT_MS, kDirectConnectMs);
    }
    if (request_.follows_redirects) FollowRedirects();
    AddBody();
    if (request_.range) {
      // Not as a header, which would be signed: proxies may change it.
      range_ = absl::StrCat(request_.range->offset, "-",
                            request_.range->offset + request_.range->bytes - 1);
      set(CURLOPT_RANGE, range_.c_str());
    }
    Sign();
    for (const auto& [name, value] : request_.headers) AddHeader(name, value);
    set(CURLOPT_HTTPHEADER, headers_);
    return easy_;
  }

  void End(CURLcode code) {
    curl_.easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &code_);
    answer_.code = static_cast<int>(code_);
    answer_.status = wrong_.ok() ? ToTransferStatus(curl_, code) : wrong_;
    if (answer_.status.ok()) answer_.status = CheckWhole();
    Answer();
  }
  void EndWith(absl::Status status) {
    answer_.status = std::move(status);
    Answer();
  }

  uint64_t bytes() const { return answer_.bytes; }

 private:
  void Answer() { std::exchange(done_, nullptr)(std::move(answer_)); }

  void AddHeader(absl::string_view name, absl::string_view value) {
    headers_ = curl_.slist_append(headers_, absl::StrCat(name, ": ", value).c_str());
  }

  // Nothing secret is sent along: such requests have no signature.
  void FollowRedirects() {
    PENSTOCK_CHECK(request_.sign_with == nullptr);
    curl_.easy_setopt(easy_, CURLOPT_FOLLOWLOCATION, 1L);
    curl_.easy_setopt(easy_, CURLOPT_MAXREDIRS, kMostRedirects);
    const bool is_secure = absl::StartsWith(request_.url, "https://");
    curl_.easy_setopt(easy_, CURLOPT_REDIR_PROTOCOLS_STR, is_secure ? "https" : "http,https");
  }

  // The body stays with the request, so libcurl does not copy it.
  void AddBody() {
    using Method = TransferRequest::Method;
    if (request_.method != Method::kPut && request_.method != Method::kPost) return;
    curl_.easy_setopt(easy_, CURLOPT_POST, 1L);
    curl_.easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE,
                      static_cast<curl_off_t>(request_.body.size()));
    curl_.easy_setopt(easy_, CURLOPT_POSTFIELDS, request_.body.c_str());
    if (request_.method == Method::kPut) curl_.easy_setopt(easy_, CURLOPT_CUSTOMREQUEST, "PUT");
  }

  // libcurl 7.88 signs the path and the query as they stand in the URL, and sends no hash of the
  // content by itself, which S3 demands.
  void Sign() {
    if (request_.sign_with == nullptr) return;
    const StoreKeys& keys = *request_.sign_with;
    curl_.easy_setopt(easy_, CURLOPT_AWS_SIGV4,
                      absl::StrCat("aws:amz:", request_.region, ":s3").c_str());
    curl_.easy_setopt(easy_, CURLOPT_USERNAME, keys.key_id.c_str());
    curl_.easy_setopt(easy_, CURLOPT_PASSWORD, keys.secret.c_str());
    AddHeader("x-amz-content-sha256", "UNSIGNED-PAYLOAD");
    if (!keys.token.empty()) AddHeader("x-amz-security-token", keys.token);
  }

  static size_t OnHeader(char* text, size_t, size_t bytes, void* self) {
    return static_cast<Transfer*>(self)->TakeHeader({text, bytes}) ? bytes : 0;
  }
  static size_t OnBytes(char* bytes, size_t, size_t count, void* self) {
    return static_cast<Transfer*>(self)->TakeBytes(std::as_bytes(std::span(bytes, count))) ? count
                                                                                           : 0;
  }

  bool TakeHeader(absl::string_view line) {
    header_bytes_ += line.size();
    if (header_bytes_ > kMostHeaders) {
      wrong_ = absl::UnavailableError("the answer's headers have more than 64 KiB");
      return false;
    }
    if (absl::StartsWith(line, "HTTP/")) answer_.headers.clear();  // another answer
    const size_t colon = line.find(':');
    if (colon == absl::string_view::npos) return true;
    answer_.headers.emplace_back(absl::AsciiStrToLower(line.substr(0, colon)),
                                 absl::StripAsciiWhitespace(line.substr(colon + 1)));
    return true;
  }

  bool TakeBytes(std::span<const std::byte> bytes) {
    if (!is_checked_) {
      is_checked_ = true;
      curl_.easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &code_);
      wrong_ = CheckRange();
      if (!wrong_.ok()) return false;
    }
    const bool is_success = code_ >= 200 && code_ < 300;
    if (!is_success) {
      const size_t room = kMostErrorBody - std::min(kMostErrorBody, answer_.body.size());
      Append(bytes.first(std::min(room, bytes.size())));
      return true;
    }
    if (request_.range && bytes.size() > request_.range->bytes - answer_.bytes)
      return Refuse(absl::UnavailableError("the answer is longer than the range asked for"));
    answer_.bytes += bytes.size();
    if (request_.sink) {
      if (request_.sink(bytes)) return true;
      return Refuse(absl::CancelledError("nobody takes the bytes"));
    }
    if (answer_.bytes > request_.most_body)
      return Refuse(absl::ResourceExhaustedError(
          absl::StrCat("the answer has more than ", request_.most_body, " bytes")));
    Append(bytes);
    return true;
  }

  void Append(std::span<const std::byte> bytes) {
    answer_.body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  bool Refuse(absl::Status why) {
    wrong_ = std::move(why);
    return false;
  }

  // Some servers answer a range with 200 and a Content-Range; others ignore the range.
  absl::Status CheckRange() {
    if (!request_.range || code_ < 200 || code_ >= 300) return absl::OkStatus();
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

  absl::Status CheckWhole() const {
    if (!request_.range || code_ < 200 || code_ >= 300 ||
        request_.method == TransferRequest::Method::kHead || answer_.bytes == request_.range->bytes)
      return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat("the answer ended after ", answer_.bytes, " of ",
                                               request_.range->bytes, " bytes"));
  }

  const Curl& curl_;
  const TransferRequest request_;
  Done done_;
  CURL* easy_ = nullptr;
  curl_slist* headers_ = nullptr;
  std::string range_;
  long code_ = 0;
  size_t header_bytes_ = 0;
  bool is_checked_ = false;
  absl::Status wrong_;
  TransferAnswer answer_;
};

Transfers::Transfers(const Curl& curl, const Options& options)
    : curl_(curl), options_(options), multi_(std::make_unique<Multi>()) {
  multi_->handle = curl_.multi_init();
  PENSTOCK_CHECK(multi_->handle != nullptr);
  curl_.multi_setopt(multi_->handle, CURLMOPT_MAX_HOST_CONNECTIONS,
                     static_cast<long>(options_.most_connections));
  curl_.multi_setopt(multi_->handle, CURLMOPT_MAXCONNECTS,
                     static_cast<long>(options_.most_connections));
  thread_ = std::thread([this] { Serve(); });
}

Transfers::~Transfers() {
  Stop();
  thread_.join();
  curl_.multi_cleanup(multi_->handle);
}

void Transfers::Stop() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  curl_.multi_wakeup(multi_->handle);
}

void Transfers::Start(TransferRequest request, Done done) {
  PENSTOCK_CHECK(!request.range || request.range->bytes > 0);
  std::unique_ptr<Transfer> refused;
  bool is_first = false;
  {
    auto transfer = std::make_unique<Transfer>(curl_, std::move(request), std::move(done));
    const base::MutexLock lock(mutex_);
    is_first = given_.empty();
    (stopping_ ? refused : given_.emplace_back()) = std::move(transfer);
    if (refused == nullptr) ++under_way_;
  }
  if (refused != nullptr) return refused->EndWith(Ending());
  if (is_first) curl_.multi_wakeup(multi_->handle);  // the thread takes all that are there
}

TransferAnswer Transfers::Perform(TransferRequest request) {
  struct {
    base::Mutex mutex;
    base::CondVar ended;
    std::optional<TransferAnswer> answer;
  } waiting;
  Start(std::move(request), [&waiting](TransferAnswer answer) {
    const base::MutexLock lock(waiting.mutex);
    waiting.answer = std::move(answer);
    waiting.ended.NotifyAll();
  });
  const base::MutexLock lock(waiting.mutex);
  while (!waiting.answer) waiting.ended.Wait(waiting.mutex);
  return *std::move(waiting.answer);
}

Transfers::Counts Transfers::counts() const {
  return {.requests = requests_.load(), .bytes = bytes_.load(), .under_way = under_way_.load()};
}

void Transfers::Serve() {
  ::pthread_setname_np(::pthread_self(), "transfers");
  for (;;) {
    std::vector<std::unique_ptr<Transfer>> given;
    {
      const base::MutexLock lock(mutex_);
      given.swap(given_);
      if (stopping_) {
        for (auto& transfer : given) running_.emplace(transfer.get(), std::move(transfer));
        break;
      }
    }
    for (auto& transfer : given) Begin(std::move(transfer));
    int running = 0;
    curl_.multi_perform(multi_->handle, &running);
    CollectEnded();
    curl_.multi_poll(multi_->handle, nullptr, 0, kLongestWaitMs, nullptr);
  }
  EndAll();
}

void Transfers::Begin(std::unique_ptr<Transfer> transfer) {
  ++requests_;
  CURL* const handle = transfer->Prepare(options_);
  if (handle == nullptr || curl_.multi_add_handle(multi_->handle, handle) != CURLM_OK) {
    --under_way_;
    return transfer->EndWith(absl::ResourceExhaustedError("no memory for another transfer"));
  }
  running_.emplace(handle, std::move(transfer));
}

void Transfers::CollectEnded() {
  int left = 0;
  while (const CURLMsg* const message = curl_.multi_info_read(multi_->handle, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    const auto ended = running_.find(message->easy_handle);
    const std::unique_ptr<Transfer> transfer = std::move(ended->second);
    curl_.multi_remove_handle(multi_->handle, message->easy_handle);
    running_.erase(ended);
    bytes_ += transfer->bytes();
    --under_way_;
    transfer->End(code);
  }
}

void Transfers::EndAll() {
  for (auto& [handle, transfer] : running_) {
    if (handle != transfer.get()) curl_.multi_remove_handle(multi_->handle, handle);
    --under_way_;
    transfer->EndWith(Ending());
  }
  running_.clear();
}

}  // namespace penstock::store
