// The part of HTTP/1 (RFC 9112) that scrapers and browsers need: whether a request is complete, and
// which path it asks for. Pure; input from untrusted peers.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace penstock::status {

enum class HttpVerdict {
  kIncomplete,   // incomplete; more may come
  kPage,         // GET or HEAD of a path
  kNotFound,     // … that the server does not have
  kUnavailable,  // … that it does not have now
  kNotAllowed,   // any other method
  kBadRequest,   // not HTTP/1
  kTooLong,      // the head exceeds the limit
};

// How the client wants the metrics.
struct PageForm {
  bool open_metrics = false;  // otherwise Prometheus' text format
  bool gzip = false;

  bool operator==(const PageForm&) const = default;
};

struct HttpRequest {
  HttpVerdict verdict = HttpVerdict::kIncomplete;
  bool head_only = false;  // HEAD
  std::string path = {};   // kPage: without its query
  PageForm form = {};
  std::string query = {};  // kPage: what follows the path's question mark, as it is
};

// Judges the bytes received so far of a head of at most `limit` bytes. The first line alone decides
// whether it is a request.
HttpRequest Judge(absl::string_view received, size_t limit);

// What the header fields Accept and Accept-Encoding prefer (RFC 9110, section 12.5). OpenMetrics
// only if the client names it.
PageForm FindForm(absl::string_view head);

// How a body is described. `headers`: further lines, each with its line break.
struct HttpContent {
  std::string type = "text/plain; charset=utf-8";
  std::string headers = {};
};
HttpContent MetricsContent(const PageForm& form);

// The head of a response with a body of `body_bytes`; the connection ends after it.
std::string ResponseHead(HttpVerdict verdict, size_t body_bytes, const HttpContent& content = {});

// The body of a response other than a page: one line that says what to do.
absl::string_view Explanation(HttpVerdict verdict);

}  // namespace penstock::status
