// Where DALI's wds2idx puts a shard's index. Pure.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace penstock::source {

// The file name that wds2idx uses: the shard's name up to its first dot, plus .idx.
inline std::string WdsIndexNameOf(absl::string_view shard) {
  const size_t slash = shard.rfind('/');
  const size_t begin = slash == absl::string_view::npos ? 0 : slash + 1;
  return absl::StrCat(shard.substr(0, shard.find('.', begin + 1)), ".idx");
}

}  // namespace penstock::source
