#include "client/src/gpu/pool_core.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/core/convert.h"
#include "client/src/core/fork.h"

namespace penstock::client {
namespace {

// CUDA allocates in this granularity, and equal sizes are easier to find again.
uint64_t Rounded(uint64_t bytes) {
  constexpr uint64_t kGranule = 512;
  return std::max<uint64_t>((bytes + kGranule - 1) / kGranule * kGranule, kGranule);
}

}  // namespace

PoolCore::PoolCore(std::shared_ptr<Gpu> gpu) : generation_(WatchForks()), gpu_(std::move(gpu)) {}

absl::StatusOr<std::shared_ptr<PoolCore>> PoolCore::Make(std::shared_ptr<Gpu> gpu) {
  std::shared_ptr<PoolCore> core(new PoolCore(std::move(gpu)));
  PENSTOCK_ASSIGN_OR_RETURN(core->stream_, core->gpu_->MakeStream());
  PENSTOCK_ASSIGN_OR_RETURN(core->returns_, core->gpu_->MakeStream());
  const base::MutexLock lock(core->mark_mutex_);
  PENSTOCK_ASSIGN_OR_RETURN(core->mark_, core->gpu_->MakeEvent());
  return core;
}

bool PoolCore::Forked() const { return ForkedSince(generation_); }

absl::StatusOr<std::unique_ptr<PoolBlock>> PoolCore::Take(uint64_t bytes) {
  const uint64_t rounded = Rounded(bytes);
  std::unique_ptr<PoolBlock> block = TakeFree(rounded);
  if (block == nullptr) return MakeBlock(rounded);
  if (std::exchange(block->was_read, false)) {
    PENSTOCK_RETURN_IF_ERROR(block->read->MakeWait(stream()));
  }
  return block;
}

std::unique_ptr<PoolBlock> PoolCore::TakeFree(uint64_t bytes) {
  const base::MutexLock lock(free_mutex_);
  const auto found = std::find_if(free_.begin(), free_.end(), [&](const auto& block) {
    return block->memory->bytes() == bytes;
  });
  if (found == free_.end()) return nullptr;
  std::unique_ptr<PoolBlock> block = std::move(*found);
  free_.erase(found);
  return block;
}

absl::StatusOr<std::unique_ptr<PoolBlock>> PoolCore::MakeBlock(uint64_t bytes) {
  auto block = std::make_unique<PoolBlock>();
  PENSTOCK_ASSIGN_OR_RETURN(block->memory, gpu_->Allocate(bytes));
  PENSTOCK_ASSIGN_OR_RETURN(block->read, gpu_->MakeEvent());
  return block;
}

absl::Status PoolCore::Hand(PoolBlock& block, Stream stream) {
  if (std::count(block.readers.begin(), block.readers.end(), stream) != 0) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(LetFollow(stream));
  block.readers.push_back(stream);
  return absl::OkStatus();
}

absl::Status PoolCore::Copy(PoolBlock& block, const void* from, uint64_t bytes, Stream stream) {
  if (bytes > block.memory->bytes()) {
    return absl::InvalidArgumentError(absl::StrCat("the buffer is too small: got ",
                                                   block.memory->bytes(),
                                                   " bytes, expected at least ", bytes));
  }
  PENSTOCK_RETURN_IF_ERROR(Hand(block, stream));
  return gpu_->CopyOnDevice(block.memory->data(), static_cast<const std::byte*>(from), bytes,
                            stream);
}

// A block that only the pool's stream wrote needs no event: the next writer uses the same stream.
absl::Status PoolCore::NoteReaders(PoolBlock& block) {
  if (block.readers.empty()) return absl::OkStatus();
  for (const Stream reader : block.readers) PENSTOCK_RETURN_IF_ERROR(RefuseCapture(*gpu_, reader));
  Stream last = block.readers.front();
  if (block.readers.size() > 1) {
    PENSTOCK_ASSIGN_OR_RETURN(last, Behind(block.readers));
  }
  PENSTOCK_RETURN_IF_ERROR(block.read->Record(last));
  block.was_read = true;
  return absl::OkStatus();
}

void PoolCore::GiveBack(std::unique_ptr<PoolBlock> block) {
  const bool noted = NoteReaders(*block).ok();
  block->readers.clear();
  const base::MutexLock lock(free_mutex_);
  if (noted) {
    free_.push_back(std::move(block));
  } else {
    lost_.push_back(std::move(block));
  }
}

// Records and waits under one lock, so that no other thread moves the mark between. Neither blocks.
absl::Status PoolCore::LetFollow(Stream stream) {
  PENSTOCK_RETURN_IF_ERROR(RefuseCapture(*gpu_, stream));
  const base::MutexLock lock(mark_mutex_);
  PENSTOCK_RETURN_IF_ERROR(mark_->Record(stream_->get()));
  return mark_->MakeWait(stream);
}

absl::Status PoolCore::Wait() {
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<Gpu::Event> reached, gpu_->MakeEvent());
  PENSTOCK_RETURN_IF_ERROR(reached->Record(stream()));
  return reached->Wait();
}

absl::StatusOr<Stream> PoolCore::Behind(std::span<const Stream> streams) {
  const base::MutexLock lock(mark_mutex_);
  for (const Stream stream : streams) {
    PENSTOCK_RETURN_IF_ERROR(mark_->Record(stream));
    PENSTOCK_RETURN_IF_ERROR(mark_->MakeWait(returns_->get()));
  }
  return returns_->get();
}

}  // namespace penstock::client
