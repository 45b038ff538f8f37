#include "server/source/tfrecord/tfrecord_scan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "common/base/hash.h"
#include "server/source/files/escape.h"
#include "server/source/parse/scan_steps.h"
#include "server/source/shards/shard_window.h"
#include "server/source/tar/tar_format.h"
#include "server/source/tfrecord/tfrecord_format.h"
#include "server/unpack/example.h"

namespace penstock::source {
namespace {

using unpack::ExampleBytes;
using unpack::Feature;
using unpack::FeatureKind;
using unpack::kMostFeatures;

// A record's data, read from the file.
class ExampleInFile final : public ExampleBytes {
 public:
  ExampleInFile(ShardWindow& window, uint64_t offset, uint64_t bytes)
      : window_(window), offset_(offset), bytes_(bytes) {}
  uint64_t bytes() const override { return bytes_; }
  absl::StatusOr<std::span<const std::byte>> Read(uint64_t offset, uint64_t count) override {
    return window_.Read(offset_ + offset, count);
  }

 private:
  ShardWindow& window_;
  const uint64_t offset_, bytes_;
};

class RecordScanner {
 public:
  RecordScanner(const ForeignFile& file, const RecordRoles& roles, const ScanWatch& watch)
      : file_(file), path_(file.path), roles_(roles), steps_(watch) {
    digest_.Add(roles.image);  // a different image feature means different rows
  }

  absl::StatusOr<ScannedShard> Scan() {
    ShardWindow window(file_);
    PENSTOCK_RETURN_IF_ERROR(CheckNotCompressed(window, file_.bytes));
    for (uint64_t at = 0; at < file_.bytes;) {
      PENSTOCK_ASSIGN_OR_RETURN(at, ScanRecord(window, at, file_.bytes));
    }
    scanned_.digest = digest_.Digest();
    return std::move(scanned_);
  }

 private:
  absl::Status CheckNotCompressed(ShardWindow& window, uint64_t file_bytes) const {
    PENSTOCK_ASSIGN_OR_RETURN(const auto begin, window.Read(0, std::min<uint64_t>(6, file_bytes)));
    const absl::string_view compression = CompressionOf(begin);
    // The length of a record of a few hundred bytes may look like zlib's header; the checksum
    // decides such cases.
    if (compression != "gzip") return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path_,
        "' is compressed (gzip), so no record in it can be reached "
        "without unpacking all that precedes it; unpack it, or write it without compression"));
  }

  // Scans one record and returns the offset of the next.
  absl::StatusOr<uint64_t> ScanRecord(ShardWindow& window, uint64_t at, uint64_t file_bytes) {
    PENSTOCK_ASSIGN_OR_RETURN(const auto header,
                              window.Read(at, std::min<uint64_t>(kRecordHeader, file_bytes - at)));
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t bytes,
                              ParseRecordHeader(header, {path_, at, file_bytes}));
    if (bytes >= std::numeric_limits<uint32_t>::max())
      return Wrong(at, absl::StrCat("a record has ", bytes, " bytes; the limit is 4 GiB"));
    steps_.Note({.offset = at + kRecordHeader, .bytes = bytes});
    ExampleInFile example(window, at + kRecordHeader, bytes);
    const absl::Status added = Add(example, {.place = at, .bytes = static_cast<uint32_t>(bytes)});
    if (absl::IsInvalidArgument(added)) return Wrong(at, added.message());
    PENSTOCK_RETURN_IF_ERROR(added);
    PENSTOCK_RETURN_IF_ERROR(steps_.Add(1));
    const uint64_t end = at + kRecordHeader + bytes;
    PENSTOCK_ASSIGN_OR_RETURN(const auto footer, window.Read(end, kRecordFooter));
    digest_.Add({reinterpret_cast<const char*>(footer.data()), footer.size()});
    return end + kRecordFooter;
  }

  absl::Status Wrong(uint64_t at, absl::string_view why) const {
    return absl::InvalidArgumentError(absl::StrCat("'", path_, "' at byte ", at, ": ", why));
  }

  absl::Status Add(ExampleBytes& example, ShardSample sample) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::vector<Feature> features, ParseExample(example));
    bool has_label = false;
    digest_.Add(uint64_t{sample.bytes});
    for (const Feature& feature : features) {
      PENSTOCK_RETURN_IF_ERROR(Count(example, feature));
      if (feature.name == roles_.image && feature.kind == FeatureKind::kBytes) ++scanned_.images;
      if (feature.name != roles_.label || roles_.label.empty()) continue;
      PENSTOCK_ASSIGN_OR_RETURN(sample.label, LabelOf(example, feature));
      has_label = true;
      ++scanned_.labeled;
      digest_.Add(static_cast<uint64_t>(sample.label));
    }
    if (!has_label && scanned_.example.empty())
      scanned_.example = absl::StrCat(path_, "#", scanned_.samples.size());
    scanned_.samples.push_back(sample);
    return absl::OkStatus();
  }

  static absl::StatusOr<int32_t> LabelOf(ExampleBytes& example, const Feature& feature) {
    int64_t label = 0;
    uint64_t count = 0;
    if (feature.kind == FeatureKind::kInts) {
      PENSTOCK_ASSIGN_OR_RETURN(count, ReadInts(example, feature, std::span(&label, 1)));
    }
    if (count != 1 || label != static_cast<int32_t>(label))
      return absl::InvalidArgumentError(
          absl::StrCat("the feature '", EscapeForDisplay(feature.name),
                       "' is not a label: wanted one 32-bit integer; choose another feature "
                       "(label: …), or none (label: none)"));
    return static_cast<int32_t>(label);
  }

  absl::Status Count(ExampleBytes& example, const Feature& feature) {
    if (feature.kind == FeatureKind::kNone) return absl::OkStatus();
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t count, CountValues(example, feature));
    const auto [at, is_new] = numbers_.try_emplace(feature.name, scanned_.extensions.size());
    if (is_new)
      scanned_.extensions.push_back({.name = feature.name,
                                     .kind = static_cast<uint32_t>(feature.kind),
                                     .first_sample = scanned_.samples.size(),
                                     .least = count,
                                     .most = count});
    if (scanned_.extensions.size() > kMostFeatures)
      return absl::InvalidArgumentError(
          absl::StrCat("more than ", kMostFeatures, " feature names in one file"));
    ScannedShard::Extension& known = scanned_.extensions[at->second];
    if (known.kind != static_cast<uint32_t>(feature.kind)) known.kind = 0;
    ++known.samples;
    known.least = std::min(known.least, count);
    known.most = std::max(known.most, count);
    return absl::OkStatus();
  }

  const ForeignFile& file_;
  const std::string& path_;
  const RecordRoles& roles_;
  ScanSteps steps_;
  std::map<std::string, size_t> numbers_;
  ScannedShard scanned_;
  base::Hasher digest_;
};

}  // namespace

absl::StatusOr<ScannedShard> ScanRecordFile(const ForeignFile& file, const RecordRoles& roles,
                                            const ScanWatch& watch) {
  return RecordScanner(file, roles, watch).Scan();
}

}  // namespace penstock::source
