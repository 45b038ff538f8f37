// MadeBatch, and what a batch needs for it.
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/core/convert.h"
#include "client/src/gpu/lease_owner.h"
#include "client/src/session/private_views.h"
#include "penstock/made.h"
#include "penstock/penstock.h"

namespace penstock {

namespace client {

// A lent batch has a lease, views and a view; a copied one has a copy.
struct MadeHold {
  struct FreeCopy {
    void operator()(std::byte* copy) const { ::operator delete(copy, kAlignment); }
  };
  // Arrays are aligned within the batch to 64 bytes.
  static constexpr std::align_val_t kAlignment{4096};

  std::span<std::byte> bytes = {};
  std::unique_ptr<std::byte, FreeCopy> copy = {};
  std::optional<Batch> lease = {};
  std::shared_ptr<PrivateViews> views = {};  // shared with the connection and other batches
  uint64_t from = 0;                         // of the view in its segment
  posix::Mapping view = {};
};

}  // namespace client

namespace {

// Smaller batches are copied: that takes less time than looking for written pages.
constexpr size_t kWorthLending = size_t{1} << 20;

Status NoMemory(size_t bytes) {
  return Status(Code::kResourceExhausted, absl::StrCat("no memory for a copy of a batch of ", bytes,
                                                       " bytes; hold fewer batches"));
}

}  // namespace

std::span<const std::byte> Batch::made() const { return {view_.made, view_.made_bytes}; }

bool Batch::MayBeLent() const {
  return view_.made_bytes >= kWorthLending && view_.views != nullptr && lease_->MayLend();
}

// Whether it could be lent. The lease stays with this batch if not.
bool Batch::Lend(client::MadeHold& hold) {
  absl::StatusOr<posix::Mapping> view =
      view_.views->Take(view_.made_from, view_.made_bytes, view_.made_most);
  if (!view.ok()) return false;
  hold.views = view_.views->shared_from_this();
  hold.from = view_.made_from;
  hold.view = *std::move(view);
  hold.bytes = hold.view.bytes().first(view_.made_bytes);
  hold.lease = std::move(*this);
  return true;
}

Status Batch::CopyMade(client::MadeHold& hold) {
  const std::span<const std::byte> from = made();
  hold.copy.reset(static_cast<std::byte*>(
      ::operator new(from.size(), client::MadeHold::kAlignment, std::nothrow)));
  if (hold.copy == nullptr) return NoMemory(from.size());
  std::memcpy(hold.copy.get(), from.data(), from.size());
  hold.bytes = {hold.copy.get(), from.size()};
  Release();
  return {};
}

Result<MadeBatch> MadeBatch::From(Batch& batch) {
  if (Status held = batch.CheckHeld(); !held.ok()) return held;
  if (batch.made().empty()) {
    return Status(Code::kFailedPrecondition,
                  "this batch is not one of a Python dataset; read its tensors instead");
  }
  auto hold = std::make_unique<client::MadeHold>();
  if (!batch.MayBeLent() || !batch.Lend(*hold)) {
    if (Status copied = batch.CopyMade(*hold); !copied.ok()) return copied;
  }
  return MadeBatch(std::move(hold));
}

MadeBatch::MadeBatch(std::unique_ptr<client::MadeHold> hold) : hold_(std::move(hold)) {}
MadeBatch::MadeBatch(MadeBatch&&) noexcept = default;

MadeBatch& MadeBatch::operator=(MadeBatch&& other) noexcept {
  if (this != &other) {
    const MadeBatch ends(std::move(*this));
    hold_ = std::move(other.hold_);
  }
  return *this;
}

// In a forked child the mapping stays, because the parent's other threads may have held the lock of
// the views. Pages that were written to are dropped before the slot can get another batch.
MadeBatch::~MadeBatch() {
  if (hold_ == nullptr || !hold_->lease) return;
  if (hold_->lease->InForkedChild()) {
    (void)hold_.release();
    return;
  }
  hold_->views->GiveBack(hold_->from, hold_->bytes.size(), std::move(hold_->view));
  hold_->lease->Release();
}

std::span<std::byte> MadeBatch::bytes() const {
  return hold_ == nullptr ? std::span<std::byte>() : hold_->bytes;
}

bool MadeBatch::lent() const { return hold_ != nullptr && hold_->lease.has_value(); }

}  // namespace penstock
