#include "server/source/annotated/coco_scan.h"

#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/source/annotated/coco_arrange.h"
#include "server/source/annotated/coco_records.h"
#include "server/source/annotated/polygon_filter.h"

namespace penstock::source {
namespace {

// The file without its polygons, as an input iterator for the JSON parser, which sees its end if
// reading fails.
struct FileBytes {
  const NextBytes& next;
  std::span<const std::byte> piece = {};  // what the parser reads
  std::span<const std::byte> rest = {};   // what comes after it
  bool ended = false;
  absl::Status status = {};
  PolygonFilter filter = {};

  // Makes sure that there is a byte; false at the end.
  bool Look() {
    while (piece.empty() && !ended) {
      if (rest.empty()) Refill();
      piece = filter.Next(rest);
    }
    return !ended;
  }
  void Refill() {
    absl::StatusOr<std::span<const std::byte>> more = next();
    if (!more.ok()) status = more.status();
    ended = !more.ok() || more->empty();
    if (!ended) rest = *more;
  }
};

class ByteIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  explicit ByteIterator(FileBytes* file = nullptr) : file_(file) {}
  char operator*() const { return static_cast<char>(file_->piece.front()); }
  ByteIterator& operator++() {
    file_->piece = file_->piece.subspan(1);
    return *this;
  }
  ByteIterator operator++(int) { return ++*this; }
  // Only with the end.
  bool operator==(const ByteIterator& end) const {
    return file_ == end.file_ || !(file_ != nullptr ? file_ : end.file_)->Look();
  }
  bool operator!=(const ByteIterator& end) const { return !(*this == end); }

 private:
  FileBytes* file_;
};

}  // namespace

absl::StatusOr<Annotations> ScanCoco(const NextBytes& next, const std::string& path,
                                     const CocoSpec& spec, const ScanWatch& watch) {
  FileBytes file{.next = next};
  CocoHandler handler(watch, [&file] { return file.filter.left_out(); });
  (void)nlohmann::json::sax_parse(ByteIterator(&file), ByteIterator(), &handler);
  PENSTOCK_RETURN_IF_ERROR(file.status);
  const absl::Status found = handler.status().ok() ? handler.Finish() : handler.status();
  if (!found.ok()) return base::Annotate(found, absl::StrCat("'", path, "'"));
  absl::StatusOr<Annotations> all = ArrangeCoco(std::move(handler.records()), spec);
  if (!all.ok()) return base::Annotate(all.status(), absl::StrCat("'", path, "'"));
  return all;
}

}  // namespace penstock::source
