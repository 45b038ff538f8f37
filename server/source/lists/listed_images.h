// The files of an ImageList, for what reads them.
// **Thread safety**: immutable except for `changed`; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "common/base/check.h"
#include "server/source/images/image_files.h"
#include "server/source/lists/image_list.h"

namespace penstock::source {

class ListedImages final : public ImageFiles {
 public:
  ListedImages(Tree tree, ImageList from) : ImageFiles(std::move(tree)), list(std::move(from)) {}

  std::string RelativePath(uint64_t sample) const override {
    return std::string(list.PathOf(sample));
  }
  uint64_t StampAt(uint64_t sample) const override { return FileOf(sample).stamp; }
  std::string FindChange(uint64_t sample, const FileState& now) const override {
    return DescribeNewState(FileOf(sample).bytes, now);
  }
  const ListedFile& FileOf(uint64_t sample) const {
    PENSTOCK_CHECK(sample < list.files.size());
    return list.files[sample];
  }
  // See Dataset. Uses stat(2) only.
  bool IsUnchanged(uint64_t sample) const;
  std::optional<Extent> FindExtent(uint64_t sample) const;

  const ImageList list;
};

}  // namespace penstock::source
