#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/source/files/checked_header.h"
#include "server/source/files/escape.h"
#include "server/source/shards/index_file.h"
#include "server/source/tar/tar_format.h"

namespace penstock::source {
namespace {

constexpr uint64_t kSmallestIndexed = 16;  // bytes of a record in a TFRecord file
constexpr size_t kVersionsShown = 3;

// Whether the counts can be those of a shard of that size, and fill the file.
bool IndexSizesAgree(const IndexFileHeader& header, uint64_t total) {
  const bool are_possible =
      header.samples <= header.shard_bytes / kSmallestIndexed &&
      header.members <= header.shard_bytes / kTarBlock && header.extensions <= kMostExtensions &&
      header.arrays <= header.members &&
      (header.numbered == 0 || header.numbered == header.members) &&
      header.versions <= kMostIndexVersions && header.roles_bytes <= kLongestIndexText &&
      header.example_bytes <= kLongestIndexText;
  uint64_t left = total - sizeof header;
  return are_possible && TakeSection(left, header.versions, sizeof(uint32_t)) &&
         TakeSection(left, header.extensions, sizeof(IndexFileExtension)) &&
         TakeSection(left, header.samples, sizeof(ShardSample)) &&
         TakeSection(left, header.members, sizeof(ShardMember)) &&
         TakeSection(left, header.arrays, sizeof(ArrayShape)) &&
         TakeSection(left, header.numbered, sizeof(uint32_t)) &&
         TakeSection(left, header.text_bytes, 1) && left == 0;
}

// Reads the file from its beginning to its end. The sizes of sections are checked before; those of
// texts, which the sections give, are not.
class IndexCursor {
 public:
  explicit IndexCursor(std::span<const std::byte> rest) : rest_(rest) {}

  template <typename Record>
  std::vector<Record> TakeAll(uint64_t count) {
    std::vector<Record> records(count);
    if (count > 0) std::memcpy(records.data(), rest_.data(), count * sizeof(Record));
    rest_ = rest_.subspan(count * sizeof(Record));
    return records;
  }
  absl::StatusOr<std::string> TakeText(uint64_t bytes) {
    if (bytes > rest_.size()) return DamagedIndex("its texts are longer than it");
    std::string text(reinterpret_cast<const char*>(rest_.data()), bytes);
    rest_ = rest_.subspan(bytes);
    return text;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
};

class IndexFileReader {
 public:
  IndexFileReader(std::span<const std::byte> file, const IndexTopic& topic,
                  const IndexedShard& shard)
      : file_(file), topic_(topic), shard_(shard), cursor_({}) {}

  absl::StatusOr<ScannedShard> Read() {
    PENSTOCK_ASSIGN_OR_RETURN(
        header_,
        ReadChecked<IndexFileHeader>(file_, kIndexFileMagic, kIndexFileVersion, IndexSizesAgree));
    if (header_.kind != static_cast<uint32_t>(topic_.kind))
      return absl::FailedPreconditionError("it is of a shard of another kind");
    if (header_.shard_bytes != topic_.shard_bytes)
      return absl::FailedPreconditionError(
          absl::StrCat("it is of another version of the shard: of one with ", header_.shard_bytes,
                       " bytes, and this one has ", topic_.shard_bytes));
    cursor_ = IndexCursor(file_.subspan(sizeof header_));
    const auto version_bytes = cursor_.TakeAll<uint32_t>(header_.versions);
    const auto extensions = cursor_.TakeAll<IndexFileExtension>(header_.extensions);
    ScannedShard scanned = TakeRecords();
    PENSTOCK_RETURN_IF_ERROR(CheckRoles());
    PENSTOCK_ASSIGN_OR_RETURN(scanned.example, cursor_.TakeText(header_.example_bytes));
    if (!scanned.example.empty()) scanned.example = absl::StrCat(shard_.path, scanned.example);
    PENSTOCK_RETURN_IF_ERROR(CheckIndexedVersion(version_bytes));
    PENSTOCK_RETURN_IF_ERROR(TakeExtensions(extensions, scanned));
    if (!cursor_.at_end()) return DamagedIndex("its texts are shorter than its header says");
    return scanned;
  }

 private:
  ScannedShard TakeRecords() {
    ScannedShard scanned;
    scanned.images = header_.images;
    scanned.labeled = header_.labeled;
    scanned.digest = header_.digest;
    scanned.samples = cursor_.TakeAll<ShardSample>(header_.samples);
    scanned.members = cursor_.TakeAll<ShardMember>(header_.members);
    scanned.arrays = cursor_.TakeAll<ArrayShape>(header_.arrays);
    scanned.array_of_member = cursor_.TakeAll<uint32_t>(header_.numbered);
    return scanned;
  }

  absl::Status CheckRoles() {
    PENSTOCK_ASSIGN_OR_RETURN(const std::string roles, cursor_.TakeText(header_.roles_bytes));
    if (roles == topic_.roles) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat("it was made for '", EscapeForDisplay(roles),
                                                      "', wanted '", EscapeForDisplay(topic_.roles),
                                                      "'"));
  }

  absl::Status CheckIndexedVersion(const std::vector<uint32_t>& bytes) {
    std::vector<std::string> versions;
    for (const uint32_t each : bytes) {
      PENSTOCK_ASSIGN_OR_RETURN(std::string version, cursor_.TakeText(each));
      versions.push_back(EscapeForDisplay(version));
      if (!version.empty() && version == shard_.version) is_of_version_ = true;
    }
    if (is_of_version_) return absl::OkStatus();
    const size_t shown = std::min(versions.size(), kVersionsShown);
    const std::string names = absl::StrJoin(versions.begin(), versions.begin() + shown, "', '");
    const std::string more =
        versions.size() > shown ? absl::StrCat(" or ", versions.size() - shown, " more") : "";
    return absl::FailedPreconditionError(absl::StrCat("it is of another version of the shard: of '",
                                                      names, "'", more, ", and this one is '",
                                                      EscapeForDisplay(shard_.version), "'"));
  }

  absl::Status TakeExtensions(const std::vector<IndexFileExtension>& extensions,
                              ScannedShard& scanned) {
    for (const IndexFileExtension& each : extensions) {
      PENSTOCK_ASSIGN_OR_RETURN(std::string name, cursor_.TakeText(each.name_bytes));
      scanned.extensions.push_back({.name = std::move(name),
                                    .kind = each.kind,
                                    .first_sample = each.first_sample,
                                    .samples = each.samples,
                                    .least = each.least,
                                    .most = each.most,
                                    .array = each.array});
    }
    return absl::OkStatus();
  }

  const std::span<const std::byte> file_;
  const IndexTopic& topic_;
  const IndexedShard& shard_;
  IndexFileHeader header_;
  IndexCursor cursor_;
  bool is_of_version_ = false;
};

}  // namespace

absl::StatusOr<ScannedShard> ReadIndexFile(std::span<const std::byte> file, const IndexTopic& topic,
                                           const IndexedShard& shard) {
  return IndexFileReader(file, topic, shard).Read();
}

}  // namespace penstock::source
