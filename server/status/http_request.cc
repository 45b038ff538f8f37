#include "server/status/http_request.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace penstock::status {
namespace {

bool IsToken(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) ||
           absl::string_view("!#$%&'*+-.^_`|~").find(c) != absl::string_view::npos;
  });
}

bool IsTarget(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isgraph);
}

// "GET /metrics HTTP/1.1"
HttpRequest JudgeLine(absl::string_view line) {
  const size_t first = line.find(' ');
  const size_t second = first == absl::string_view::npos ? first : line.find(' ', first + 1);
  if (second == absl::string_view::npos) return {HttpVerdict::kBadRequest};
  const absl::string_view method = line.substr(0, first);
  const absl::string_view target = line.substr(first + 1, second - first - 1);
  const absl::string_view version = line.substr(second + 1);
  if (!IsToken(method) || !IsTarget(target) || (version != "HTTP/1.1" && version != "HTTP/1.0"))
    return {HttpVerdict::kBadRequest};
  const bool head_only = method == "HEAD";
  if (method != "GET" && !head_only) return {HttpVerdict::kNotAllowed};
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(target, absl::MaxSplits('?', 1));
  return {.verdict = HttpVerdict::kPage,
          .head_only = head_only,
          .path = std::string(parts.first),
          .query = std::string(parts.second)};
}

// The quality that an element "name;q=0.5" of a list has: 1 without q; 0 for anything malformed.
double QualityIn(absl::string_view element) {
  for (absl::string_view parameter : absl::StrSplit(element, ';')) {
    parameter = absl::StripAsciiWhitespace(parameter);
    if (!absl::StartsWithIgnoreCase(parameter, "q=")) continue;
    double quality = 0;
    return absl::SimpleAtod(parameter.substr(2), &quality) && quality > 0 ? quality : 0;
  }
  return 1;
}

// The highest quality that header field `field` gives to `wanted`; 0 if it does not name it.
double QualityOf(absl::string_view head, absl::string_view field, absl::string_view wanted) {
  double quality = 0;
  for (const absl::string_view line : absl::StrSplit(head, '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (!absl::EqualsIgnoreCase(parts.first, field)) continue;
    for (const absl::string_view element : absl::StrSplit(parts.second, ',')) {
      const absl::string_view name = element.substr(0, element.find(';'));
      if (absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(name), wanted))
        quality = std::max(quality, QualityIn(element));
    }
  }
  return quality;
}

bool HasEnd(absl::string_view received) {
  return absl::StrContains(received, "\r\n\r\n") || absl::StrContains(received, "\n\n");
}

absl::string_view StatusOf(HttpVerdict verdict) {
  switch (verdict) {
    case HttpVerdict::kPage:
      return "200 OK";
    case HttpVerdict::kNotFound:
      return "404 Not Found";
    case HttpVerdict::kUnavailable:
      return "503 Service Unavailable";
    case HttpVerdict::kNotAllowed:
      return "405 Method Not Allowed";
    case HttpVerdict::kTooLong:
      return "431 Request Header Fields Too Large";
    case HttpVerdict::kIncomplete:
    case HttpVerdict::kBadRequest:
      break;
  }
  return "400 Bad Request";
}

}  // namespace

HttpRequest Judge(absl::string_view received, size_t limit) {
  const absl::string_view within = received.substr(0, limit);
  const size_t end_of_line = within.find('\n');
  if (end_of_line != absl::string_view::npos) {
    absl::string_view line = within.substr(0, end_of_line);
    if (absl::EndsWith(line, "\r")) line.remove_suffix(1);
    HttpRequest request = JudgeLine(line);
    if (request.verdict == HttpVerdict::kBadRequest) return request;
    request.form = FindForm(within);
    if (HasEnd(within)) return request;
  }
  return {received.size() >= limit ? HttpVerdict::kTooLong : HttpVerdict::kIncomplete};
}

PageForm FindForm(absl::string_view head) {
  const double open_metrics = QualityOf(head, "accept", "application/openmetrics-text");
  const double text = QualityOf(head, "accept", "text/plain");
  return {.open_metrics = open_metrics > 0 && open_metrics >= text,
          .gzip = QualityOf(head, "accept-encoding", "gzip") > 0};
}

HttpContent MetricsContent(const PageForm& form) {
  return {.type = form.open_metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                    : "text/plain; version=0.0.4; charset=utf-8",
          .headers = absl::StrCat(form.gzip ? "Content-Encoding: gzip\r\n" : "",
                                  "Vary: Accept, Accept-Encoding\r\n")};
}

std::string ResponseHead(HttpVerdict verdict, size_t body_bytes, const HttpContent& content) {
  return absl::StrCat("HTTP/1.1 ", StatusOf(verdict), "\r\nContent-Type: ", content.type,
                      "\r\nContent-Length: ", body_bytes,
                      verdict == HttpVerdict::kNotAllowed ? "\r\nAllow: GET, HEAD" : "",
                      "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n",
                      content.headers, "Connection: close\r\n\r\n");
}

absl::string_view Explanation(HttpVerdict verdict) {
  switch (verdict) {
    case HttpVerdict::kNotFound:
      return "There is no such page here; /metrics has the metrics.\n";
    case HttpVerdict::kNotAllowed:
      return "Pages here are only read: use GET.\n";
    case HttpVerdict::kTooLong:
      return "The request's head is too long.\n";
    default:
      return "This is no HTTP/1 request; GET /metrics gives the metrics.\n";
  }
}

}  // namespace penstock::status
