// A client's request to open a session. This is the daemon's only type for it: server/rpc reads it
// from the message, and the engine opens a session with it. Each option of a session is a member
// here; validate.cc has the rules for its values.
//
// **Thread safety**: plain values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/clock.h"
#include "server/decode/core/spec.h"
#include "server/export/device_request.h"
#include "server/plan/plan.h"
#include "server/plan/windows.h"
#include "server/session/trace_context.h"
#include "server/source/core/dataset.h"

namespace penstock::session {

// How batches reach the consumer.
enum class Delivery { kHost, kPinned, kDevice };
// "host", "pinned" or "device".
absl::string_view DeliveryName(Delivery delivery);

// Whether samples are decoded.
enum class DecodingMode {
  kRequired,   // yes; a dataset whose rows need no decoding is refused
  kIfEncoded,  // if they are encoded; other rows are delivered as they are stored
  kNone,       // no; a dataset of encoded images is refused
};

// How a Python dataset's batches are made (types.proto).
struct PythonFeed {
  uint64_t max_batch_bytes = uint64_t{1} << 30;
  uint32_t streams = 0;  // of an iterable dataset; 0: samples are made by number
  uint64_t digest = 0;
  bool replace_bad_samples = false;
  bool operator==(const PythonFeed&) const = default;
};

// What a session wants of the Python workers of its dataset. Of several sessions the larger counts.
struct PythonWorkers {
  uint32_t count = 1;
  base::Duration timeout{};  // for a sample, or to collate a batch; 0: the longest
  bool keep = false;         // for a while once the last session is closed
};

// Options that belong to the feed. Sessions share batches only if they agree in all of these.
struct FeedOptions {
  plan::Order order = plan::Order::kSequential;  // unless an order is given
  plan::GivenBy given_by = {};                   // for a given order
  plan::Windows windows = {};  // for kShuffledInWindows; shard_samples 0: the dataset's own shards
  std::optional<plan::Range> range = {};  // unset: all samples that the dataset's name stands for
  uint64_t seed = 0;
  decode::Spec decoding = {};  // for encoded samples
  // Further images of each encoded sample: the names of their tensors, and how each is decoded.
  std::vector<std::string> more_images = {};
  std::vector<decode::Spec> more_decodings = {};
  std::optional<PythonFeed> python = {};  // set for Python datasets, and for no others
  bool operator==(const FeedOptions&) const = default;
};

struct Request {
  std::string dataset_name;  // as the client calls it: a name, an absolute path or a URL
  FeedOptions feed;
  std::optional<uint64_t> given_order;  // name of an order that was sent; replaces feed.order
  DecodingMode decoding_mode = DecodingMode::kRequired;
  std::vector<source::FieldRequest> fields;
  PythonWorkers python_workers;  // for Python datasets

  plan::Share share;                  // of the first epoch; Fit sets `samples`
  uint64_t first_epoch = 0;           // the epoch in which `share` begins
  uint64_t epochs = 0;                // number of epochs, including the first; 0: unlimited
  uint64_t expected_fingerprint = 0;  // of the feed; 0: not checked
  uint32_t window = 4;                // prefetch window, in batches
  bool fail_on_bad_sample = false;
  std::string name;                        // for status
  std::optional<TraceContext> trace = {};  // in which the session is opened; unset: none is known

  Delivery delivery = Delivery::kHost;
  std::optional<exporting::DeviceRequest> device;  // for kDevice
  std::string delivery_reason;                     // why this delivery, for status
};

}  // namespace penstock::session
