#include "server/source/tar/tar_sample.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "common/base/check.h"
#include "server/source/core/byte_ranges.h"
#include "server/source/files/escape.h"
#include "server/source/tar/npy_member.h"
#include "server/source/tar/tar_format.h"
#include "server/source/tar/wds_samples.h"

namespace penstock::source {
namespace {

constexpr uint32_t kThatManyAndMore = std::numeric_limits<uint32_t>::max();

constexpr size_t kLongestName = 64;  // of a field's name

// A field's name must be sendable in messages, and must not be the image's name.
bool MayBeAskedFor(const std::string& extension) {
  return !extension.empty() && extension.size() <= kLongestName && extension != kImage &&
         EscapeForDisplay(extension) == extension;
}

bool IsPicture(absl::string_view extension) {
  for (const absl::string_view kind : {"jpg", "jpeg", "png", "webp"})
    if (extension == kind || absl::EndsWith(extension, absl::StrCat(".", kind))) return true;
  return false;
}

// The first array with elements determines the type and shape of its field. The first side may
// vary, as boxes do.
void MakeArray(const ExtensionRecord& extension, TarField& field) {
  const ArrayShape& array = extension.array;
  const bool is_array = array.dimensions > 0 && array.dimensions <= array.sides.size() &&
                        base::IsKnown(static_cast<base::DType>(array.type));
  if (!is_array) return;
  field.array = true;
  field.field.type = static_cast<base::DType>(array.type);
  field.field.variable = extension.count == kAnyCount;
  field.field.list = !field.field.variable;
  const auto first = array.sides.begin() + (field.field.variable ? 1 : 0);
  field.field.shape.assign(first, array.sides.begin() + array.dimensions);
}

// Offers every extension as raw bytes, or as an array. A picture beside the image may be a mask of
// it. For other members, the name says whether they hold positions in the image.
std::vector<TarField> ToFields(const ShardManifest& manifest) {
  std::vector<TarField> fields;
  for (uint32_t i = 0; i < manifest.extensions().size(); ++i) {
    const std::string name(manifest.ExtensionName(i));
    if (!MayBeAskedFor(name)) continue;
    const bool placed = manifest.header().images > 0 && (IsPicture(name) || NamesPlaces(name));
    TarField field = {.field = {.name = name, .variable = true, .placed = placed}, .extension = i};
    if (IsNpyExtension(name)) MakeArray(manifest.extensions()[i], field);
    fields.push_back(std::move(field));
  }
  return fields;
}

// The size of one of the items of which a tensor has a variable number.
uint64_t ItemBytes(const Tensor& tensor) {
  uint64_t bytes = base::ElementBytes(tensor.type);
  for (size_t side = 1; side < tensor.shape.size(); ++side) bytes *= tensor.shape[side];
  return bytes;
}

uint64_t OffsetOf(const ShardMember& member) { return uint64_t{member.block} * kTarBlock; }

// The offset of the header after a sample's last member; 0, the start of the shard, if unknown.
uint64_t EndOf(std::span<const ShardMember> members) {
  uint64_t end = 0;
  for (const ShardMember& member : members) {
    if (member.bytes == kThatManyAndMore) return 0;
    end = std::max(end, TarDataEnd(OffsetOf(member), member.bytes));
  }
  return end;
}

absl::StatusOr<std::string> KeyOf(const TarState& state, uint64_t sample, size_t shard) {
  PENSTOCK_ASSIGN_OR_RETURN(const ShardFiles::Handle file, state.files.Open(shard));
  const ShardRecord& record = state.manifest.shards()[shard];
  const bool is_first = sample == record.first_sample;
  const uint64_t from = is_first ? 0 : EndOf(state.manifest.MembersOf(sample - 1));
  uint64_t first = std::numeric_limits<uint64_t>::max();
  for (const ShardMember& member : state.manifest.MembersOf(sample))
    first = std::min(first, OffsetOf(member));
  const ForeignFile opened = {.fd = *file,
                              .path = state.files.path(shard),
                              .bytes = record.state.bytes,
                              .remote = state.files.remote(shard)};
  return state.parsers->TarKey(opened, from, first);
}

class TarReader final : public Dataset::Reader {
 public:
  explicit TarReader(std::shared_ptr<const TarState> state) : state_(std::move(state)) {}

