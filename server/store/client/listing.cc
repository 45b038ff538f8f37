#include "server/store/client/listing.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace penstock::store {
namespace {

// Cuts the first element of that name, without attributes, off the front of the text. Nullopt:
// there is none. The elements that are read here contain none of their own name.
std::optional<absl::string_view> CutElement(absl::string_view& xml, absl::string_view name) {
  const std::string open = absl::StrCat("<", name, ">"), close = absl::StrCat("</", name, ">");
  const size_t begin = xml.find(open);
  if (begin == absl::string_view::npos) return std::nullopt;
  const size_t end = xml.find(close, begin + open.size());
  if (end == absl::string_view::npos) return std::nullopt;
  const absl::string_view content = xml.substr(begin + open.size(), end - begin - open.size());
  xml.remove_prefix(end + close.size());
  return content;
}

std::optional<absl::string_view> FirstElement(absl::string_view xml, absl::string_view name) {
  return CutElement(xml, name);
}

// The ampersand comes last, because what it gives is not read again.
std::string WithoutEntities(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&lt;", "<"},
                                    {"&gt;", ">"},
                                    {"&quot;", "\""},
                                    {"&apos;", "'"},
                                    {"&#34;", "\""},
                                    {"&#39;", "'"},
                                    {"&amp;", "&"}});
}

absl::StatusOr<std::string> ToKey(absl::string_view text, bool is_encoded) {
  std::string key = WithoutEntities(text);
  if (!is_encoded) return key;
  std::replace(key.begin(), key.end(), '+', ' ');  // a plus itself is encoded
  return PercentDecode(key);
}

}  // namespace

TransferRequest ToListRequest(const Address& folder, const StoreAccess& access,
                              const std::string& token, ListDepth depth) {
  // Signatures need the parameters in the order of their names, and all values encoded.
  std::string query;
  if (!token.empty()) absl::StrAppend(&query, "continuation-token=", PercentEncode(token), "&");
  if (depth == ListDepth::kOneLevel) query += "delimiter=%2F&";
  absl::StrAppend(&query, "encoding-type=url&list-type=2&prefix=", PercentEncode(folder.key));
  TransferRequest request = ToBucketRequest(folder, access, query);
  request.most_body = uint64_t{8} << 20;  // a thousand entries
  return request;
}

absl::StatusOr<ListPage> ToListPage(const TransferAnswer& answer, const Address& folder) {
  PENSTOCK_RETURN_IF_ERROR(ToStatus(answer, folder));
  const auto wrong = [&](absl::string_view what) {
    return absl::DataLossError(absl::StrCat("'", ToText(folder), "': the store's listing ", what));
  };
  absl::string_view xml = answer.body;
  if (!absl::StrContains(xml, "<ListBucketResult") ||
      !absl::StrContains(xml, "</ListBucketResult>"))
    return wrong("is none");
  const bool is_encoded = FirstElement(xml, "EncodingType") == "url";
  const bool is_truncated = FirstElement(xml, "IsTruncated") == "true";
  ListPage page;
  if (is_truncated) {
    const auto token = FirstElement(xml, "NextContinuationToken");
    if (!token || token->empty()) return wrong("is not whole, and does not say how it goes on");
    page.next_token = WithoutEntities(*token);
  }
  while (const auto entry = CutElement(xml, "Contents")) {
    const auto name = FirstElement(*entry, "Key");
    if (!name) return wrong("has an object without a name");
    ListedObject object;
    PENSTOCK_ASSIGN_OR_RETURN(object.key, ToKey(*name, is_encoded));
    if (!absl::StartsWith(object.key, folder.key)) return wrong("has an object of another folder");
    if (const auto bytes = FirstElement(*entry, "Size"))
      if (!absl::SimpleAtoi(*bytes, &object.bytes)) return wrong("has an object without a size");
    if (const auto etag = FirstElement(*entry, "ETag")) object.etag = WithoutEntities(*etag);
    page.objects.push_back(std::move(object));
  }
  xml = answer.body;
  while (const auto entry = CutElement(xml, "CommonPrefixes")) {
    const auto name = FirstElement(*entry, "Prefix");
    if (!name) return wrong("has a folder without a name");
    PENSTOCK_ASSIGN_OR_RETURN(std::string below, ToKey(*name, is_encoded));
    if (!absl::StartsWith(below, folder.key) || !absl::EndsWith(below, "/"))
      return wrong("has a folder of another one");
    page.folders.push_back(std::move(below));
  }
  return page;
}

}  // namespace penstock::store
