// Batch: a lease on a slot, and its finish. Tensors other than images are in batch_tensors.cc.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/finish/effects/effects.h"
#include "client/finish/finish.h"
#include "client/finish/synthetic.h"
#include "client/src/core/convert.h"
#include "client/src/core/grant.h"
#include "client/src/gpu/host_memory.h"
#include "client/src/gpu/lease_owner.h"
#include "common/cuda/range.h"
#include "penstock/penstock.h"

namespace penstock {
namespace {

// Parameters of the synthetic rows of a batch that begins at position `first`.
finish::Synthetic ToSynthetic(const client::SyntheticRows& rows, uint64_t epoch, uint64_t first) {
  return {.seed = rows.seed,
          .epoch = epoch,
          .first_sample = first,
          .samples = rows.samples,
          .classes = rows.classes};
}

absl::Status CheckInto(client::Gpu& gpu, const Into& into, const float* soft_labels,
                       size_t wanted) {
  if (into.image_bytes < wanted) {
    return absl::InvalidArgumentError(absl::StrCat("into.images: too small: got ", into.image_bytes,
                                                   " bytes, expected at least ", wanted));
  }
  const bool labels = into.labels == nullptr || gpu.Reaches(into.labels);
  const bool images = wanted == 0 || gpu.Reaches(into.images);
  const bool soft = soft_labels == nullptr || gpu.Reaches(soft_labels);
  if (labels && images && soft) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("this batch is on device ", gpu.ordinal(), " and is finished there, but '",
                   !labels   ? "labels"
                   : !images ? "images"
                             : "soft_labels",
                   "' is not memory that the device can write to; pass device memory"));
}

}  // namespace

Batch::Batch(Batch&& other) noexcept
    : lease_(std::exchange(other.lease_, nullptr)),
      view_(std::exchange(other.view_, {})),
      shown_(std::exchange(other.shown_, false)) {}

Batch& Batch::operator=(Batch&& other) noexcept {
  if (this != &other) {
    Release();
    lease_ = std::exchange(other.lease_, nullptr);
    view_ = std::exchange(other.view_, {});
    shown_ = std::exchange(other.shown_, false);
  }
  return *this;
}

Batch::~Batch() { Release(); }

void Batch::ForgetViews() {
  view_.images = view_.device_images = nullptr;
  view_.labels = view_.device_labels = nullptr;
  view_.sample_ids = nullptr;
  view_.made = nullptr;
  view_.made_bytes = 0;
  view_.views = nullptr;
  view_.synthetic = nullptr;
  view_.tensors = {};
  shown_ = false;
}

Status Batch::CheckHeld() const {
  if (lease_ == nullptr) {
    return Status(Code::kFailedPrecondition,
                  "the batch was released or moved from; use it before that");
  }
  if (client::ForkedSince(lease_->generation())) return client::ForkedStatus();
  return {};
}

bool Batch::InForkedChild() const {
  return lease_ != nullptr && client::ForkedSince(lease_->generation());
}

// In a forked child the lease belongs to the parent, so nothing is touched. If the wait for the
// device fails, its work may still read the slot; the slot is then not released, and the daemon
// reclaims it when this process ends.
void Batch::Release() {
  client::LeaseOwner* lease = std::exchange(lease_, nullptr);
  if (lease == nullptr) return;
  const bool read = shown_;
  ForgetViews();
  if (client::ForkedSince(lease->generation())) return;
  if (!read || lease->gpu()->Synchronize().ok()) lease->Release(view_.sequence);
  lease->LetGo();
}

Status Batch::Release(Stream stream) {
  if (Status held = CheckHeld(); !held.ok()) return held;
  if (!view_.on_device || view_.synthetic != nullptr) {  // no stream can read it
    Release();
    return {};
  }
  if (const absl::Status status = client::RefuseCapture(*lease_->gpu(), stream); !status.ok()) {
    return client::ToPublic(status);
  }
  return ReleaseBehind(stream);
}

Status Batch::ReleaseBehind(Stream stream) {
  if (const absl::Status status = lease_->ReleaseBehind(view_.sequence, stream); !status.ok()) {
    return client::ToPublic(status);
  }
  ForgetViews();
  std::exchange(lease_, nullptr)->LetGo();
  return {};
}

Status Batch::CopyImages(void* into, size_t bytes) const {
  if (Status held = CheckHeld(); !held.ok()) return held;
  if (bytes < view_.image_bytes) {
    return client::Invalid(absl::StrCat("'into': too small: got ", bytes,
                                        " bytes, expected at least ", view_.image_bytes));
  }
  if (view_.synthetic != nullptr) {
    return Synthesize({.type = Type::kUInt8, .layout = Layout::kNHWC}, {}, into, bytes, nullptr);
  }
  if (!view_.on_device) {
    std::memcpy(into, view_.images, view_.image_bytes);
    return {};
  }
  absl::Status status = lease_->Prepare(view_.sequence, nullptr);
  if (status.ok()) {
    const auto* from = reinterpret_cast<const std::byte*>(view_.device_images);
    status = lease_->gpu()->CopyToHost(static_cast<std::byte*>(into), from, view_.image_bytes);
  }
  return client::ToPublic(status);
}

// Whether the finish and its effects fit the batch's images and labels.
Status Batch::CheckFits(const Finish& finish, const Effects& effects) const {
  if (Status apt = client::CheckFinish(finish, view_.shape.height != 0); !apt.ok()) return apt;
  if (!finish::HasEffects(effects)) return {};
  if (view_.image_bytes == 0)
    return client::Invalid(
        "effects: got a batch without images of bytes, expected images; erase and mix such tensors "
        "yourself");
  return client::ToPublic(finish::CheckSoftLabels(effects, rows(), labels()));
}

