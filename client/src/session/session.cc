// Session: a thin wrapper around SessionCore. In a forked child it leaks its member instead of
// destroying it.
#include <utility>

#include "client/src/core/convert.h"
#include "client/src/core/grant.h"
#include "client/src/session/session_core.h"
#include "penstock/penstock.h"

namespace penstock {
namespace {

Status SessionMovedFrom() {
  return Status(Code::kFailedPrecondition, "the session was moved from; use the one it moved to");
}

void End(std::unique_ptr<client::SessionCore> core) {
  if (core == nullptr) return;
  if (core->Forked()) {
    (void)core.release();
  } else {
    (void)core->Close();
  }
}

}  // namespace

Session::Session(std::unique_ptr<client::SessionCore> core) : core_(std::move(core)) {}

Session::Session(Session&&) noexcept = default;

Session& Session::operator=(Session&& other) noexcept {
  if (this != &other) End(std::exchange(core_, std::move(other.core_)));
  return *this;
}

Session::~Session() { End(std::move(core_)); }

Result<Batch> Session::Next(std::chrono::milliseconds timeout) {
  if (core_ == nullptr) [[unlikely]]
    return SessionMovedFrom();
  return core_->Next(timeout);
}

Result<Batch> Session::Next(Stream stream, std::chrono::milliseconds timeout) {
  if (core_ == nullptr) return SessionMovedFrom();
  return core_->Next(stream, timeout);
}

Result<Batch> Session::NextInto(const Finish& finish, const Into& into, Stream stream,
                                std::chrono::milliseconds timeout) {
  if (core_ == nullptr) return SessionMovedFrom();
  return core_->NextInto(finish, into, stream, timeout);
}

Result<bool> Session::WaitReady(std::chrono::milliseconds timeout) {
  if (core_ == nullptr) return SessionMovedFrom();
  return core_->WaitReady(timeout);
}

Delivery Session::delivery() const {
  return core_ == nullptr ? Delivery::kHost : core_->grant().delivery;
}

std::string Session::delivery_reason() const {
  return core_ == nullptr ? std::string() : core_->grant().reason;
}

HandleKind Session::handle() const {
  return core_ == nullptr ? HandleKind::kAuto : core_->grant().handle;
}

int Session::device() const { return core_ == nullptr ? -1 : core_->device(); }

State Session::state() const { return core_ == nullptr ? State() : core_->state(); }

uint64_t Session::samples() const { return core_ == nullptr ? 0 : core_->grant().samples; }

uint32_t Session::classes() const { return core_ == nullptr ? 0 : core_->grant().classes; }

uint64_t Session::dataset_digest() const { return core_ == nullptr ? 0 : core_->grant().digest; }

uint64_t Session::batches_in_epoch() const {
  return core_ == nullptr ? 0 : core_->batches_in_epoch();
}

Shape Session::shape() const {
  if (core_ == nullptr) return {};
  const client::Grant& grant = core_->grant();
  return {grant.batch_size, grant.height, grant.width, grant.channels};
}

std::vector<Field> Session::tensors() const {
  std::vector<Field> fields;
  if (core_ == nullptr) return fields;
  for (const client::TensorPlace& place : core_->grant().tensors) fields.push_back(place.field);
  return fields;
}

bool Session::labeled() const { return core_ != nullptr && core_->grant().labeled; }

uint32_t Session::HostsWanted() const { return core_ == nullptr ? 0 : core_->HostsWanted(); }

Status Session::NoteHostForked() {
  if (core_ == nullptr) return SessionMovedFrom();
  return core_->NoteHostForked();
}

std::string Session::host_token() const {
  if (core_ == nullptr || !core_->grant().made) return {};
  return core_->grant().made->host_token;
}

std::chrono::nanoseconds Session::Waited() const {
  return core_ == nullptr ? std::chrono::nanoseconds(0) : core_->Waited();
}

SessionStats Session::Stats() { return core_ == nullptr ? SessionStats() : core_->Stats(); }

Result<uint64_t> Session::Quarantined() {
  if (core_ == nullptr) return SessionMovedFrom();
  return core_->Quarantined();
}

Status Session::Close() {
  if (core_ == nullptr) return SessionMovedFrom();
  return core_->Close();
}

}  // namespace penstock
