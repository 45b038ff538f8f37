// Many small annotation files in one, so that an indexer gets them with one question: YOLO's texts
// and VOC's XML, one for each image. The opener writes a batch; the indexer reads it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::source {

enum class NoteFormat : uint32_t { kYolo = 0, kVoc = 1 };

class NoteBatchWriter {
 public:
  // `names`: the classes, one per line, for kVoc. They outlive the writer: there are many of them.
  explicit NoteBatchWriter(absl::string_view names) : names_(names) {}

  // `path`: for messages.
  void Add(absl::string_view path, absl::string_view content);
  size_t files() const { return files_.size(); }
  size_t content_bytes() const { return content_.size(); }
  // The batch so far; then begins another one.
  std::string Finish();

 private:
  struct File {
    uint32_t path_bytes = 0, bytes = 0;
  };

  const absl::string_view names_;
  std::vector<File> files_;
  std::string content_;  // each file's path and content
};

struct Note {
  absl::string_view path, content;
};

struct NoteBatch {
  absl::string_view names;
  std::vector<Note> notes = {};
};

// **Errors**: Internal if the opener cannot have written the batch.
absl::StatusOr<NoteBatch> ReadNoteBatch(absl::string_view bytes);

}  // namespace penstock::source
