#include "server/source/parse/directly.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/hash.h"
#include "common/posix/memory.h"
#include "server/source/annotated/coco_scan.h"
#include "server/source/annotated/names_scan.h"
#include "server/source/annotated/note_scan.h"
#include "server/source/arrays/megatron_index.h"
#include "server/source/files/gunzip.h"
#include "server/source/files/read_exactly.h"
#include "server/source/lists/list_scan.h"
#include "server/source/shards/index_file.h"
#include "server/source/tar/tar_scan.h"
#include "server/source/tfrecord/tfrecord_scan.h"

namespace penstock::source {
namespace {

// The first `most` bytes, or all of the file if it is shorter.
absl::StatusOr<std::vector<std::byte>> BeginningOf(const ForeignFile& file, size_t most) {
  if (file.remote == nullptr) return ReadBeginning(file.fd, file.path, file.bytes, most);
  std::vector<std::byte> begin(std::min<uint64_t>(most, file.bytes));
  if (!begin.empty()) PENSTOCK_RETURN_IF_ERROR(file.remote->Read(0, begin));
  return begin;
}

class UnpackedHere final : public UnpackedFile {
 public:
  explicit UnpackedHere(const ForeignFile& file) : gunzip_(file.fd, file.path) {}
  absl::StatusOr<size_t> Read(std::span<std::byte> into) override { return gunzip_.Read(into); }

