#include "server/source/shards/shard_manifest.h"

#include <algorithm>
#include <cstring>

#include "common/base/check.h"
#include "server/source/files/checked_header.h"

namespace penstock::source {
namespace {

constexpr int32_t kMostClasses = 65536;

// Whether the sections described by the header fill exactly `total` bytes.
bool SizesAgree(const ShardManifestHeader& header, uint64_t total) {
  uint64_t left = total - sizeof header;
  if (header.samples == UINT64_MAX) return false;
  return TakeSection(left, header.shards, sizeof(ShardRecord)) &&
         TakeSection(left, header.samples + 1, sizeof(ShardSample)) &&
         TakeSection(left, header.extensions, sizeof(ExtensionRecord)) &&
         TakeSection(left, header.members, sizeof(ShardMember)) &&
         TakeSection(left, header.text_bytes, 1) && left == 0;
}

// The section that follows `before`.
template <typename Record, typename Before>
std::span<const Record> Behind(std::span<const Before> before, uint64_t count) {
  const auto bytes = std::as_bytes(before);
  return {reinterpret_cast<const Record*>(bytes.data() + bytes.size()), count};
}

}  // namespace

bool ArrayShape::IsLike(const ArrayShape& other) const {
  return type == other.type && dimensions == other.dimensions &&
         std::equal(sides.begin() + 1, sides.end(), other.sides.begin() + 1);
}

absl::StatusOr<ShardManifest> ShardManifest::FromMapping(posix::Mapping mapping) {
  PENSTOCK_ASSIGN_OR_RETURN(
      const ShardManifestHeader header,
      ReadChecked<ShardManifestHeader>(mapping.bytes(), kShardMagic, kShardVersion, SizesAgree));
  if (header.samples == 0 || header.shards == 0) return DamagedIndex("it is empty");
  ShardManifest manifest(std::move(mapping));
  if (!manifest.IsConsistent()) return DamagedIndex("its parts contradict each other");
  return manifest;
}

// The checksum detects accidental damage. This check also protects from a forged file with a
// correct checksum.
bool ShardManifest::IsConsistent() const {
  const auto in_text = [text = header().text_bytes](uint32_t offset, uint32_t bytes) {
    return offset <= text && bytes <= text - offset;
  };
  uint64_t first = 0;
  for (const ShardRecord& shard : shards()) {
    if (shard.first_sample < first || shard.first_sample > header().samples) return false;
    if (!in_text(shard.path_offset, shard.path_bytes)) return false;
    first = shard.first_sample;
  }
  for (const ExtensionRecord& extension : extensions())
    if (!in_text(extension.name_offset, extension.name_bytes)) return false;
  if (shards()[0].first_sample != 0) return false;
  return header().members == 0 || AreMembersConsistent();
}

// Of tar shards: each sample has members.
bool ShardManifest::AreMembersConsistent() const {
  const auto samples = this->samples();
  for (size_t i = 0; i + 1 < samples.size(); ++i)
    if (samples[i].place >= samples[i + 1].place) return false;
  return samples.back().place <= header().members &&
         std::ranges::all_of(members(), [this](const ShardMember& member) {
           return member.extension < header().extensions;
         });
}

const ShardManifestHeader& ShardManifest::header() const {
  return *reinterpret_cast<const ShardManifestHeader*>(mapping_->data());
}

std::span<const ShardRecord> ShardManifest::shards() const {
  return Behind<ShardRecord>(std::span(&header(), 1), header().shards);
}

std::span<const ShardSample> ShardManifest::samples() const {
  return Behind<ShardSample>(shards(), header().samples + 1);
}

std::vector<FileState> ShardManifest::States() const {
  std::vector<FileState> states;
  for (const ShardRecord& shard : shards()) states.push_back(shard.state);
  return states;
}

std::vector<std::string> ShardManifest::Classes() const {
  if (header().labeled == 0) return {};
  int32_t least = 0, most = 0;
  for (const ShardSample& sample : samples().first(header().samples)) {
    least = std::min(least, sample.label);
    most = std::max(most, sample.label);
  }
  std::vector<std::string> classes;
  if (least < 0 || most >= kMostClasses) return classes;
  for (int32_t label = 0; label <= most; ++label) classes.push_back(absl::StrCat(label));
  return classes;
}

std::span<const ExtensionRecord> ShardManifest::extensions() const {
  return Behind<ExtensionRecord>(samples(), header().extensions);
}

std::span<const ShardMember> ShardManifest::members() const {
  return Behind<ShardMember>(extensions(), header().members);
}

absl::string_view ShardManifest::Text(uint32_t offset, uint32_t bytes) const {
  PENSTOCK_CHECK(offset <= header().text_bytes && bytes <= header().text_bytes - offset);
  const std::byte* text = mapping_->data() + mapping_->size() - header().text_bytes;
  return {reinterpret_cast<const char*>(text) + offset, bytes};
}

const ShardSample& ShardManifest::sample(uint64_t sample) const {
  PENSTOCK_CHECK(sample < header().samples);
  return samples()[sample];
}

// The last shard whose first sample is not after this one.
size_t ShardManifest::ShardOf(uint64_t sample) const {
  PENSTOCK_CHECK(sample < header().samples);
  const auto shards = this->shards();
  const auto next = std::upper_bound(
      shards.begin(), shards.end(), sample,
      [](uint64_t wanted, const ShardRecord& shard) { return wanted < shard.first_sample; });
  PENSTOCK_CHECK(next != shards.begin());
  return static_cast<size_t>(next - shards.begin()) - 1;
}

uint64_t ShardManifest::LongestShard() const {
  uint64_t most = 0;
  for (size_t i = 0; i < shards().size(); ++i) {
    const bool last = i + 1 == shards().size();
    const uint64_t end = last ? header().samples : shards()[i + 1].first_sample;
    most = std::max(most, end - shards()[i].first_sample);
  }
  return most;
}

std::string ShardManifest::PathOf(size_t shard) const {
  return std::string(Text(shards()[shard].path_offset, shards()[shard].path_bytes));
}

absl::string_view ShardManifest::ExtensionName(size_t extension) const {
  PENSTOCK_CHECK(extension < header().extensions);
  return Text(extensions()[extension].name_offset, extensions()[extension].name_bytes);
}

std::span<const ShardMember> ShardManifest::MembersOf(uint64_t sample) const {
  PENSTOCK_CHECK(sample < header().samples);
  const uint64_t begin = samples()[sample].place, end = samples()[sample + 1].place;
  PENSTOCK_CHECK(begin < end && end <= header().members);
  return members().subspan(begin, end - begin);
}

}  // namespace penstock::source
