// One HTTP request on one handle of libcurl: what is set for it, and what its answer says.
// **Thread safety**: one thread, that of the transfers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/store/client/curl.h"
#include "server/store/client/transfer.h"

namespace penstock::store {

class Attempt {
 public:
  struct Options {
    std::string ca_file = {};  // certificates to trust; empty: the system's
    std::string ca_folder = {};
    std::string proxy = {};  // empty: as the environment says
    base::Duration connect_timeout = {}, stall_timeout = {};
  };
  // Sets what is the same for all requests. Of a new handle, once.
  static void SetUp(const Curl& curl, CURL* handle, const Options& options);

  // Whether its handle may be used by another usual request.
  static bool IsUsual(const TransferRequest& request);

  // Sets the request. **Requires**: `curl`, `request` and the handle outlive this, and no other
  // attempt uses the handle.
  Attempt(const Curl& curl, CURL* handle, const TransferRequest& request);
  ~Attempt();
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  CURL* handle() const { return handle_; }
  const TransferRequest& request() const { return request_; }
  // The answer, once libcurl has ended. Call it once.
  TransferAnswer End(CURLcode code);

 private:
  void SetText(CURLoption option, const std::string& text);  // empty: takes it back
  void AddHeader(absl::string_view name, absl::string_view value);
  void Sign();
  void SetRedirects();
  void SetUnusual();
  static size_t OnHeader(char* text, size_t, size_t bytes, void* self);
  static size_t OnBytes(char* bytes, size_t, size_t count, void* self);
  bool TakeHeader(absl::string_view line);
  bool TakeBytes(std::span<const std::byte> bytes);
  bool TakeBody(std::span<const std::byte> bytes);
  void FillParts(std::span<const std::byte> bytes);
  void Append(std::span<const std::byte> bytes);
  bool Refuse(absl::Status why);
  absl::Status CheckRange();
  absl::Status CheckWhole() const;
  bool is_success() const { return code_ >= 200 && code_ < 300; }

  const Curl& curl_;
  CURL* const handle_;
  const TransferRequest& request_;
  curl_slist* headers_ = nullptr;
  long code_ = 0;
  size_t header_bytes_ = 0;
  bool is_checked_ = false;
  size_t part_ = 0;  // the first that is not full
  absl::Status wrong_;
  TransferAnswer answer_;
};

}  // namespace penstock::store
