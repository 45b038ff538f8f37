#include "server/source/annotated/note_batch.h"

#include <cstring>
#include <utility>

namespace penstock::source {
namespace {

struct Head {
  uint64_t files = 0, names_bytes = 0;
};

struct FileHead {
  uint32_t path_bytes = 0, bytes = 0;
};

absl::Status Strange() { return absl::InternalError("a batch of files that cannot be"); }

bool TakeText(absl::string_view& left, uint64_t bytes, absl::string_view& into) {
  if (bytes > left.size()) return false;
  into = left.substr(0, bytes);
  left.remove_prefix(bytes);
  return true;
}

template <typename Record>
bool TakeStruct(absl::string_view& left, Record& into) {
  absl::string_view bytes;
  if (!TakeText(left, sizeof into, bytes)) return false;
  std::memcpy(&into, bytes.data(), sizeof into);
  return true;
}

void Append(std::string& text, const void* bytes, size_t count) {
  text.append(static_cast<const char*>(bytes), count);
}

}  // namespace

void NoteBatchWriter::Add(absl::string_view path, absl::string_view content) {
  files_.push_back({.path_bytes = static_cast<uint32_t>(path.size()),
                    .bytes = static_cast<uint32_t>(content.size())});
  Append(content_, path.data(), path.size());
  Append(content_, content.data(), content.size());
}

std::string NoteBatchWriter::Finish() {
  // Takes their memory, too, because there are many writers.
  std::vector<File> files;
  std::string content;
  files.swap(files_);
  content.swap(content_);
  const Head head = {.files = files.size(), .names_bytes = names_.size()};
  std::string batch;
  batch.reserve(sizeof head + names_.size() + files.size() * sizeof(File) + content.size());
  Append(batch, &head, sizeof head);
  Append(batch, files.data(), files.size() * sizeof(File));
  batch.append(names_.data(), names_.size());
  batch += content;
  return batch;
}

absl::StatusOr<NoteBatch> ReadNoteBatch(absl::string_view bytes) {
  absl::string_view left = bytes;
  Head head;
  if (!TakeStruct(left, head) || head.files > left.size() / sizeof(FileHead)) return Strange();
  std::vector<FileHead> files(head.files);
  for (FileHead& file : files)
    if (!TakeStruct(left, file)) return Strange();
  NoteBatch batch;
  if (!TakeText(left, head.names_bytes, batch.names)) return Strange();
  for (const FileHead& file : files) {
    Note& note = batch.notes.emplace_back();
    if (!TakeText(left, file.path_bytes, note.path) || !TakeText(left, file.bytes, note.content))
      return Strange();
  }
  if (!left.empty()) return Strange();
  return batch;
}

}  // namespace penstock::source
