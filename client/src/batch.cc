// Batch: a lease on a slot, and its finish.
#include <utility>

#include "client/finish/finish.h"
#include "client/src/attachment.h"
#include "client/src/convert.h"
#include "client/src/fork.h"
#include "penstock/penstock.h"

namespace penstock {

Batch::Batch(Batch&& other) noexcept
    : lease_(std::exchange(other.lease_, nullptr)), view_(std::exchange(other.view_, {})) {}

Batch& Batch::operator=(Batch&& other) noexcept {
  if (this != &other) {
    Release();
    lease_ = std::exchange(other.lease_, nullptr);
    view_ = std::exchange(other.view_, {});
  }
  return *this;
}

Batch::~Batch() { Release(); }

// In a forked child the lease is the parent's: nothing is touched.
void Batch::Release() {
  client::Attachment* lease = std::exchange(lease_, nullptr);
  if (lease == nullptr) return;
  const View view = std::exchange(view_, {});
  if (client::ForkedSince(lease->generation())) return;
  lease->Release(view.sequence);
  lease->LetGo();
}

size_t Batch::FinishedBytes(const Finish& finish) const {
  return view_.image_bytes * finish::ElementBytes(finish.type);
}

Status Batch::FinishInto(const Finish& finish, void* into, size_t bytes) const {
  if (lease_ == nullptr) {
    return Status(Code::kFailedPrecondition,
                  "the batch was released or moved from; finish it before that");
  }
  if (client::ForkedSince(lease_->generation())) return client::ForkedStatus();
  const size_t channels = view_.shape.channels;
  if (finish.type != Type::kUInt8 && channels > std::size(finish.mean)) {
    return Status(Code::kInvalidArgument,
                  "the finish knows means and standard deviations of at most 3 channels");
  }
  const finish::Spec spec = {finish.type, finish.layout,
                             std::span(finish.mean).first(std::min(channels, size_t{3})),
                             std::span(finish.stddev).first(std::min(channels, size_t{3}))};
  return client::ToPublic(
      finish::Apply(spec, view_.shape, images(), {static_cast<std::byte*>(into), bytes}));
}

}  // namespace penstock
