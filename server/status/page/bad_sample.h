// The request for the picture of a bad sample, and its answers. A browser gets the stored bytes as
// they are, because the daemon decodes nothing outside of a sandbox.
//
// Pure; input from untrusted peers and files.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/status/http_connection.h"

namespace penstock::status {

inline constexpr char kBadSamplePath[] = "/bad-sample";
inline constexpr uint64_t kMostPictureBytes = uint64_t{8} << 20;

// A sample as the list of bad samples names it.
struct BadSampleName {
  std::string dataset;
  uint64_t sample = 0;
  auto operator<=>(const BadSampleName&) const = default;
};

// Of "dataset=flowers&sample=12", with the name percent-encoded (RFC 3986). Nullopt: it is not of
// this form.
std::optional<BadSampleName> ParseBadSampleName(absl::string_view query);

// The media type of an image that browsers show, by its first bytes. Empty: it is none, as are SVG
// and HTML, which can contain scripts.
absl::string_view FindPictureType(absl::string_view bytes);

// The bytes, if they are such an image and not too many; otherwise a refusal.
HttpPage MakePicture(std::shared_ptr<const std::string> bytes);
// Why there is no picture, in words: 503 for what may pass (Unavailable, ResourceExhausted), else
// 404.
HttpPage MakeRefusal(const absl::Status& why);

// What is refused because it is too large.
absl::Status TooLargeForPicture(uint64_t bytes);

}  // namespace penstock::status
