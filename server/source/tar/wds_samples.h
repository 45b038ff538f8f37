// Members of a shard, one after the other, into samples: those that follow each other and share a
// key are one, as in webdataset. Pure. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/source/files/hash.h"
#include "server/source/shards/shard_manifest_builder.h"
#include "server/source/tar/tar_walk.h"

namespace penstock::source {

// What of a sample is its image and its label.
struct WdsRoles {
  std::vector<std::string> images;  // extensions; the first that a sample has is its image
  std::string label;                // an extension; empty: samples have no labels

  // As they were asked for: an empty image is jpg, jpeg, png or webp, in this order; an empty label
  // is cls; "none" is no label.
  static WdsRoles Of(absl::string_view image, absl::string_view label);
};

inline constexpr uint32_t kWdsImage = 1;  // the kind of an extension that may be an image's

// The number that a label's bytes say: decimal digits, perhaps with a sign and spaces around.
// Nothing where they say none that fits 32 bits.
std::optional<int32_t> ParseWdsLabel(absl::string_view text);
inline constexpr uint64_t kLongestWdsLabel = 64;  // bytes; a longer one is none

class WdsSamples {
 public:
  WdsSamples(std::string shard, const WdsRoles& roles) : shard_(std::move(shard)), roles_(roles) {
    for (const std::string& image : roles.images) digest_.Add(image);  // another image, other rows
  }

  enum class Added { kMember, kLabel, kNothing };
  // kLabel: a label's bytes are here; say them by SetLabel next. kNothing: the member is no
  // sample's. InvalidArgument: two members of one name in a sample; a shard too large for its
  // table.
  absl::StatusOr<Added> Add(const TarMember& member);
  absl::Status SetLabel(const TarMember& member, absl::string_view text);

  uint64_t samples() const { return scanned_.samples.size(); }
  // What was found; state and warning are the caller's to say.
  ScannedShard Finish() &&;

 private:
  void Begin(std::string key);
  void End();
  uint32_t NumberOf(const std::string& extension);

  const std::string shard_;
  const WdsRoles& roles_;
  std::optional<std::string> key_;
  bool has_label_ = false;
  std::map<std::string, uint32_t> numbers_;
  ScannedShard scanned_;
  Hasher digest_;
};

}  // namespace penstock::source
