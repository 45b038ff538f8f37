// A made batch, one of a Python dataset, as memory that its holder may write to.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "penstock/export.h"
#include "penstock/status.h"

namespace penstock {

class Batch;

namespace client {
struct MadeHold;
}  // namespace client

// The bytes of a made batch: a PythonSlotHeader and what follows it, at a multiple of 64 bytes.
// They are private to this object: what its holder writes is seen by nobody else.
//
// A large batch is lent: the memory is a private mapping of the batch's slot, which costs no copy,
// and the batch stays held until this object ends. Small ones are copied, and so are large ones if
// the holder has nearly all batches of its prefetch window already, so that holding any number of
// batches never keeps the next one from coming.
//
// **Ownership**: the memory is valid as long as the object, even after the session is closed or the
// daemon has died. A forked child may read what its parent has lent only as long as the parent
// holds it.
// **Thread safety**: any thread, but one at a time. It need not be the session's thread.
class PENSTOCK_EXPORT MadeBatch {
 public:
  // Takes the memory of a batch, which is empty then.
  //
  // **Errors**: the batch is still held. kFailedPrecondition: it was released, it is no made batch,
  // or this is a forked child. kResourceExhausted: there is no memory for a copy.
  static Result<MadeBatch> From(Batch& batch);

  MadeBatch(MadeBatch&& other) noexcept;
  MadeBatch& operator=(MadeBatch&& other) noexcept;
  ~MadeBatch();  // releases the batch if it is lent; in a forked child it does nothing

  std::span<std::byte> bytes() const;
  bool lent() const;

 private:
  explicit MadeBatch(std::unique_ptr<client::MadeHold> hold);
  std::unique_ptr<client::MadeHold> hold_;
};

}  // namespace penstock
