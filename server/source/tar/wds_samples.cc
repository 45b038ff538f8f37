#include "server/source/tar/wds_samples.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "server/source/files/escape.h"
#include "server/source/tar/wds_name.h"

namespace penstock::source {
namespace {

constexpr uint64_t kLargestSample = std::numeric_limits<uint32_t>::max();

template <typename... Words>
absl::Status Wrong(absl::string_view shard, const TarMember& member, const Words&... words) {
  return absl::InvalidArgumentError(absl::StrCat("'", shard, "' at byte ", member.offset, ": '",
                                                 EscapeForDisplay(member.name), "' ", words...));
}

}  // namespace

WdsRoles WdsRoles::Of(absl::string_view image, absl::string_view label) {
  WdsRoles roles;
  roles.images = {"jpg", "jpeg", "png", "webp"};
  if (!image.empty()) roles.images = {absl::AsciiStrToLower(image)};
  roles.label = label.empty() ? "cls" : absl::AsciiStrToLower(label);
  if (label == "none") roles.label.clear();
  return roles;
}

std::optional<int32_t> ParseWdsLabel(absl::string_view text) {
  int32_t label = 0;
  if (text.size() > kLongestWdsLabel || !absl::SimpleAtoi(text, &label)) return std::nullopt;
  return label;
}

absl::StatusOr<WdsSamples::Added> WdsSamples::Add(const TarMember& member) {
  std::optional<WdsName> name = SplitWdsName(member.name);
  if (!name) return Added::kNothing;
  if (member.offset / kTarBlock > kLargestSample)
    return Wrong(shard_, member, "lies beyond the first 2 TiB of its shard; use smaller shards");
  if (key_ != name->key) Begin(std::move(name->key));
  const uint32_t extension = NumberOf(name->extension);
  if (scanned_.extensions.size() > kMostExtensions) return TooManyExtensions(name->extension);
  const auto first =
      scanned_.members.begin() + static_cast<ptrdiff_t>(scanned_.samples.back().place);
  if (std::any_of(first, scanned_.members.end(),
                  [&](const ShardMember& other) { return other.extension == extension; }))
    return Wrong(shard_, member, "is the second '", name->extension,
                 "' of its sample; give each sample its own key");
  scanned_.members.push_back(
      {.block = static_cast<uint32_t>(member.offset / kTarBlock),
       .bytes = static_cast<uint32_t>(std::min(member.bytes, kLargestSample)),
       .extension = extension & kLastExtension});
  if (!scanned_.array_of_member.empty()) scanned_.array_of_member.push_back(0);
  digest_.Add(member.name);
  digest_.Add(member.bytes);
  if (!roles_.label.empty() && name->extension == roles_.label) return Added::kLabel;
  return IsNpyExtension(name->extension) ? Added::kArray : Added::kMember;
}

void WdsSamples::SetArray(const ArrayMember& found) {
  const ArrayShape& array = found.array;
  if (array.dimensions == 0) return;
  const auto next = static_cast<uint32_t>(scanned_.arrays.size() + 1);
  const auto [at, is_new] = arrays_.try_emplace(array, next);
  if (is_new) scanned_.arrays.push_back(array);
  scanned_.array_of_member.resize(scanned_.members.size());
  scanned_.array_of_member.back() = at->second;
  ShardMember& member = scanned_.members.back();
  member.array_header = found.header_bytes & ShardMember::kLongestHeader;
  ScannedShard::Extension& known = scanned_.extensions[member.extension];
  const bool is_first = known.first_sample + 1 == scanned_.samples.size();
  const bool was_empty = known.array != 0 && scanned_.arrays[known.array - 1].empty();
  if (is_first || (was_empty && !array.empty())) known.array = at->second;
}

absl::Status WdsSamples::SetLabel(const TarMember& member, absl::string_view text) {
  const std::optional<int32_t> label = ParseWdsLabel(text);
  if (!label)
    return Wrong(shard_, member, "is not a label: wanted a 32-bit decimal integer, got '",
                 EscapeForDisplay(std::string(text.substr(0, kLongestWdsLabel))),
                 "'; choose another member (label: …), or none (label: none)");
  scanned_.samples.back().label = *label;
  ++scanned_.labeled;
  has_label_ = true;
  digest_.Add(static_cast<uint64_t>(*label));
  return absl::OkStatus();
}

ScannedShard WdsSamples::Finish() && {
  End();
  scanned_.digest = digest_.Digest();
  return std::move(scanned_);
}

void WdsSamples::Begin(std::string key) {
  End();
  key_ = std::move(key);
  has_label_ = false;
  scanned_.samples.push_back({.place = scanned_.members.size()});
}

// Puts the sample's image first, the others in shard order.
void WdsSamples::End() {
  if (!key_) return;
  if (!has_label_ && scanned_.example.empty())
    scanned_.example = absl::StrCat(shard_, "#", EscapeForDisplay(*key_));
  const auto first =
      scanned_.members.begin() + static_cast<ptrdiff_t>(scanned_.samples.back().place);
  for (const std::string& image : roles_.images) {
    const auto number = numbers_.find(image);
    if (number == numbers_.end()) continue;
    const auto found = std::find_if(first, scanned_.members.end(), [&](const ShardMember& member) {
      return member.extension == number->second;
    });
    if (found == scanned_.members.end()) continue;
    PutFirst(static_cast<size_t>(found - scanned_.members.begin()));
    ++scanned_.images;
    return;
  }
}

void WdsSamples::PutFirst(size_t member) {
  const auto first = static_cast<ptrdiff_t>(scanned_.samples.back().place);
  const auto place = static_cast<ptrdiff_t>(member);
  const auto rotate = [&](auto& of) {
    std::rotate(of.begin() + first, of.begin() + place, of.begin() + place + 1);
  };
  rotate(scanned_.members);
  if (!scanned_.array_of_member.empty()) rotate(scanned_.array_of_member);
}

uint32_t WdsSamples::NumberOf(const std::string& extension) {
  const auto [at, is_new] = numbers_.try_emplace(extension, static_cast<uint32_t>(numbers_.size()));
  if (!is_new) return at->second;
  const auto& images = roles_.images;
  const bool is_image = std::find(images.begin(), images.end(), extension) != images.end();
  scanned_.extensions.push_back({.name = extension,
                                 .kind = is_image ? kWdsImage : 0,
                                 .first_sample = scanned_.samples.size() - 1});
  return at->second;
}

}  // namespace penstock::source
