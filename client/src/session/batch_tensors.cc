// Batch: tensors other than images.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "client/finish/effects/effects.h"
#include "client/finish/finish.h"
#include "client/finish/tensor.h"
#include "client/src/core/convert.h"
#include "client/src/core/grant.h"
#include "client/src/gpu/host_memory.h"
#include "client/src/gpu/lease_owner.h"
#include "penstock/penstock.h"

namespace penstock {
namespace {

using client::TensorPlace;

Status NoLengths(const TensorPlace& place) {
  return client::Invalid(absl::StrCat("'", place.field.name,
                                      "': its samples all have one length; leave 'lengths' null"));
}

Status Named(const absl::Status& status, const TensorPlace& place) {
  return client::ToPublic(base::Annotate(status, absl::StrCat("'", place.field.name, "'")));
}

// Start of a batch's slot, on the host or on its device.
const std::byte* SlotOf(const uint8_t* images) {
  return reinterpret_cast<const std::byte*>(images);
}

finish::TensorJob ToTensorJob(const TensorPlace& place, const std::byte* slot, uint32_t rows,
                              const TensorInto& into) {
  return {.from = static_cast<base::DType>(place.field.type),
          .to = static_cast<base::DType>(into.type),
          .rows = rows,
          .elements = place.field.elements(),
          .row_stride = place.row_stride,
          .data = slot + place.offset,
          .into = static_cast<std::byte*>(into.data),
          .into_bytes = into.bytes};
}

// Copies one number for each row, stored without gaps.
finish::TensorJob NumbersJob(base::DType type, const void* from, uint32_t rows, void* into) {
  const uint64_t bytes = base::ElementBytes(type);
  return {.from = type,
          .to = type,
          .rows = rows,
          .elements = 1,
          .row_stride = bytes,
          .data = static_cast<const std::byte*>(from),
          .into = static_cast<std::byte*>(into),
          .into_bytes = rows * bytes};
}

Status NoImage(const TensorPlace& place) {
  return client::Invalid(
      absl::StrCat("'", place.field.name,
                   "': got a finish, but it is no image of bytes (height, width, "
                   "channels); leave 'finish' null"));
}

bool IsImage(const TensorPlace& place) {
  return place.field.type == DType::kUInt8 && !place.field.variable &&
         place.field.shape.size() == 3 && place.row_stride == place.field.elements();
}

// **Requires**: IsImage(place).
Shape ImageShape(const TensorPlace& place, uint32_t rows) {
  const std::vector<uint32_t>& sides = place.field.shape;
  return {.rows = rows, .height = sides[0], .width = sides[1], .channels = sides[2]};
}

// A further image of a batch.
struct ImageRows {
  const TensorPlace& place;
  uint32_t rows;
  const uint8_t* bytes;  // of its rows
};

absl::Status FinishRows(const ImageRows& image, const TensorInto& into) {
  const Shape shape = ImageShape(image.place, image.rows);
  PENSTOCK_ASSIGN_OR_RETURN(const finish::Spec spec, client::ToFinishSpec(*into.finish, shape));
  const std::span<const uint8_t> rows(image.bytes, image.rows * image.place.row_stride);
  const std::span<std::byte> out(static_cast<std::byte*>(into.data), into.bytes);
  if (into.effects == nullptr || !finish::HasEffects(*into.effects))
    return finish::Apply(spec, shape, rows, out);
  return finish::ApplyWithEffects(spec, *into.effects, shape, rows, {}, out);
}

absl::Status FinishRows(const ImageRows& image, const TensorInto& into, client::Gpu& gpu,
                        Stream stream) {
  const Shape shape = ImageShape(image.place, image.rows);
  PENSTOCK_ASSIGN_OR_RETURN(const finish::Spec spec, client::ToFinishSpec(*into.finish, shape));
  const uint64_t wanted = image.rows * image.place.row_stride * finish::ElementBytes(spec.type);
  if (into.bytes < wanted)
    return absl::InvalidArgumentError(
        absl::StrCat("too small: got ", into.bytes, " bytes, expected at least ", wanted));
  return gpu.Finish({.spec = spec,
                     .shape = shape,
                     .rows = image.bytes,
                     .labels = nullptr,
                     .into = {.images = into.data, .image_bytes = into.bytes},
                     .effects = into.effects == nullptr ? Effects{} : *into.effects},
                    stream);
}

}  // namespace

TensorView Batch::tensor(size_t tensor) const {
  if (tensor >= view_.tensors.size() || view_.synthetic != nullptr) return {};
  const TensorPlace& place = view_.tensors[tensor];
  shown_ = shown_ || view_.on_device;
  const std::byte* slot = SlotOf(view_.on_device ? view_.device_images : view_.images);
  TensorView view = {slot + place.offset, place.row_stride, view_.shape.rows, nullptr};
  if (place.field.variable)
    view.lengths = reinterpret_cast<const int32_t*>(slot + place.lengths_offset);
  return view;
}

Status Batch::CheckTensors(std::span<const TensorInto> tensors) const {
  for (const TensorInto& into : tensors) {
    if (into.tensor >= view_.tensors.size())
      return client::Invalid(absl::StrCat("no tensor ", into.tensor, ": a batch has ",
                                          view_.tensors.size(),
                                          ", counted from 0; see Session::tensors()"));
    if (!base::IsKnown(static_cast<base::DType>(into.type)))
      return client::Invalid(absl::StrCat("tensor ", into.tensor, ": unknown type ",
                                          static_cast<uint32_t>(into.type),
                                          "; use a value of DType"));
    const TensorPlace& place = view_.tensors[into.tensor];
    if (into.lengths != nullptr && !place.field.variable) return NoLengths(place);
    if (into.finish != nullptr && !IsImage(place)) return NoImage(place);
    if (into.effects != nullptr &&
        (into.effects->mix.kind != MixKind::kNone || into.effects->soft_labels != nullptr))
      return client::Invalid(
          absl::StrCat("'", place.field.name, "': further images are not mixed"));
    if (view_.synthetic != nullptr)
      return client::Invalid(
          "this batch has synthetic rows, of which a finish makes only the images; request no "
          "other tensors");
  }
  return {};
}

Status Batch::ConvertOnHost(std::span<const TensorInto> tensors) const {
  const std::byte* slot = SlotOf(view_.images);
  const size_t lengths_bytes = rows() * sizeof(int32_t);
  for (const TensorInto& into : tensors) {
    const TensorPlace& place = view_.tensors[into.tensor];
    if (!client::HostReads(into.data, into.bytes))
      return client::NotTheHosts(place.field.name.c_str());
    const absl::Status status = into.finish != nullptr
                                    ? FinishRows({place, rows(), view_.images + place.offset}, into)
                                    : finish::Convert(ToTensorJob(place, slot, rows(), into));
    if (!status.ok()) return Named(status, place);
    if (into.lengths == nullptr) continue;
    if (!client::HostReads(into.lengths, lengths_bytes)) return client::NotTheHosts("lengths");
    std::memcpy(into.lengths, slot + place.lengths_offset, lengths_bytes);
  }
  return {};
}

// Without images, also copies the labels; otherwise the image kernel does that.
Status Batch::ConvertOnDevice(const Into& into, Stream stream) const {
  client::Gpu& gpu = *lease_->gpu();
  const std::byte* slot = SlotOf(view_.device_images);
  for (const TensorInto& wanted : into.tensors) {
    const TensorPlace& place = view_.tensors[wanted.tensor];
    if (!gpu.Reaches(wanted.data) || (wanted.lengths != nullptr && !gpu.Reaches(wanted.lengths)))
      return client::Invalid(absl::StrCat("this batch is on device ", gpu.ordinal(),
                                          ", but the memory for '", place.field.name,
                                          "' is not; pass device memory"));
    absl::Status status =
        wanted.finish != nullptr
            ? FinishRows({place, rows(), view_.device_images + place.offset}, wanted, gpu, stream)
            : gpu.Convert(ToTensorJob(place, slot, rows(), wanted), stream);
    if (status.ok() && wanted.lengths != nullptr)
      status = gpu.Convert(
          NumbersJob(base::DType::kInt32, slot + place.lengths_offset, rows(), wanted.lengths),
          stream);
    if (!status.ok()) return Named(status, place);
  }
  if (view_.image_bytes != 0 || into.labels == nullptr) return {};
  return client::ToPublic(gpu.Convert(
      NumbersJob(base::DType::kInt64, view_.device_labels, rows(), into.labels), stream));
}

}  // namespace penstock