  absl::StatusOr<Opened> Open(uint64_t sample) override {
    opened_.reset();
    PENSTOCK_ASSIGN_OR_RETURN(opened_, TarSample::Open(*state_, sample));
    const ShardMember* image = opened_->image();
    if (image == nullptr) return Opened{0, base::Fault::kNotAnImage};
    if (image->bytes == 0) return Opened{0, base::Fault::kEmpty};
    return Opened{image->bytes, base::Fault::kNone};
  }

  absl::Status Read(std::span<std::byte> into) override {
    PENSTOCK_CHECK(opened_ && opened_->image() != nullptr &&
                   into.size() == opened_->image()->bytes);
    absl::Status status = opened_->Read(*opened_->image(), 0, into);
    if (status.ok()) status = opened_->CheckUnchanged();
    opened_.reset();
    return status;
  }

  absl::StatusOr<Opened> OpenMask(const Selection& selection, size_t i) override {
    const ShardMember* const mask = FindMask(selection, i);
    if (mask == nullptr) return Opened{0, base::Fault::kMissing};
    return Opened{mask->bytes, base::Fault::kNone};
  }

  absl::Status ReadMask(const Selection& selection, size_t i, std::span<std::byte> into) override {
    const ShardMember* const mask = FindMask(selection, i);
    PENSTOCK_CHECK(mask != nullptr && into.size() == mask->bytes);
    return opened_->Read(*mask, 0, into);
  }

  absl::StatusOr<base::Fault> ReadFields(const Selection& selection,
                                         std::span<std::byte* const> rows) override {
    PENSTOCK_CHECK(opened_.has_value());
    base::Fault fault = base::Fault::kNone;
    for (size_t i = 0; i < selection.fields.size() && fault == base::Fault::kNone; ++i) {
      if (IsMask(selection, i)) continue;
      const Tensor& tensor = selection.layout.tensors[i];
      const TarSample::FieldRows into = {
          .values = rows[tensor.block],
          .length = tensor.lengths_block ? rows[*tensor.lengths_block] : nullptr};
      PENSTOCK_ASSIGN_OR_RETURN(fault,
                                opened_->Fill(state_->fields[selection.fields[i]], tensor, into));
    }
    PENSTOCK_RETURN_IF_ERROR(opened_->CheckUnchanged());
    return fault;
  }

 private:
  const ShardMember* FindMask(const Selection& selection, size_t i) const {
    PENSTOCK_CHECK(opened_.has_value());
    return opened_->Find(state_->fields[selection.fields[i]].extension);
  }

