// DevicePool and DeviceBuffer: thin wrappers around PoolCore. In a forked child they leak their
// members instead of destroying them.
#include "penstock/device_pool.h"

#include <utility>

#include "client/src/core/convert.h"
#include "client/src/gpu/pool_core.h"

namespace penstock {
namespace {

Status PoolMovedFrom() {
  return Status(Code::kFailedPrecondition,
                "the pool or buffer was moved from; use the one that it moved to");
}

// Ok if calls may proceed.
Status Check(const std::shared_ptr<client::PoolCore>& core) {
  if (core == nullptr) return PoolMovedFrom();
  return core->Forked() ? client::ForkedStatus() : Status();
}

void Forget(std::shared_ptr<client::PoolCore>& core) {
  if (core != nullptr && core->Forked()) {
    new std::shared_ptr<client::PoolCore>(
        std::move(core));  // leaked on purpose: belongs to the parent
  }
  core.reset();
}

}  // namespace

DeviceBuffer::DeviceBuffer(std::shared_ptr<client::PoolCore> core,
                           std::unique_ptr<client::PoolBlock> block)
    : core_(std::move(core)), block_(std::move(block)) {}

DeviceBuffer::DeviceBuffer(DeviceBuffer&&) noexcept = default;

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  if (this != &other) {
    GiveBack();
    core_ = std::move(other.core_);
    block_ = std::move(other.block_);
  }
  return *this;
}

DeviceBuffer::~DeviceBuffer() { GiveBack(); }

void DeviceBuffer::GiveBack() {
  if (block_ != nullptr && core_->Forked()) {
    (void)block_.release();
  } else if (block_ != nullptr) {
    core_->GiveBack(std::move(block_));
  }
  Forget(core_);
}

void* DeviceBuffer::data() const { return block_ == nullptr ? nullptr : block_->memory->data(); }

size_t DeviceBuffer::bytes() const { return block_ == nullptr ? 0 : block_->memory->bytes(); }

Status DeviceBuffer::UsableOn(Stream stream) {
  if (Status status = Check(core_); !status.ok()) return status;
  return client::ToPublic(core_->Hand(*block_, stream));
}

Status DeviceBuffer::CopyFrom(const void* from, size_t bytes, Stream stream) {
  if (Status status = Check(core_); !status.ok()) return status;
  return client::ToPublic(core_->Copy(*block_, from, bytes, stream));
}

DevicePool::DevicePool(std::shared_ptr<client::PoolCore> core) : core_(std::move(core)) {}

DevicePool::DevicePool(DevicePool&&) noexcept = default;

DevicePool& DevicePool::operator=(DevicePool&& other) noexcept {
  if (this != &other) {
    Forget(core_);
    core_ = std::move(other.core_);
  }
  return *this;
}

DevicePool::~DevicePool() { Forget(core_); }

int DevicePool::device() const { return core_ == nullptr ? -1 : core_->device(); }

Stream DevicePool::stream() const { return core_ == nullptr ? nullptr : core_->stream(); }

Result<DeviceBuffer> DevicePool::Take(size_t bytes) {
  if (Status status = Check(core_); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<client::PoolBlock>> block = core_->Take(bytes);
  if (!block.ok()) return client::ToPublic(block.status());
  return DeviceBuffer(core_, *std::move(block));
}

Status DevicePool::LetFollow(Stream stream) {
  if (Status status = Check(core_); !status.ok()) return status;
  return client::ToPublic(core_->LetFollow(stream));
}

Status DevicePool::Wait() {
  if (Status status = Check(core_); !status.ok()) return status;
  return client::ToPublic(core_->Wait());
}

Result<Stream> DevicePool::Behind(std::span<const Stream> streams) {
  if (Status status = Check(core_); !status.ok()) return status;
  absl::StatusOr<Stream> stream = core_->Behind(streams);
  if (!stream.ok()) return client::ToPublic(stream.status());
  return *stream;
}

}  // namespace penstock