Status Batch::Synthesize(const Finish& finish, const Effects& effects, void* into, size_t bytes,
                         int64_t* labels) const {
  const absl::StatusOr<finish::Spec> spec = client::ToFinishSpec(finish, view_.shape);
  if (!spec.ok()) return client::ToPublic(spec.status());
  const finish::Synthetic what = ToSynthetic(*view_.synthetic, view_.epoch, view_.first);
  const std::span<std::byte> images(static_cast<std::byte*>(into), bytes);
  const std::span<int64_t> to_labels(labels, labels == nullptr ? 0 : view_.shape.rows);
  return client::ToPublic(
      finish::HasEffects(effects)
          ? finish::SynthesizeWithEffects(what, *spec, effects, view_.shape, images, to_labels)
          : finish::Synthesize(what, *spec, view_.shape, images, to_labels));
}

size_t Batch::FinishedBytes(const Finish& finish) const {
  return view_.image_bytes * finish::ElementBytes(finish.type);
}

Status Batch::FinishInto(const Finish& finish, void* into, size_t bytes) const {
  return FinishInto(finish, Effects{}, into, bytes);
}

Status Batch::FinishInto(const Finish& finish, const Effects& effects, void* into,
                         size_t bytes) const {
  if (Status held = CheckHeld(); !held.ok()) return held;
  if (Status fits = CheckFits(finish, effects); !fits.ok()) return fits;
  if (view_.on_device) {
    return client::Invalid(
        "this batch is on a GPU; finish it there, with FinishInto(finish, {images, image_bytes, "
        "labels}, stream)");
  }
  const absl::StatusOr<finish::Spec> spec = client::ToFinishSpec(finish, view_.shape);
  if (!spec.ok()) return client::ToPublic(spec.status());
  if (!client::HostReads(into, bytes)) return client::NotTheHosts("into");
  const size_t soft_bytes = size_t{rows()} * effects.classes * sizeof(float);
  if (effects.soft_labels != nullptr && !client::HostReads(effects.soft_labels, soft_bytes))
    return client::NotTheHosts("soft_labels");
  if (view_.synthetic != nullptr) return Synthesize(finish, effects, into, bytes, nullptr);
  const std::span<std::byte> out(static_cast<std::byte*>(into), bytes);
  return client::ToPublic(
      finish::HasEffects(effects)
          ? finish::ApplyWithEffects(*spec, effects, view_.shape, images(), labels(), out)
          : finish::Apply(*spec, view_.shape, images(), out));
}

Status Batch::FinishInto(const Finish& finish, const Into& into, Stream stream) {
  return FinishInto(finish, Effects{}, into, stream);
}

Status Batch::FinishInto(const Finish& finish, const Effects& effects, const Into& into,
                         Stream stream) {
  if (Status held = CheckHeld(); !held.ok()) return held;
  if (Status fits = CheckFits(finish, effects); !fits.ok()) return fits;
  if (Status known = CheckTensors(into.tensors); !known.ok()) return known;
  return view_.on_device ? FinishOnDevice(finish, effects, into, stream)
                         : FinishOnHost(finish, effects, into);
}

Status Batch::FinishOnHost(const Finish& finish, const Effects& effects, const Into& into) {
  const std::span<const int64_t> from = labels();
  if (into.labels != nullptr && !client::HostReads(into.labels, from.size_bytes())) {
    return client::NotTheHosts("labels");
  }
  if (view_.image_bytes != 0) {
    Status done = FinishInto(finish, effects, into.images, into.image_bytes);
    if (!done.ok()) return done;
  }
  if (Status done = ConvertOnHost(into.tensors); !done.ok()) return done;
  if (into.labels != nullptr) std::memcpy(into.labels, from.data(), from.size_bytes());
  Release();
  return {};
}

Status Batch::FinishOnDevice(const Finish& finish, const Effects& effects, const Into& into,
                             Stream stream) {
  const cuda::TraceRange range("finish", view_.epoch, view_.first);
  client::Gpu& gpu = *lease_->gpu();
  const absl::StatusOr<finish::Spec> spec = client::ToFinishSpec(finish, view_.shape);
  if (!spec.ok()) return client::ToPublic(spec.status());
  absl::Status status = CheckInto(gpu, into, effects.soft_labels, FinishedBytes(finish));
  if (status.ok()) status = client::RefuseCapture(gpu, stream);
  if (status.ok() && view_.synthetic != nullptr) {
    status = gpu.Finish({.spec = *spec,
                         .shape = view_.shape,
                         .synthetic = ToSynthetic(*view_.synthetic, view_.epoch, view_.first),
                         .into = into,
                         .effects = effects},
                        stream);
    if (status.ok()) Release();  // the device does not read the slot
    return client::ToPublic(status);
  }
  if (status.ok()) status = lease_->Prepare(view_.sequence, &stream);
  if (!status.ok()) return client::ToPublic(status);
  shown_ = true;  // from here on the device may read it
  if (view_.image_bytes != 0) {
    status = gpu.Finish({.spec = *spec,
                         .shape = view_.shape,
                         .rows = view_.device_images,
                         .labels = view_.device_labels,
                         .into = into,
                         .effects = effects},
                        stream);
  }
  if (!status.ok()) return client::ToPublic(status);
  if (Status done = ConvertOnDevice(into, stream); !done.ok()) return done;
  return ReleaseBehind(stream);
}

}  // namespace penstock
