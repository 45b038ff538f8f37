#include "server/source/images/manifest.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "common/base/check.h"
#include "server/source/files/checked_header.h"
#include "server/source/images/image_files.h"

namespace penstock::source {
namespace {

// Whether the sections described by the header fill exactly `total` bytes.
bool SizesAgree(const ManifestHeader& header, uint64_t total) {
  uint64_t left = total - sizeof header;
  if (header.samples == std::numeric_limits<uint64_t>::max()) return false;
  return TakeSection(left, header.samples + 1, sizeof(ManifestRecord)) &&
         TakeSection(left, header.folders, sizeof(FolderRecord)) &&
         TakeSection(left, header.path_bytes, 1) && TakeSection(left, header.name_bytes, 1) &&
         left == 0;
}

}  // namespace

absl::StatusOr<Manifest> Manifest::FromMapping(posix::Mapping mapping) {
  PENSTOCK_ASSIGN_OR_RETURN(
      const ManifestHeader header,
      ReadChecked<ManifestHeader>(mapping.bytes(), kManifestMagic, kManifestVersion, SizesAgree));
  if (header.samples == 0 || header.folders == 0) return DamagedIndex("it is empty");
  Manifest manifest(std::move(mapping));
  if (!manifest.IsConsistent()) return DamagedIndex("its parts contradict each other");
  return manifest;
}

// The checksum detects accidental damage. This check also protects from a forged file with a
// correct checksum.
bool Manifest::IsConsistent() const {
  const auto folders = this->folders();
  if (folders[0].first_sample != 0) return false;
  for (size_t i = 0; i < folders.size(); ++i) {
    const FolderRecord& folder = folders[i];
    const bool last = i + 1 == folders.size();
    const uint64_t end = last ? samples() : folders[i + 1].first_sample;
    const uint64_t names_end = last ? header().name_bytes : folders[i + 1].first_name;
    if (folder.path_offset > header().path_bytes ||
        folder.path_bytes > header().path_bytes - folder.path_offset || folder.first_sample > end ||
        end > samples() || folder.first_name > names_end || names_end > header().name_bytes)
      return false;
    uint64_t before = 0;
    for (uint64_t sample = folder.first_sample; sample < end; ++sample) {
      const uint64_t offset = records()[sample].name_offset;
      if (offset < before || offset > names_end - folder.first_name) return false;
      before = offset;
    }
  }
  return true;
}

const ManifestHeader& Manifest::header() const {
  return *reinterpret_cast<const ManifestHeader*>(mapping_->data());
}

std::span<const ManifestRecord> Manifest::records() const {
  const std::byte* begin = mapping_->data() + sizeof(ManifestHeader);
  return {reinterpret_cast<const ManifestRecord*>(begin), header().samples + 1};
}

std::span<const FolderRecord> Manifest::folders() const {
  const auto records = std::as_bytes(this->records());
  return {reinterpret_cast<const FolderRecord*>(records.data() + records.size()), header().folders};
}

absl::string_view Manifest::FolderPath(size_t folder) const {
  const auto folders = std::as_bytes(this->folders());
  const FolderRecord& record = this->folders()[folder];
  PENSTOCK_CHECK(record.path_offset + record.path_bytes <= header().path_bytes);
  const auto* paths = reinterpret_cast<const char*>(folders.data() + folders.size());
  return {paths + record.path_offset, record.path_bytes};
}

std::string Manifest::RelativeFolder(size_t folder) const {
  return folder == 0 ? std::string() : std::string(FolderPath(folder));
}

// The last folder whose first sample is not after this one.
const FolderRecord& Manifest::FolderOf(uint64_t sample) const {
  PENSTOCK_CHECK(sample < samples());
  const auto folders = this->folders();
  const auto next = std::upper_bound(
      folders.begin(), folders.end(), sample,
      [](uint64_t wanted, const FolderRecord& folder) { return wanted < folder.first_sample; });
  PENSTOCK_CHECK(next != folders.begin());
  return *(next - 1);
}

Manifest::SampleRange Manifest::SamplesIn(size_t folder) const {
  const auto folders = this->folders();
  const uint64_t first = folders[folder].first_sample;
  const uint64_t end = folder + 1 < folders.size() ? folders[folder + 1].first_sample : samples();
  PENSTOCK_CHECK(first <= end && end <= samples());
  return {first, end - first};
}

// The name of a folder's last sample ends where the next folder's names begin.
absl::string_view Manifest::NameIn(const FolderRecord& folder, uint64_t sample) const {
  const auto number = static_cast<size_t>(&folder - folders().data());
  const SampleRange range = SamplesIn(number);
  const bool last = sample + 1 == range.first + range.count;
  const uint64_t all_end =
      number + 1 < folders().size() ? folders()[number + 1].first_name : header().name_bytes;
  const uint64_t begin = folder.first_name + records()[sample].name_offset;
  const uint64_t end = last ? all_end : folder.first_name + records()[sample + 1].name_offset;
  PENSTOCK_CHECK(begin <= end && end <= header().name_bytes);
  const std::byte* names = mapping_->data() + mapping_->size() - header().name_bytes;
  return {reinterpret_cast<const char*>(names + begin), end - begin};
}

absl::string_view Manifest::NameOf(uint64_t sample) const {
  return NameIn(FolderOf(sample), sample);
}

std::string Manifest::RelativePath(uint64_t sample) const {
  const FolderRecord& folder = FolderOf(sample);
  return absl::StrCat(FolderPath(static_cast<size_t>(&folder - folders().data())), "/",
                      NameIn(folder, sample));
}

std::string Manifest::Identity() const {
  return absl::StrCat(absl::Hex(folders()[0].device), ".",
                      absl::Hex(header().digest, absl::kZeroPad16),
                      absl::Hex(header().states, absl::kZeroPad16));
}

uint64_t Manifest::StampAt(uint64_t sample) const {
  PENSTOCK_CHECK(sample < samples());
  return records()[sample].stamp;
}

std::optional<uint64_t> Manifest::FileBytes(uint64_t sample) const {
  PENSTOCK_CHECK(sample < samples());
  const uint32_t bytes = records()[sample].bytes;
  if (bytes == std::numeric_limits<uint32_t>::max()) return std::nullopt;
  return bytes;
}

bool Manifest::IsUnchanged(uint64_t sample, const FileState& now) const {
  return StampAt(sample) == StampOf(now);
}

std::string Manifest::FindChange(uint64_t sample, const FileState& now) const {
  return DescribeNewState(records()[sample].bytes, now);
}

// Each folder directly under the root is a class; they are in label order.
std::vector<std::string> Manifest::Classes() const {
  std::vector<std::string> classes;
  for (size_t i = 1; i < folders().size(); ++i)
    if (folders()[i].label == classes.size()) classes.emplace_back(FolderPath(i));
  return classes;
}

}  // namespace penstock::source
