// Parses COCO's JSON files of boxes and keypoints. The caller may not trust them.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "common/base/status.h"
#include "server/source/annotated/annotated_spec.h"
#include "server/source/annotated/annotations.h"
#include "server/source/parse/parsers.h"

namespace penstock::source {

// Gives the file's bytes, piece by piece; an empty piece is its end.
using NextBytes = std::function<absl::StatusOr<std::span<const std::byte>>()>;

// `path`: the file, for messages.
// **Errors**: InvalidArgument names the record and the field, or the byte at which the text is no
// JSON; those of `next`; Cancelled.
absl::StatusOr<Annotations> ScanCoco(const NextBytes& next, const std::string& path,
                                     const CocoSpec& spec, const ScanWatch& watch);

}  // namespace penstock::source
