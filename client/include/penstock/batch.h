// One batch of a session: where its tensors are, how to finish them, and when the slot is released.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "penstock/effects.h"
#include "penstock/export.h"
#include "penstock/finish.h"
#include "penstock/status.h"
#include "penstock/tensor.h"

namespace penstock {

namespace client {  // implementation; not part of the interface
class Attachment;
class LeaseOwner;
struct MadeHold;
class PinnedStage;
class PrivateViews;
class SessionCore;
struct SyntheticRows;
struct TensorPlace;
}  // namespace client

// A cudaStream_t of the session's device, in CUDA's own encoding: null is the legacy default
// stream, 1 is cudaStreamLegacy, 2 is cudaStreamPerThread. Host sessions ignore streams.
using Stream = void*;

// Where a finish writes: device memory for a batch on a GPU, else host memory. Any alignment.
struct Into {
  void* images = nullptr;
  size_t image_bytes = 0;     // at least Batch::FinishedBytes
  int64_t* labels = nullptr;  // one for each row; null: not wanted
  // Further tensors of the batch, each into memory of its own.
  std::span<const TensorInto> tensors = {};
};

// One batch: a lease on its slot in shared memory.
//
// **Ownership**: the batch holds its slot until it is released or destroyed. Until then its views
// stay valid, even after the session is closed or the daemon has died. After that all views are
// empty; the numbers (epoch, step, rows, …) remain. Holding all batches of the prefetch window
// keeps further ones from coming.
// **Thread safety**: any thread, but one at a time. It need not be the session's thread.
// **Errors**: after the release, and in a forked child, all calls that return a Status return
// kFailedPrecondition. In a forked child the destructor does nothing.
class PENSTOCK_EXPORT Batch {
 public:
  Batch(Batch&& other) noexcept;
  Batch& operator=(Batch&& other) noexcept;
  ~Batch();  // as Release()

  uint64_t epoch() const { return view_.epoch; }
  // Number of this batch among this rank's in the epoch, from where the session began it.
  uint64_t step() const { return view_.step; }
  uint64_t first() const { return view_.first; }  // position of row 0 in the epoch's order
  uint32_t rows() const { return view_.shape.rows; }
  uint32_t valid_rows() const { return view_.valid_rows; }  // the first ones; the rest is padding
  bool last_of_epoch() const { return view_.last_of_epoch; }
  Shape shape() const { return view_.shape; }
  bool on_device() const { return view_.on_device; }
  // True if the rows are stored nowhere: the finish makes random bytes, a function of the dataset,
  // the sample and the epoch alone.
  bool synthetic() const { return view_.synthetic != nullptr; }

  // The stored images in shared memory, read-only: uint8, rows × height × width × channels. Empty
  // for a batch on a GPU and for synthetic rows.
  std::span<const uint8_t> images() const {
    return {view_.images, view_.images == nullptr ? 0 : view_.image_bytes};
  }

  // The tensor at this index of Session::tensors(), images included, in host memory or on the
  // batch's GPU; `data` is null for synthetic rows and unknown indices. The rules of images() and
  // device_images() apply.
  TensorView tensor(size_t tensor) const;

  // In host memory with every delivery, one for each row.
  std::span<const int64_t> labels() const {
    return {view_.labels, view_.labels == nullptr ? 0 : view_.shape.rows};
  }
  std::span<const uint64_t> sample_ids() const {
    return {view_.sample_ids, view_.sample_ids == nullptr ? 0 : view_.shape.rows};
  }

  // A batch of a Python dataset as its worker wrote it, in shared memory, read-only: a header, then
  // what it describes. Begins at a page. Empty for other datasets. MadeBatch hands it out writable.
  std::span<const std::byte> made() const;

  // The stored images and labels in GPU memory, read-only; null for a batch in host memory and for
  // synthetic rows. After calling this, release the batch with Release(stream), after the last
  // kernel that reads it.
  const uint8_t* device_images() const {
    shown_ = view_.device_images != nullptr;
    return view_.device_images;
  }
  const int64_t* device_labels() const {
    shown_ = view_.device_labels != nullptr;
    return view_.device_labels;
  }

  // Copies the stored images into host memory, from wherever they are, and waits for the copy. For
  // tests and for inspection. `bytes` is at least rows × height × width × channels.
  //
  // **Errors**: kInvalidArgument if `bytes` is too small.
  Status CopyImages(void* into, size_t bytes) const;