  std::shared_ptr<const TarState> state_;  // shared with the dataset and its other readers
  std::optional<TarSample> opened_;
};

}  // namespace

TarState::TarState(std::vector<TreeFile> shards, ShardManifest from,
                   std::shared_ptr<Parsers> parsers)
    : files(std::move(shards), from.States()),
      manifest(std::move(from)),
      fields(ToFields(manifest)),
      parsers(std::move(parsers)) {}

std::string TarState::FindDisplayPath(uint64_t sample) const {
  const size_t shard = manifest.ShardOf(sample);
  const absl::StatusOr<std::string> key = KeyOf(*this, sample, shard);
  if (!key.ok()) return DisplayPath(sample);
  return absl::StrCat(EscapeForDisplay(files.path(shard)), "#", *key);
}

std::vector<RemotePiece> TarState::FindPieces(uint64_t sample, const Selection& selection) const {
  std::vector<RemotePiece> pieces;
  for (const ShardMember& member : manifest.MembersOf(sample)) {
    const bool is_wanted =
        manifest.extensions()[member.extension].kind == kWdsImage ||
        std::any_of(selection.fields.begin(), selection.fields.end(),
                    [&](uint32_t field) { return fields[field].extension == member.extension; });
    if (is_wanted) pieces.push_back({.offset = OffsetOf(member), .bytes = member.bytes});
  }
  return pieces;
}

std::vector<RemotePiece> TarState::AllPieces(uint64_t sample) const {
  Selection all;
  for (uint32_t i = 0; i < fields.size(); ++i) all.fields.push_back(i);
  return FindPieces(sample, all);
}

std::string TarState::DisplayPath(uint64_t sample) const {
  const size_t shard = manifest.ShardOf(sample);
  return absl::StrCat(EscapeForDisplay(files.path(shard)), "#sample ",
                      sample - manifest.shards()[shard].first_sample);
}

absl::StatusOr<TarSample> TarSample::Open(const TarState& state, uint64_t sample) {
  const size_t shard = state.manifest.ShardOf(sample);
  PENSTOCK_ASSIGN_OR_RETURN(ShardFiles::Handle file, state.files.Open(shard));
  return TarSample(state, sample, shard, std::move(file));
}

const ShardMember* TarSample::image() const {
  const ShardMember& first = state_->manifest.MembersOf(sample_).front();
  return state_->manifest.extensions()[first.extension].kind == kWdsImage ? &first : nullptr;
}

const ShardMember* TarSample::Find(uint32_t extension) const {
  for (const ShardMember& member : state_->manifest.MembersOf(sample_))
    if (member.extension == extension) return &member;
  return nullptr;
}

absl::Status TarSample::Read(const ShardMember& member, uint64_t from,
                             std::span<std::byte> into) const {
  const RemotePiece piece = {.offset = OffsetOf(member), .bytes = member.bytes};
  return state_->files.Read(file_, shard_, piece, from, into);
}

absl::Status TarSample::CheckUnchanged() const {
  return state_->files.CheckUnchanged(file_, shard_);
}

absl::StatusOr<base::Fault> TarSample::Fill(const TarField& field, const Tensor& tensor,
                                            FieldRows rows) const {
  const ShardMember* member = Find(field.extension);
  if (member == nullptr) return base::Fault::kMissing;
  if (field.array) return FillArray(*member, tensor, rows);
  const uint64_t most = tensor.bytes();
  if (member->bytes > most) return base::Fault::kTooLong;
  PENSTOCK_RETURN_IF_ERROR(Read(*member, 0, {rows.values, member->bytes}));
  std::memset(rows.values + member->bytes, 0, most - member->bytes);
  const auto length = static_cast<int32_t>(member->bytes);
  std::memcpy(rows.length, &length, sizeof length);
  return base::Fault::kNone;
}

// The scan has checked that the array has the field's type and shape, but for the first side, and
// that the member ends with its elements.
absl::StatusOr<base::Fault> TarSample::FillArray(const ShardMember& member, const Tensor& tensor,
                                                 FieldRows rows) const {
  const uint32_t header = member.array_header;
  if (header == 0 || member.bytes < header) return base::Fault::kMalformed;
  const uint64_t bytes = member.bytes - header, most = tensor.bytes(), item = ItemBytes(tensor);
  const bool varies = rows.length != nullptr;
  if (varies ? bytes % item != 0 : bytes != most) return base::Fault::kMalformed;
  if (bytes > most) return base::Fault::kTooLong;
  PENSTOCK_RETURN_IF_ERROR(Read(member, header, {rows.values, bytes}));
  if (!varies) return base::Fault::kNone;
  std::memset(rows.values + bytes, 0, most - bytes);
  const auto length = static_cast<int32_t>(bytes / item);
  std::memcpy(rows.length, &length, sizeof length);
  return base::Fault::kNone;
}

std::unique_ptr<Dataset::Reader> MakeTarReader(std::shared_ptr<const TarState> state) {
  return std::make_unique<TarReader>(std::move(state));
}

}  // namespace penstock::source