 private:
  Gunzip gunzip_;
};

// Reads the header of a compressed file. The last byte of the magic number gives the length of the
// header's rest, so that no item is read with it.
absl::StatusOr<IdxHeader> ReadPackedHeader(const ForeignFile& file, IdxRole role,
                                           UnpackedFile& unpacked) {
  std::array<std::byte, kLongestIdxHeader> begin;
  PENSTOCK_ASSIGN_OR_RETURN(size_t bytes, unpacked.Read(std::span(begin).first(4)));
  if (bytes == 4) {
    const size_t rest = 4 * std::min<size_t>(std::to_integer<size_t>(begin[3]), 4);
    PENSTOCK_ASSIGN_OR_RETURN(const size_t more, unpacked.Read(std::span(begin).subspan(4, rest)));
    bytes += more;
  }
  return ParseIdxHeader(std::span(begin).first(bytes), role, file.path);
}

// The bytes of a file: mapped, or read if the file cannot be mapped.
class WholeFile {
 public:
  absl::Status Open(const ForeignFile& file) {
    auto mapped = posix::Mapping::Map(file.fd, file.bytes, posix::Access::kReadOnly);
    if (mapped.ok()) {
      mapping_ = *std::move(mapped);
      bytes_ = mapping_.bytes();
      return absl::OkStatus();
    }
    memory_.resize(file.bytes);
    bytes_ = memory_;
    return ReadExactly(file.fd, file.path, 0, memory_);
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  posix::Mapping mapping_;
  std::vector<std::byte> memory_;
  std::span<const std::byte> bytes_;
};

// Calls `scan` with the file's text.
template <typename Scan>
auto ScanText(const ForeignFile& file, const Scan& scan) -> decltype(scan("")) {
  if (file.bytes == 0) return scan("");
  WholeFile whole;
  PENSTOCK_RETURN_IF_ERROR(whole.Open(file));
  const std::span<const std::byte> bytes = whole.bytes();
  return scan(absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

class Direct final : public Parsers {
 public:
  absl::StatusOr<ScannedShard> ScanTar(const ForeignFile& shard, const ForeignFile* index,
                                       const TarWanted& wanted, const ScanWatch& watch) override {
    return ScanTarShard(shard, index, wanted, watch);
  }
  absl::StatusOr<std::string> TarKey(const ForeignFile& shard, uint64_t from,
                                     uint64_t offset) override {
    return ReadTarKey(shard, from, offset);
  }
  absl::StatusOr<ScannedShard> ScanRecords(const ForeignFile& file, const RecordRoles& roles,
                                           const ScanWatch& watch) override {
    return ScanRecordFile(file, roles, watch);
  }
  absl::StatusOr<ScannedShard> ReadIndex(const ForeignFile& index, const IndexTopic& topic,
                                         const IndexedShard& shard) override {
    return ScanText(index, [&](absl::string_view text) {
      return ReadIndexFile(std::as_bytes(std::span(text)), topic, shard);
    });
  }
  absl::StatusOr<NpyHeader> ReadNpy(const ForeignFile& file) override {
    PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::byte> begin,
                              BeginningOf(file, kLongestNpyHeader));
    return ParseNpyHeader(begin, file.path);
  }
  absl::StatusOr<FoundTokens> ReadTokens(const ForeignFile& file, TokenFormat format,
                                         base::DType raw_type) override {
    PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::byte> begin,
                              BeginningOf(file, kTokenBeginning));
    FoundTokens found = {.format = format == TokenFormat::kAuto ? RecogniseFormat(begin) : format};
    PENSTOCK_ASSIGN_OR_RETURN(
        found.extent,
        FindTokens(found.format, {.begin = begin, .bytes = file.bytes, .path = file.path},
                   raw_type));
    return found;
  }
  absl::StatusOr<MegatronPieces> ReadMegatron(const ForeignFile& index,
                                              const ForeignFile& bin) override {
    MegatronPieces all;
    const auto begin = [&](const MegatronFacts& facts) {
      all.type = facts.type;
      all.hash = facts.hash;
      all.pieces.reserve(facts.sequences);
      return absl::OkStatus();
    };
    const auto take = [&](std::span<const MegatronPiece> pieces) {
      all.pieces.insert(all.pieces.end(), pieces.begin(), pieces.end());
      return absl::OkStatus();
    };
    PENSTOCK_RETURN_IF_ERROR(ReadMegatronPieces(index, bin, begin, take));
    return all;
  }
  absl::StatusOr<ScannedList> ReadList(const ForeignFile& file, const ListSpec& spec,
                                       const ScanWatch& watch) override {
    return ScanText(file,
                    [&](absl::string_view text) { return ScanList(text, file.path, spec, watch); });
  }
  absl::StatusOr<ScannedList> ReadNames(const ForeignFile& file, NamesFormat format) override {
    return ScanText(file,
                    [&](absl::string_view text) { return ScanNames(text, format, file.path); });
  }
  // Reads the file from front to end, because the largest are too large to be mapped.
  absl::StatusOr<Annotations> ReadCoco(const ForeignFile& file, const CocoSpec& spec,
                                       const ScanWatch& watch) override {
    constexpr size_t kAtOnce = 1 << 20;
    std::vector<std::byte> piece(kAtOnce);
    uint64_t at = 0;
    const auto next = [&]() -> absl::StatusOr<std::span<const std::byte>> {
      PENSTOCK_ASSIGN_OR_RETURN(const size_t count, ReadSome(file.fd, file.path, at, piece));
      at += count;
      return std::span<const std::byte>(piece).first(count);
    };
    return ScanCoco(next, file.path, spec, watch);
  }
  absl::StatusOr<Annotations> ReadNotes(const ForeignFile& batch, uint64_t,
                                        NoteFormat format) override {
    return ScanText(batch, [&](absl::string_view text) { return ScanNotes(text, format); });
  }
  absl::StatusOr<CifarBatch> ReadCifar(const ForeignFile& file) override {
    return ScanText(file, [&](absl::string_view text) { return ParseCifarBatch(text, file.path); });
  }
  absl::StatusOr<IdxContent> ReadIdx(const ForeignFile& file, IdxRole role) override {
    PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::byte> begin,
                              ReadBeginning(file.fd, file.path, file.bytes, kLongestIdxHeader));
    IdxContent content;
    if (IsGzip(begin)) {
      content.items = std::make_unique<UnpackedHere>(file);
      PENSTOCK_ASSIGN_OR_RETURN(content.header, ReadPackedHeader(file, role, *content.items));
    } else {
      PENSTOCK_ASSIGN_OR_RETURN(content.header, ParseIdxHeader(begin, role, file.path));
    }
    return content;
  }
};

}  // namespace

std::shared_ptr<Parsers> DirectParsers() { return std::make_shared<Direct>(); }

absl::Status ReadMegatronPieces(const ForeignFile& index, const ForeignFile& bin,
                                const std::function<absl::Status(const MegatronFacts&)>& begin,
                                const TakePieces& take) {
  constexpr size_t kAtOnce = 4096;
  WholeFile file;
  PENSTOCK_RETURN_IF_ERROR(file.Open(index));
  PENSTOCK_ASSIGN_OR_RETURN(
      const MegatronIndex parsed,
      MegatronIndex::Parse(file.bytes(),
                           {.index = index.path, .bin = bin.path, .bin_bytes = bin.bytes}));
  PENSTOCK_RETURN_IF_ERROR(begin(
      {.type = parsed.type(), .hash = base::Hash(file.bytes()), .sequences = parsed.sequences()}));
  std::vector<MegatronPiece> pieces;
  for (uint64_t document = 0; document < parsed.documents(); ++document) {
    const uint64_t end = parsed.FirstOf(document + 1);
    for (uint64_t s = parsed.FirstOf(document); s < end; ++s) {
      pieces.push_back({.byte = parsed.ByteOf(s),
                        .tokens = static_cast<uint32_t>(parsed.TokensOf(s)),
                        .ends_document = s + 1 == end ? 1u : 0u});
      if (pieces.size() < kAtOnce) continue;
      PENSTOCK_RETURN_IF_ERROR(take(pieces));
      pieces.clear();
    }
  }
  return take(pieces);
}

}  // namespace penstock::source
