#include "server/indexer/wire/checks.h"

#include <algorithm>
#include <limits>

#include "server/source/tar/tar_format.h"
#include "server/source/tar/wds_samples.h"
#include "server/source/tfrecord/tfrecord_format.h"
#include "server/unpack/example.h"

namespace penstock::indexer {
namespace {

using source::ArrayShape;
using source::ScannedShard;
using source::ShardMember;
using source::ShardSample;

constexpr uint64_t kLongestFile = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
constexpr uint32_t kMostIdxChannels = 16;
constexpr uint32_t kMostBytes = std::numeric_limits<uint32_t>::max();  // of a member: or more

bool Times(uint64_t& product, uint64_t by) {
  return !__builtin_mul_overflow(product, by, &product);
}

// Multiplies the sizes into `product`; false if one is 0 or the product is longer than a file.
template <typename Sizes>
bool TimesAll(uint64_t& product, const Sizes& sizes) {
  for (const uint64_t size : sizes)
    if (size == 0 || !Times(product, size) || product > kLongestFile) return false;
  return true;
}

bool IsArray(const ArrayShape& array, uint64_t file_bytes) {
  const auto type = static_cast<base::DType>(array.type);
  if (!base::IsKnown(type) || array.dimensions == 0 || array.dimensions > array.sides.size())
    return false;
  if (array.sides[0] == 0) return true;
  uint64_t bytes = base::ElementBytes(type);
  return TimesAll(bytes, std::span(array.sides).first(array.dimensions)) && bytes <= file_bytes;
}

// **Requires**: IsArray.
uint64_t BytesOf(const ArrayShape& array) {
  uint64_t bytes = base::ElementBytes(static_cast<base::DType>(array.type));
  for (size_t i = 0; i < array.dimensions; ++i) bytes *= array.sides[i];
  return bytes;
}

absl::Status CheckCounts(const ScannedShard& scanned, uint32_t most_kind) {
  const uint64_t samples = scanned.samples.size();
  if (scanned.images > samples || scanned.labeled > samples)
    return Lie("more images or labels than samples");
  for (const ScannedShard::Extension& extension : scanned.extensions)
    if (extension.kind > most_kind || extension.first_sample >= samples ||
        extension.array > scanned.arrays.size())
      return Lie("a kind of members that cannot be");
  return absl::OkStatus();
}

bool IsMember(const ShardMember& member, const ScannedShard& scanned, uint64_t file_bytes) {
  const uint64_t begin = uint64_t{member.block} * source::kTarBlock;
  return begin <= file_bytes && member.bytes <= file_bytes - begin &&
         member.extension < scanned.extensions.size();
}

// Whether the member's elements begin where its type and shape say.
bool IsArrayMember(const ScannedShard& scanned, size_t i) {
  const ShardMember& member = scanned.members[i];
  const uint32_t number = scanned.array_of_member.empty() ? 0 : scanned.array_of_member[i];
  if (number > scanned.arrays.size()) return false;
  if (number == 0) return member.array_header == 0;
  const uint64_t elements = BytesOf(scanned.arrays[number - 1]);
  return member.array_header != 0 &&
         (member.bytes == kMostBytes || member.bytes == member.array_header + elements);
}

}  // namespace

absl::Status CheckTar(const ScannedShard& scanned, uint64_t file_bytes) {
  PENSTOCK_RETURN_IF_ERROR(CheckCounts(scanned, source::kWdsImage));
  uint64_t next = 0;  // the least place of the next sample
  for (const ShardSample& sample : scanned.samples) {
    const bool first = &sample == scanned.samples.data();
    if (sample.place < next || sample.place >= scanned.members.size() ||
        (first && sample.place != 0) || sample.bytes != 0)
      return Lie("samples that overlap or are out of order");
    next = sample.place + 1;
  }
  if (scanned.samples.empty() && !scanned.members.empty()) return Lie("members without samples");
  for (const ShardMember& member : scanned.members)
    if (!IsMember(member, scanned, file_bytes)) return Lie("a member outside of the shard");
  for (const ArrayShape& array : scanned.arrays)
    if (!IsArray(array, file_bytes)) return Lie("an array that cannot be");
  for (size_t i = 0; i < scanned.members.size(); ++i)
    if (!IsArrayMember(scanned, i))
      return Lie("a member that is not the array that it is said to be");
  return absl::OkStatus();
}

absl::Status CheckRecords(const ScannedShard& scanned, uint64_t file_bytes) {
  PENSTOCK_RETURN_IF_ERROR(CheckCounts(scanned, static_cast<uint32_t>(unpack::FeatureKind::kInts)));
  if (!scanned.members.empty() || !scanned.arrays.empty()) return Lie("records with members");
  for (const ScannedShard::Extension& extension : scanned.extensions)
    if (extension.name.size() > unpack::kLongestFeatureName) return Lie("a name that is too long");
  uint64_t at = 0;
  constexpr uint64_t kAround = source::kRecordHeader + source::kRecordFooter;
  for (const ShardSample& sample : scanned.samples) {
    if (sample.place != at || kAround > file_bytes - at || sample.bytes > file_bytes - at - kAround)
      return Lie("records that are not contiguous");
    at += kAround + sample.bytes;
  }
  return at == file_bytes ? absl::OkStatus() : Lie("records that end before their file");
}

absl::Status CheckIndexed(const ScannedShard& scanned, const source::IndexTopic& topic) {
  return topic.kind == source::IndexedKind::kTar ? CheckTar(scanned, topic.shard_bytes)
                                                 : CheckRecords(scanned, topic.shard_bytes);
}

absl::Status CheckNpy(const source::NpyHeader& header) {
  if (!base::IsKnown(header.type) || header.shape.empty() ||
      header.header_bytes > source::kLongestNpyHeader)
    return Lie("an array's header that cannot be");
  uint64_t item = base::ElementBytes(header.type);
  if (!TimesAll(item, std::span(header.shape).subspan(1)) || item != header.item_bytes)
    return Lie("an array whose items have another size");
  uint64_t all = item;
  const uint64_t items[] = {header.shape[0]};
  if (!TimesAll(all, items) || all > kLongestFile - header.header_bytes)
    return Lie("an array longer than a file");
  return absl::OkStatus();
}

absl::Status CheckTokens(const source::FoundTokens& found, source::TokenFormat asked,
                         uint64_t file_bytes) {
  using source::TokenFormat;
  const source::TokenExtent& extent = found.extent;
  const bool known = found.format == TokenFormat::kRaw || found.format == TokenFormat::kLlmC ||
                     found.format == TokenFormat::kNpy;
  if (!known || (asked != TokenFormat::kAuto && asked != found.format))
    return Lie("another format than was asked for");
  if (!source::IsTokenType(extent.type)) return Lie("tokens of no type");
  if (extent.offset > file_bytes || extent.tokens == 0 ||
      extent.tokens > (file_bytes - extent.offset) / base::ElementBytes(extent.type))
    return Lie("tokens outside of the file");
  return absl::OkStatus();
}

absl::Status CheckMegatron(const source::MegatronPieces& pieces, uint64_t bin_bytes) {
  if (!source::IsTokenType(pieces.type)) return Lie("tokens of no type");
  const uint64_t token = base::ElementBytes(pieces.type);
  uint64_t left = bin_bytes;  // no token belongs to two sequences
  for (const source::MegatronPiece& piece : pieces.pieces) {
    const uint64_t bytes = piece.tokens * token;
    if (piece.byte > bin_bytes || bytes > bin_bytes - piece.byte || piece.byte % token != 0)
      return Lie("a sequence outside of the file");
    if (bytes > left) return Lie("sequences that overlap");
    left -= bytes;
  }
  return absl::OkStatus();
}

absl::Status CheckIdx(const IdxAnswer& answer, source::IdxRole role) {
  const source::IdxHeader& header = answer.header;
  const bool images = role == source::IdxRole::kImages;
  if (images ? header.dimensions != 3 && header.dimensions != 4 : header.dimensions != 1)
    return Lie("another number of dimensions");
  uint64_t item = 1;
  if (!TimesAll(item, std::span(header.sizes).first(header.dimensions).subspan(1)) ||
      item != header.item_bytes)
    return Lie("items of another size");
  uint64_t all = item;
  const uint64_t items[] = {header.sizes[0]};
  if (!TimesAll(all, items) || all > kLongestFile - source::kLongestIdxHeader)
    return Lie("items longer than a file");
  if (header.dimensions == 4 && header.sizes[3] > kMostIdxChannels) return Lie("too many channels");
  return absl::OkStatus();
}

}  // namespace penstock::indexer