  // Bytes that a finish writes to Into::images.
  size_t FinishedBytes(const Finish& finish) const;

  // Finishes a batch in host memory: writes its images to `into` (FinishedBytes, any alignment).
  //
  // **Errors**: kInvalidArgument if the batch is on a GPU, `into` is not host memory or is too
  // small, or the finish does not fit the images.
  Status FinishInto(const Finish& finish, void* into, size_t bytes) const;
  // With effects on the values as they are written, at no pass of their own.
  //
  // **Errors**: also kInvalidArgument if the effects do not fit the batch or the finish, or a label
  // is not below effects.classes.
  Status FinishInto(const Finish& finish, const Effects& effects, void* into, size_t bytes) const;

  // Finishes the batch into `into`, then releases it; read labels() and sample_ids() before.
  //
  // A batch on a GPU: enqueues one kernel that writes images and labels, one more for each further
  // tensor, and the release after them. Costs a few microseconds on the host and never waits. A
  // batch in host memory is finished at once, into host memory, and `stream` is ignored.
  //
  // **Errors**: the batch is still held. kFailedPrecondition while the stream is being captured
  // into a graph: call this outside of the capture, with memory that the graph reads.
  // kInvalidArgument as above, and if `into` is not memory that the device can write to.
  Status FinishInto(const Finish& finish, const Into& into, Stream stream);
  // With effects, as above. On a GPU they happen in the kernel that writes the images: one for each
  // 383 rows if boxes are erased, or 191 if those are filled with noise. What the effects refer to
  // may change after the call, except soft labels' memory.
  Status FinishInto(const Finish& finish, const Effects& effects, const Into& into, Stream stream);

  // Releases the slot once the stream has reached this point. The batch is empty from now on.
  //
  // **Errors**: the batch is still held. kFailedPrecondition while the stream is being captured.
  Status Release(Stream stream);

  // Releases the slot now. Makes no system call unless the daemon sleeps. If device pointers of
  // this batch were requested, GPU work may still read them, so this waits for all work of the
  // device.
  void Release();

 private:
  friend class MadeBatch;
  friend class client::SessionCore;
  friend class client::Attachment;
  friend class client::PinnedStage;
  struct View {
    uint64_t epoch = 0, step = 0, first = 0, sequence = 0;
    Shape shape;
    uint32_t valid_rows = 0;
    bool last_of_epoch = false;
    bool on_device = false;
    size_t image_bytes = 0;
    const uint8_t* images = nullptr;
    const int64_t* labels = nullptr;
    const uint64_t* sample_ids = nullptr;
    const uint8_t* device_images = nullptr;
    const int64_t* device_labels = nullptr;
    // Of a made batch: where it is, where that is in its segment, how large it may be there, and
    // the segment's views, owned by lease_.
    const std::byte* made = nullptr;
    size_t made_bytes = 0, made_most = 0;
    uint64_t made_from = 0;
    client::PrivateViews* views = nullptr;
    const client::SyntheticRows* synthetic = nullptr;   // owned by lease_
    std::span<const client::TensorPlace> tensors = {};  // owned by lease_
  };
  Batch(client::LeaseOwner* lease, const View& view) : lease_(lease), view_(view) {}
  Status CheckHeld() const;
  Status CheckTensors(std::span<const TensorInto> tensors) const;
  Status ConvertOnHost(std::span<const TensorInto> tensors) const;
  Status ConvertOnDevice(const Into& into, Stream stream) const;
  Status CheckFits(const Finish& finish, const Effects& effects) const;
  Status Synthesize(const Finish& finish, const Effects& effects, void* into, size_t bytes,
                    int64_t* labels) const;
  Status ReleaseBehind(Stream stream);
  Status FinishOnHost(const Finish& finish, const Effects& effects, const Into& into);
  Status FinishOnDevice(const Finish& finish, const Effects& effects, const Into& into,
                        Stream stream);
  void ForgetViews();
  bool InForkedChild() const;
  bool MayBeLent() const;
  bool Lend(client::MadeHold& hold);
  Status CopyMade(client::MadeHold& hold);

  client::LeaseOwner* lease_;  // reference-counted; null: released
  View view_;
  mutable bool shown_ = false;  // device pointers were given out
};

}  // namespace penstock
