#include "server/app/operator/page_routes.h"

#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "server/source/files/sha256.h"
#include "server/status/page/bad_sample.h"
#include "server/status/page/page_files.h"

namespace penstock::app {
namespace {

using status::HttpContent;
using status::HttpCounts;
using status::HttpPage;
using status::HttpRequest;

// Nobody else's pages may frame the page or read it.
constexpr char kOwnPagesAlone[] =
    "Cross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\n";

// As a source in a Content-Security-Policy: https://www.w3.org/TR/CSP3/#grammardef-hash-source.
std::string HashSource(absl::string_view text) {
  source::Sha256 hash;
  hash.AddBytes(std::as_bytes(std::span(text.data(), text.size())));
  const source::Sha256::Sum sum = hash.Finish();
  const absl::string_view bytes(reinterpret_cast<const char*>(sum.data()), sum.size());
  return absl::StrCat("'sha256-", absl::Base64Escape(bytes), "'");
}

// The browser runs the script and the style that are compiled in, and nothing else; it asks nobody
// but this port, and text cannot become markup. The script itself fetches the pictures of bad
// samples, so that it can show why there is none; it gives them to the browser as a blob.
std::string PagePolicy(const status::PageFiles& files, bool has_pictures) {
  return absl::StrCat(
      "Content-Security-Policy: default-src 'none'; script-src ", HashSource(files.script),
      "; style-src ", HashSource(files.style),
      "; connect-src 'self'; img-src data:", has_pictures ? " blob:" : "",
      "; base-uri 'none'; form-action 'none'; "
      "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'\r\n");
}

}  // namespace

void AddPageRoutes(status::Pages& pages, status::HttpServer::Routes& routes) {
  const status::PageFiles files = status::ReadPageFiles();
  const HttpPage page = {
      .body = std::make_shared<const std::string>(files.html),
      .content = {.type = "text/html; charset=utf-8",
                  .headers = PagePolicy(files, pages.shows_bad_samples()) + kOwnPagesAlone}};
  const HttpContent json = {.type = "application/json", .headers = kOwnPagesAlone};
  routes["/"] = [page](const HttpCounts&, const HttpRequest&) { return page; };
  routes["/status.json"] = [&pages, json](const HttpCounts&, const HttpRequest&) {
    return HttpPage{.body = pages.StatusJson(), .content = json};
  };
  routes["/history.json"] = [&pages, json](const HttpCounts&, const HttpRequest&) {
    return HttpPage{.body = pages.HistoryJson(), .content = json};
  };
  if (!pages.shows_bad_samples()) return;
  routes[status::kBadSamplePath] = [&pages](const HttpCounts&, const HttpRequest& request) {
    return pages.BadSample(request);
  };
}

}  // namespace penstock::app
