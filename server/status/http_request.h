// The little of HTTP/1 (RFC 9112) that a scrape needs: whether a request is whole, and for what it
// asks. Pure; its bytes come from anybody.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace penstock::status {

enum class Verdict {
  kIncomplete,  // more may come
  kPage,        // GET or HEAD of the page
  kNotFound,    // of something else
  kNotAllowed,  // another method
  kBadRequest,  // no HTTP/1
  kTooLong,     // its head is not complete within the limit
};

struct Request {
  Verdict verdict = Verdict::kIncomplete;
  bool head_only = false;  // HEAD
};

// Judges what has come so far of a head of at most `limit` bytes. What is no request is told from
// its first line alone.
Request Judge(absl::string_view received, size_t limit);

// The head of an answer with a body of so many bytes; the connection ends behind it.
std::string ResponseHead(Verdict verdict, size_t body_bytes);

// The body of an answer that is not the page: one line that says what to do.
absl::string_view Explanation(Verdict verdict);

}  // namespace penstock::status
