#include "server/source/shards/index_file.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/check.h"
#include "server/source/files/checked_header.h"
#include "server/source/files/escape.h"
#include "server/source/tfrecord/record_roles.h"

namespace penstock::source {
namespace {

constexpr uint64_t kMostFileBytes = uint64_t{64} << 20;
constexpr uint64_t kSmallFileBytes = uint64_t{1} << 20;

class IndexText {
 public:
  template <typename Record>
  void PutAll(const std::vector<Record>& records) {
    if (records.empty()) return;
    text_.append(reinterpret_cast<const char*>(records.data()), records.size() * sizeof(Record));
  }
  void Put(absl::string_view text) { absl::StrAppend(&text_, text); }
  template <typename Record>
  void PutOne(const Record& record) {
    text_.append(reinterpret_cast<const char*>(&record), sizeof record);
  }
  std::string Take() && { return std::move(text_); }

 private:
  std::string text_ = std::string(sizeof(IndexFileHeader), '\0');
};

// "PATH#KEY" without the path.
absl::string_view ExampleBehind(absl::string_view example, absl::string_view path) {
  if (!absl::ConsumePrefix(&example, EscapeForDisplay(std::string(path)))) return "";
  return example.substr(0, kLongestIndexText);
}

IndexFileHeader MakeIndexHeader(const ScannedShard& scanned, const IndexTopic& topic) {
  IndexFileHeader header = {.kind = static_cast<uint32_t>(topic.kind),
                            .shard_bytes = topic.shard_bytes,
                            .samples = scanned.samples.size(),
                            .members = scanned.members.size(),
                            .extensions = scanned.extensions.size(),
                            .arrays = scanned.arrays.size(),
                            .numbered = scanned.array_of_member.size(),
                            .images = scanned.images,
                            .labeled = scanned.labeled,
                            .digest = scanned.digest};
  std::memcpy(header.magic, kIndexFileMagic, sizeof header.magic);
  header.version = kIndexFileVersion;
  return header;
}

}  // namespace

std::string ToTarRoles(absl::string_view image, absl::string_view label) {
  if (label == "none") return absl::StrCat("image=", absl::AsciiStrToLower(image), " no label");
  return absl::StrCat("image=", absl::AsciiStrToLower(image),
                      " label=", label.empty() ? "cls" : absl::AsciiStrToLower(label));
}

std::string ToRecordRoles(absl::string_view image, absl::string_view label) {
  const RecordRoles roles = RecordRoles::Of(std::string(image), std::string(label));
  return absl::StrCat("image=", roles.image,
                      roles.label.empty() ? " no label" : absl::StrCat(" label=", roles.label));
}

uint64_t MostIndexFileBytes(uint64_t shard_bytes) {
  return kSmallFileBytes + std::min(shard_bytes, kMostFileBytes - kSmallFileBytes);
}

std::string WriteIndexFile(const ScannedShard& scanned, const IndexTopic& topic,
                           std::span<const std::string> versions, absl::string_view path) {
  PENSTOCK_CHECK(!versions.empty() && versions.size() <= kMostIndexVersions);
  const absl::string_view example = ExampleBehind(scanned.example, path);
  IndexFileHeader header = MakeIndexHeader(scanned, topic);
  header.versions = static_cast<uint32_t>(versions.size());
  header.roles_bytes = static_cast<uint32_t>(topic.roles.size());
  header.example_bytes = static_cast<uint32_t>(example.size());
  header.text_bytes = header.roles_bytes + header.example_bytes;
  IndexText text;
  for (const std::string& version : versions) {
    PENSTOCK_CHECK(version.size() <= kLongestIndexText);
    text.PutOne(static_cast<uint32_t>(version.size()));
    header.text_bytes += version.size();
  }
  for (const ScannedShard::Extension& extension : scanned.extensions) {
    text.PutOne(IndexFileExtension{.kind = extension.kind,
                                   .array = extension.array,
                                   .first_sample = extension.first_sample,
                                   .samples = extension.samples,
                                   .least = extension.least,
                                   .most = extension.most,
                                   .name_bytes = extension.name.size()});
    header.text_bytes += extension.name.size();
  }
  text.PutAll(scanned.samples);
  text.PutAll(scanned.members);
  text.PutAll(scanned.arrays);
  text.PutAll(scanned.array_of_member);
  text.Put(topic.roles);
  text.Put(example);
  for (const std::string& version : versions) text.Put(version);
  for (const ScannedShard::Extension& extension : scanned.extensions) text.Put(extension.name);
  std::string file = std::move(text).Take();
  WriteChecked(header, std::as_writable_bytes(std::span(file)));
  return file;
}

}  // namespace penstock::source
