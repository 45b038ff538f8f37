// The C API: one batch.
#include <utility>

#include "client/src/c/boundary.h"
#include "client/src/c/handles.h"
#include "client/src/c/options.h"
#include "client/src/core/convert.h"

namespace {

using penstock::Code;
using penstock::Result;
using penstock::Status;
using penstock::c::Guarded;
using penstock::c::Missing;
using penstock::c::WriteStruct;

penstock_batch_info FromBatch(const penstock::Batch& batch) {
  const penstock::Shape shape = batch.shape();
  const auto images = batch.images();
  return {.struct_size = sizeof(penstock_batch_info),
          .epoch = batch.epoch(),
          .step = batch.step(),
          .first = batch.first(),
          .rows = batch.rows(),
          .valid_rows = batch.valid_rows(),
          .height = shape.height,
          .width = shape.width,
          .channels = shape.channels,
          .last_of_epoch = batch.last_of_epoch(),
          .on_device = batch.on_device(),
          .synthetic = batch.synthetic(),
          .images = images.data(),
          .image_bytes = images.size(),
          .labels = batch.labels().data(),
          .sample_ids = batch.sample_ids().data()};
}

}  // namespace

int32_t penstock_batch_get(const penstock_batch* batch, penstock_batch_info* info,
                           penstock_error* error) {
  return Guarded(error, [&]() -> Status {
    if (batch == nullptr) return Missing("batch");
    if (IsForeign(*batch)) return penstock::client::ForkedStatus();
    return WriteStruct("penstock_batch_info", FromBatch(batch->batch), info);
  });
}

int32_t penstock_batch_tensor(const penstock_batch* batch, uint32_t tensor,
                              penstock_tensor_view* view, penstock_error* error) {
  return Guarded(error, [&]() -> Status {
    if (batch == nullptr) return Missing("batch");
    if (IsForeign(*batch)) return penstock::client::ForkedStatus();
    const penstock::TensorView found = batch->batch.tensor(tensor);
    if (found.data == nullptr) {
      return {Code::kInvalidArgument, "tensor " + std::to_string(tensor) +
                                          ": the batch has no such tensor, is released, or has "
                                          "rows that only a finish makes"};
    }
    return WriteStruct("penstock_tensor_view",
                       penstock_tensor_view{.struct_size = 0,
                                            .data = found.data,
                                            .row_stride = found.row_stride,
                                            .lengths = found.lengths,
                                            .rows = found.rows,
                                            .reserved = 0},
                       view);
  });
}

int32_t penstock_copy_images(const penstock_batch* batch, void* into, size_t bytes,
                             penstock_error* error) {
  return Guarded(error, [&]() -> Status {
    if (batch == nullptr) return Missing("batch");
    if (IsForeign(*batch)) return penstock::client::ForkedStatus();
    if (into == nullptr) return Missing("into");
    return batch->batch.CopyImages(into, bytes);
  });
}

size_t penstock_finished_bytes(const penstock_batch* batch, const penstock_finish* finish) {
  size_t bytes = 0;
  Guarded(nullptr, [&]() -> Status {
    if (batch == nullptr) return Missing("batch");
    if (IsForeign(*batch)) return penstock::client::ForkedStatus();
    Result<penstock::Finish> form = penstock::c::ToFinish(finish);
    if (!form) return form.status();
    bytes = batch->batch.FinishedBytes(*form);
    return {};
  });
  return bytes;
}

int32_t penstock_finish_into(const penstock_batch* batch, const penstock_finish* finish, void* into,
                             size_t bytes, penstock_error* error) {
  return Guarded(error, [&]() -> Status {
    if (batch == nullptr) return Missing("batch");
    if (IsForeign(*batch)) return penstock::client::ForkedStatus();
    if (into == nullptr) return Missing("into");
    Result<penstock::Finish> form = penstock::c::ToFinish(finish);
    if (!form) return form.status();
    return batch->batch.FinishInto(*form, into, bytes);
  });
}

void penstock_release(penstock_batch* batch) { delete batch; }

int32_t penstock_next_into(penstock_session* session, const penstock_finish* finish,
                           const penstock_into* into, void* stream, int64_t timeout_ms,
                           penstock_batch_info* info, penstock_error* error) {
  return Guarded(error, [&]() -> Status {
    if (session == nullptr) return Missing("session");
    // all checks before a batch is taken
    Result<penstock::Finish> form = penstock::c::ToFinish(finish);
    if (!form) return form.status();
    penstock::c::Places places;
    if (Status read = penstock::c::ToPlaces(into, places); !read.ok()) return read;
    Result<std::chrono::milliseconds> timeout = penstock::c::ToTimeout(timeout_ms);
    if (!timeout) return timeout.status();
    if (info != nullptr) {
      Status checked = penstock::c::CheckSize("penstock_batch_info", info,
                                              penstock::c::kFirstSize<penstock_batch_info>);
      if (!checked.ok()) return checked;
    }
    Result<penstock::Batch> batch = session->session.NextInto(*form, places.into, stream, *timeout);
    if (!batch) return batch.status();
    return info == nullptr ? Status() : WriteStruct("penstock_batch_info", FromBatch(*batch), info);
  });
}

int32_t penstock_finish_on_stream(penstock_batch* batch, const penstock_finish* finish,
                                  const penstock_into* into, void* stream, penstock_error* error) {
  return Guarded(error, [&]() -> Status {
    if (batch == nullptr) return Missing("batch");
    if (IsForeign(*batch)) return penstock::client::ForkedStatus();
    Result<penstock::Finish> form = penstock::c::ToFinish(finish);
    if (!form) return form.status();
    penstock::c::Places places;
    if (Status read = penstock::c::ToPlaces(into, places); !read.ok()) return read;
    return batch->batch.FinishInto(*form, places.into, stream);
  });
}

int32_t penstock_batch_device(const penstock_batch* batch, const uint8_t** images,
                              const int64_t** labels, penstock_error* error) {
  return Guarded(error, [&]() -> Status {
    if (batch == nullptr) return Missing("batch");
    if (IsForeign(*batch)) return penstock::client::ForkedStatus();
    if (images != nullptr) *images = batch->batch.device_images();
    if (labels != nullptr) *labels = batch->batch.device_labels();
    return {};
  });
}

int32_t penstock_release_on_stream(penstock_batch* batch, void* stream, penstock_error* error) {
  return Guarded(error, [&]() -> Status {
    if (batch == nullptr) return Missing("batch");
    if (IsForeign(*batch)) return penstock::client::ForkedStatus();
    return batch->batch.Release(stream);
  });
}
