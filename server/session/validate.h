// All rules for a session's options. Validate checks a request alone, before its dataset is opened,
// which may take long. Fit checks the request together with its dataset. Pure.
//
// **Errors**: InvalidArgument names the field as in the protocol, the value, what is allowed, and
// what to do.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/plan/given_order.h"
#include "server/plan/mixture.h"
#include "server/session/request.h"

namespace penstock::session {

inline constexpr uint32_t kMaxBatchSize = 65'536;
inline constexpr uint32_t kMaxWorldSize = 1'048'576;
inline constexpr size_t kMaxNameBytes = 128;
inline constexpr size_t kMaxMoreImages = 15;
inline constexpr size_t kMaxFields = 32;          // per session
inline constexpr size_t kMaxDatasetBytes = 4096;  // for a name or a path
inline constexpr size_t kMaxReasonBytes = 512;
inline constexpr uint64_t kMinMadeBytes = 4096;  // for a Python dataset's batches
inline constexpr base::Duration kMaxPythonTimeout = std::chrono::hours(24);

// Whether workers decode the dataset's stored rows, which are images of bytes, as if each were a
// file.
bool DecodesStoredImages(const source::Dataset& dataset, const Request& request);

// Checks that a text can appear in logs and on terminals: at most `max_bytes`, no control
// characters.
absl::Status CheckText(absl::string_view field, absl::string_view text, size_t max_bytes);

absl::Status CheckDatasetName(absl::string_view name);

absl::Status Validate(const Request& request);

// The dataset that a request is for.
struct Target {
  const source::Dataset& dataset;
  plan::Range range;                        // the samples that the dataset's name stands for
  const plan::Mixture* mixture = nullptr;   // null unless the dataset is a mixture
  const plan::GivenOrder* given = nullptr;  // the order that `given_order` names, if any
};

// Completes the request with what follows from its dataset: range, samples of an epoch, samples of
// a shard, and the order and delivery of synthetic rows. Returns the fields that it selects.
//
// **Errors**: also those of Validate.
absl::StatusOr<source::Selection> Fit(const Target& target, Request& request);

}  // namespace penstock::session
