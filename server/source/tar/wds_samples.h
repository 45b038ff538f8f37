// Groups a shard's members into samples: consecutive members with the same key form a sample, as in
// webdataset. Pure.
// **Thread safety**: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/hash.h"
#include "common/base/status.h"
#include "server/source/shards/shard_manifest_builder.h"
#include "server/source/tar/npy_member.h"
#include "server/source/tar/tar_walk.h"

namespace penstock::source {

// Which members are a sample's image and label.
struct WdsRoles {
  std::vector<std::string> images;  // extensions; the first one that a sample has is its image
  std::string label;                // extension; empty: no labels

  // Resolves the request. Empty image: jpg, jpeg, png, webp, in this order. Empty label: cls. Label
  // "none": no labels.
  static WdsRoles Of(absl::string_view image, absl::string_view label);
};

inline constexpr uint32_t kWdsImage = 1;  // the kind of extensions that may hold the image

// Parses a label: decimal digits, optionally with a sign and surrounded by spaces. Nullopt unless
// it fits in 32 bits.
std::optional<int32_t> ParseWdsLabel(absl::string_view text);
inline constexpr uint64_t kLongestWdsLabel = 64;  // bytes; anything longer is not a label

class WdsSamples {
 public:
  WdsSamples(std::string shard, const WdsRoles& roles) : shard_(std::move(shard)), roles_(roles) {
    // A different image extension means different rows.
    for (const std::string& image : roles.images) digest_.Add(image);
  }

  enum class Added { kMember, kLabel, kArray, kNothing };
  // Returns kLabel if the member is a label; call SetLabel with its value next. Returns kArray if
  // its name is an array's; call SetArray next. Returns kNothing if the member belongs to no
  // sample.
  // **Errors**: InvalidArgument for two members of the same name in a sample, or a shard too large
  // for its table.
  absl::StatusOr<Added> Add(const TarMember& member);
  absl::Status SetLabel(const TarMember& member, absl::string_view text);
  // No dimensions: the member is not an array after all.
  void SetArray(const ArrayMember& found);

  uint64_t samples() const { return scanned_.samples.size(); }
  // Returns the samples; the caller sets state and warning.
  ScannedShard Finish() &&;

 private:
  void Begin(std::string key);
  void End();
  uint32_t NumberOf(const std::string& extension);
  void PutFirst(size_t member);

  const std::string shard_;
  const WdsRoles& roles_;
  std::optional<std::string> key_;
  bool has_label_ = false;
  std::map<std::string, uint32_t> numbers_;
  struct ArrayHash {
    size_t operator()(const ArrayShape& array) const {
      return base::Hash(std::as_bytes(std::span(&array, 1)));
    }
  };
  std::unordered_map<ArrayShape, uint32_t, ArrayHash> arrays_;  // numbers from 1
  ScannedShard scanned_;
  base::Hasher digest_;
};

}  // namespace penstock::source
