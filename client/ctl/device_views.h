// Table cells about GPUs and about the delivery of batches. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "penstock/v1/admin.pb.h"

namespace penstock::ctl {

// One row for each GPU, at most `columns` wide (0: no limit).
std::string GpusTable(const v1::GetStatusResponse& status, size_t columns = 0);

// For example "host", or "device by ipc, 2 of 3 batches there, on GPU-8f1c…".
std::string DeliveryWords(const v1::SessionStatus& session);

}  // namespace penstock::ctl
