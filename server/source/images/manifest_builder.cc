#include "server/source/images/manifest_builder.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "common/base/hash.h"
#include "server/source/files/checked_header.h"
#include "server/source/files/index_memory.h"

namespace penstock::source {
namespace {

ManifestHeader HeaderFor(const std::string& root, const Scan& scan) {
  ManifestHeader header;
  std::memcpy(header.magic, kManifestMagic, sizeof header.magic);
  header.version = kManifestVersion;
  header.folders = scan.folders.size();
  header.path_bytes = root.size();
  for (const ScannedFolder& folder : scan.folders) {
    header.samples += folder.files.size();
    header.path_bytes += folder.path.size();
    header.name_bytes += folder.names.size() - folder.files.size();  // without the NUL bytes
  }
  return header;
}

size_t BytesOf(const ManifestHeader& header) {
  return sizeof header + (header.samples + 1) * sizeof(ManifestRecord) +
         header.folders * sizeof(FolderRecord) + header.path_bytes + header.name_bytes;
}

// Fills all sections in parallel, one folder at a time.
class Writer {
 public:
  Writer(const ManifestHeader& header, std::byte* at)
      : records_(reinterpret_cast<ManifestRecord*>(at + sizeof header)),
        folders_(reinterpret_cast<FolderRecord*>(records_ + header.samples + 1)),
        paths_(reinterpret_cast<char*>(folders_ + header.folders)),
        names_(paths_ + header.path_bytes) {}

  void Add(const ScannedFolder& folder, absl::string_view path) {
    if (!folder.path.empty() && folder.path.find('/') == std::string::npos) ++label_;
    folders_[folder_++] = {.path_offset = path_at_,
                           .path_bytes = static_cast<uint32_t>(path.size()),
                           .label = label_,
                           .first_sample = sample_,
                           .entries = folder.entries,
                           .mtime_ns = folder.mtime_ns,
                           .first_name = name_at_,
                           .device = folder.device,
                           .inode = folder.inode};
    std::memcpy(paths_ + path_at_, path.data(), path.size());
    path_at_ += path.size();
    const uint64_t first_name = name_at_;
    for (const ScannedFile& file : folder.files)
      Add(folder.path, folder.NameOf(file), file, first_name);
  }

  void Finish(ManifestHeader& header) {
    records_[sample_] = {};
    header.digest = digest_.Digest();
    header.states = states_.Digest();
  }

 private:
  void Add(absl::string_view folder, absl::string_view name, const ScannedFile& file,
           uint64_t first_name) {
    constexpr uint64_t kLargest = std::numeric_limits<uint32_t>::max();
    records_[sample_++] = {static_cast<uint32_t>(name_at_ - first_name),
                           static_cast<uint32_t>(std::min(file.bytes, kLargest)), file.stamp};
    std::memcpy(names_ + name_at_, name.data(), name.size());
    name_at_ += name.size();
    digest_.Add(folder);
    digest_.Add(name);
    digest_.Add(file.bytes);
    digest_.Add(uint64_t{label_});
    states_.Add(file.stamp);
  }

  ManifestRecord* records_;
  FolderRecord* folders_;
  char* paths_;
  char* names_;
  size_t folder_ = 0;
  uint64_t sample_ = 0, path_at_ = 0, name_at_ = 0;
  uint32_t label_ = kNoLabel;  // the first class increments it to 0
  base::Hasher digest_, states_;
};

}  // namespace

absl::StatusOr<Manifest> BuildManifest(const std::string& root, Scan scan) {
  ManifestHeader header = HeaderFor(root, scan);
  PENSTOCK_RETURN_IF_ERROR(CheckIndexMemory(BytesOf(header), root));
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd memory,
                            posix::MakeMemory("penstock-manifest", BytesOf(header)));
  PENSTOCK_ASSIGN_OR_RETURN(posix::Mapping mapping, posix::Mapping::Map(memory, BytesOf(header),
                                                                        posix::Access::kReadWrite));
  Writer writer(header, mapping.data());
  for (ScannedFolder& folder : scan.folders) {
    writer.Add(folder, folder.path.empty() ? root : folder.path);
    folder = ScannedFolder();
  }
  writer.Finish(header);
  WriteChecked(header, {mapping.data(), mapping.size()});
  return Manifest::FromMapping(std::move(mapping));
}

}  // namespace penstock::source
