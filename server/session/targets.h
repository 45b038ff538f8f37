// What a session requests that follows the image's geometry: masks, boxes, key points.
#pragma once

#include <vector>

#include "common/base/status.h"
#include "server/session/request.h"
#include "server/source/core/dataset.h"

namespace penstock::session {

// Checks the targets that `selection` resolves the request's fields to, and gives masks their size,
// which is that of the image's row. `fields`: the dataset's; `decoded`: whether the samples have
// images that workers decode.
// **Errors**: InvalidArgument names the field, and what to request instead.
absl::Status FitTargets(const Request& request, const std::vector<source::SampleField>& fields,
                        bool decoded, source::Selection& selection);

}  // namespace penstock::session
