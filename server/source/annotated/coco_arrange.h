// Brings the records of a COCO file into the order of samples. Pure.
#pragma once

#include "common/base/status.h"
#include "server/source/annotated/annotated_spec.h"
#include "server/source/annotated/annotations.h"
#include "server/source/annotated/coco_records.h"

namespace penstock::source {

// The images by ascending id, and the annotations of each in the file's order.
// **Errors**: InvalidArgument for ids that occur twice, unknown categories, keypoints that differ
// between categories, and a file without images.
absl::StatusOr<Annotations> ArrangeCoco(CocoRecords records, const CocoSpec& spec);

}  // namespace penstock::source
