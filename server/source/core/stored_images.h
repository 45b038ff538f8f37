// Stored rows that are images of bytes, read as if each were a file: a worker then decodes and
// changes it like any other. The file is a PPM or PGM: a few bytes of header before the pixels.
#pragma once

#include <memory>
#include <optional>

#include "server/source/core/dataset.h"
#include "server/source/core/row_layout.h"

namespace penstock::source {

// The size of a dataset's images, if its rows are images of bytes that CopyRows gives, with one
// channel or three.
std::optional<RowShape> StoredImages(const Dataset& dataset);

// **Requires**: StoredImages(dataset). The dataset outlives the reader.
std::unique_ptr<Dataset::Reader> NewStoredImageReader(const Dataset& dataset);

}  // namespace penstock::source
