// Arbitrary bytes as a trainer's request, in protobuf's encoding or as JSON: if the daemon accepts
// the request, its numbers are within the limits that later computations rely on.
#include <google/protobuf/util/json_util.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "common/base/check.h"
#include "common/shm/control_page.h"
#include "common/shm/python_host.h"
#include "server/rpc/message_to_domain.h"
#include "server/session/validate.h"
#include "server/source/made/python_dataset.h"
#include "tests/support/fakes/fake_dataset.h"

namespace plan = penstock::plan;
namespace rpc = penstock::rpc;
namespace session = penstock::session;
namespace source = penstock::source;
namespace v1 = penstock::v1;

namespace {

template <typename Message>
bool Parse(const std::string& bytes, Message& message) {
  if (bytes.starts_with('{'))
    return google::protobuf::util::JsonStringToMessage(bytes, &message).ok();
  return message.ParseFromString(bytes);
}

// A batch of a Python dataset has a slot, and its worker a place.
void CheckPython(const session::Request& request) {
  const session::PythonFeed& python = *request.feed.python;
  PENSTOCK_CHECK(python.max_batch_bytes >= 1 &&
                 python.max_batch_bytes <= penstock::pool::kMostMadeBytes);
  PENSTOCK_CHECK(request.python_workers.count >= 1 &&
                 request.python_workers.count <= penstock::shm::kMaxPythonWorkers);
  PENSTOCK_CHECK(python.streams <= request.python_workers.count);
  PENSTOCK_CHECK(python.streams == 0 ||
                 (request.share.batch_size == 1 && request.share.world == 1));
}

// The daemon calls a dataset by one text.
void CheckPythonDataset(const std::string& text) {
  const auto spec = source::ParsePython(text);
  if (!spec.ok()) return;
  const auto again = source::ParsePython(source::ToString(*spec));
  PENSTOCK_CHECK(again.ok() && *again == *spec);
}

void CheckAlone(const session::Request& request) {
  PENSTOCK_CHECK(request.share.batch_size >= 1 &&
                 request.share.batch_size <= session::kMaxBatchSize);
  PENSTOCK_CHECK(request.share.world <= session::kMaxWorldSize);
  PENSTOCK_CHECK(request.share.rank < request.share.world);
  PENSTOCK_CHECK(request.window >= 1 && request.window <= penstock::shm::kControlCapacity);
  PENSTOCK_CHECK(request.fields.size() <= session::kMaxFields);
  if (request.feed.python) CheckPython(request);
  PENSTOCK_CHECK(!request.dataset_name.empty() &&
                 request.dataset_name.size() <= session::kMaxDatasetBytes);
  if (request.decoding_mode == session::DecodingMode::kNone) return;
  const auto& spec = request.feed.decoding;
  PENSTOCK_CHECK(spec.height >= 1 && spec.width >= 1);
  for (const double number :
       {spec.scale_min, spec.scale_max, spec.ratio_min, spec.ratio_max, spec.flip_probability})
    PENSTOCK_CHECK(std::isfinite(number));
  // A batch's size can be computed without overflow.
  PENSTOCK_CHECK(penstock::decode::RowBytes(spec) < UINT64_MAX / session::kMaxBatchSize);
}

// If the request fits a dataset, each batch of the epoch can be computed.
void CheckWithDataset(session::Request request, const source::Dataset& dataset) {
  const session::Target target = {.dataset = dataset, .range = {.first = 0, .count = 1000}};
  if (!session::Fit(target, request).ok()) return;
  PENSTOCK_CHECK(plan::Validate(request.share).ok());
  const uint64_t batches = plan::BatchCount(request.share);
  for (const uint64_t step : {uint64_t{0}, uint64_t{1}, batches / 2, batches - 1}) {
    if (step >= batches) continue;
    const plan::Batch batch = plan::BatchAt(request.share, step);
    PENSTOCK_CHECK(batch.rows <= request.share.batch_size && batch.valid_rows <= batch.rows);
    PENSTOCK_CHECK(batch.consumed <= request.share.samples);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  if (v1::OpenSessionRequest open; Parse(bytes, open)) {
    if (const auto request = rpc::SessionFrom(open); request.ok()) {
      CheckAlone(*request);
      CheckWithDataset(*request, penstock::testing::FakeDataset(1000));
      CheckWithDataset(*request, *source::MakePython({.id = "ab01", .samples = 1000}));
    } else {
      PENSTOCK_CHECK(!request.status().message().empty());
    }
  }
  if (v1::SendOrderRequest order; Parse(bytes, order)) {
    rpc::OrderLengthFrom(order).IgnoreError();
    if (const auto chunk = rpc::OrderChunkFrom(order); chunk.ok())
      PENSTOCK_CHECK(chunk->size() <= rpc::kMaxOrderChunk);
  }
  if (v1::DescribeSamplesRequest samples; Parse(bytes, samples))
    if (const auto ids = rpc::SampleIdsFrom(samples); ids.ok())
      PENSTOCK_CHECK(ids->size() <= rpc::kMaxSampleIds);
  if (v1::ListQuarantineRequest list; Parse(bytes, list))
    rpc::QuarantineQueryFrom(list).IgnoreError();
  if (v1::WatchStatusRequest watch; Parse(bytes, watch)) rpc::IntervalFrom(watch).IgnoreError();
  CheckPythonDataset(bytes);
  rpc::DatasetOrAllFrom(bytes).IgnoreError();
  rpc::TicketFrom(bytes).IgnoreError();
  return 0;
}
