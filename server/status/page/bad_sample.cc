#include "server/status/page/bad_sample.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace penstock::status {
namespace {

// The bytes are hostile: a browser that is led here directly runs and loads nothing because of
// them, and no other site's page may have them.
constexpr char kPictureHeaders[] =
    "Content-Security-Policy: default-src 'none'; sandbox\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\n";

std::optional<std::string> DecodePercents(absl::string_view text) {
  std::string decoded;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      decoded += text[at];
      continue;
    }
    const absl::string_view digits = text.substr(at + 1, 2);
    if (digits.size() != 2 || !std::all_of(digits.begin(), digits.end(), absl::ascii_isxdigit))
      return std::nullopt;
    decoded += absl::HexStringToBytes(digits);
    at += 2;
  }
  return decoded;
}

// "BM", and the length of one of the headers that follow a BMP's first 14 bytes.
bool IsBmp(absl::string_view bytes) {
  constexpr std::array<char, 6> kLengths = {12, 40, 52, 56, 108, 124};
  return bytes.size() > 18 && absl::StartsWith(bytes, "BM") &&
         std::find(kLengths.begin(), kLengths.end(), bytes[14]) != kLengths.end() &&
         bytes.substr(15, 3) == absl::string_view("\0\0\0", 3);
}

}  // namespace

std::optional<BadSampleName> ParseBadSampleName(absl::string_view query) {
  if (!absl::ConsumePrefix(&query, "dataset=")) return std::nullopt;
  const size_t end = query.find('&');
  if (end == absl::string_view::npos) return std::nullopt;
  std::optional<std::string> dataset = DecodePercents(query.substr(0, end));
  absl::string_view number = query.substr(end);
  if (!dataset || dataset->empty() || !absl::ConsumePrefix(&number, "&sample="))
    return std::nullopt;
  uint64_t sample = 0;
  if (!std::all_of(number.begin(), number.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(number, &sample))
    return std::nullopt;
  return BadSampleName{.dataset = *std::move(dataset), .sample = sample};
}

absl::string_view FindPictureType(absl::string_view bytes) {
  if (absl::StartsWith(bytes, "\xff\xd8\xff")) return "image/jpeg";
  if (absl::StartsWith(bytes, "\x89PNG\r\n\x1a\n")) return "image/png";
  if (absl::StartsWith(bytes, "GIF87a") || absl::StartsWith(bytes, "GIF89a")) return "image/gif";
  if (absl::StartsWith(bytes, "RIFF") && bytes.size() > 12 && bytes.substr(8, 4) == "WEBP")
    return "image/webp";
  return IsBmp(bytes) ? "image/bmp" : "";
}

HttpPage MakePicture(std::shared_ptr<const std::string> bytes) {
  if (bytes->size() > kMostPictureBytes) return MakeRefusal(TooLargeForPicture(bytes->size()));
  const absl::string_view type = FindPictureType(*bytes);
  if (type.empty())
    return MakeRefusal(absl::NotFoundError(
        "not an image that browsers show, which are JPEG, PNG, GIF, WebP and BMP"));
  return {.body = std::move(bytes),
          .content = {.type = std::string(type), .headers = kPictureHeaders}};
}

HttpPage MakeRefusal(const absl::Status& why) {
  const bool may_pass = absl::IsUnavailable(why) || absl::IsResourceExhausted(why);
  return {.body = std::make_shared<const std::string>(absl::StrCat(why.message(), "\n")),
          .content = {.headers = kPictureHeaders},
          .verdict = may_pass ? HttpVerdict::kUnavailable : HttpVerdict::kNotFound};
}

absl::Status TooLargeForPicture(uint64_t bytes) {
  return absl::NotFoundError(absl::StrCat("larger than 8 MiB: it has ", bytes, " bytes"));
}

}  // namespace penstock::status
