// Reads what a row's place holds (common/shm/row_note.h). Workers may be hijacked by the files that
// they read, so every number is checked. Pure.
#pragma once

#include <cstddef>
#include <span>

#include "client/gpu_decode/row_maker.h"
#include "common/base/status.h"
#include "penstock/finish.h"

namespace penstock::client {

// `row`: the size of the row to be made. What is returned refers to the place. **Errors**: Internal
// names the wrong number.
absl::StatusOr<gpu_decode::RowInput> ReadPlace(std::span<const std::byte> place, const Shape& row);

}  // namespace penstock::client
