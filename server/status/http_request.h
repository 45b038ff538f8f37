// The part of HTTP/1 (RFC 9112) that a scrape needs: whether a request is complete, and what it
// asks for. Pure; input from untrusted peers.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace penstock::status {

enum class HttpVerdict {
  kIncomplete,  // incomplete; more may come
  kPage,        // GET or HEAD of the page
  kNotFound,    // of another path
  kNotAllowed,  // any other method
  kBadRequest,  // not HTTP/1
  kTooLong,     // the head exceeds the limit
};

struct HttpRequest {
  HttpVerdict verdict = HttpVerdict::kIncomplete;
  bool head_only = false;  // HEAD
};

// Judges the bytes received so far of a head of at most `limit` bytes. The first line alone decides
// whether it is a request.
HttpRequest Judge(absl::string_view received, size_t limit);

// The head of a response with a body of `body_bytes`; the connection ends after it.
std::string ResponseHead(HttpVerdict verdict, size_t body_bytes);

// The body of a response other than the page: one line that says what to do.
absl::string_view Explanation(HttpVerdict verdict);

}  // namespace penstock::status
