// GPU memory for finished batches, for programs without a framework's allocator.
//
// A pool belongs to one device and has a stream of its own. Batches are finished on that stream,
// into buffers of the pool, and then handed to the streams that read them:
//
//   auto pool = DevicePool::Open(session.device());
//   auto buffer = pool->Take(bytes);
//   auto batch = session.Next(pool->stream());
//   batch->FinishInto(finish, {buffer->data(), bytes, nullptr}, pool->stream());
//   buffer->UsableOn(stream);                     // then read it on that stream
//
// Everything happens in stream order. The host waits only in Wait(), and in the first calls, which
// allocate. The pool reuses a returned buffer only after the last work, so far, of each stream that
// the buffer was handed to.
//
// **Thread safety**: a pool may be used on any thread; a buffer on any thread, but on one at a
// time.
// **Ownership**: buffers may outlive their pool. A stream must outlive the buffers handed to it.
// **Errors**: in a forked child every call returns kFailedPrecondition, and destructors do nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "penstock/export.h"
#include "penstock/penstock.h"
#include "penstock/status.h"

namespace penstock {

namespace client {  // implementation; not part of the interface
class PoolCore;
struct PoolBlock;
}  // namespace client

// Memory of a pool.
//
// **Ownership**: the destructor returns the memory to the pool, in stream order after everything
// that its streams have been given so far.
class PENSTOCK_EXPORT DeviceBuffer {
 public:
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer();

  void* data() const;    // device memory
  size_t bytes() const;  // at least the requested size

  // Hands the buffer to a stream: `stream` waits for the pool's stream as it is now, and the buffer
  // is reused only after `stream`.
  //
  // **Errors**: kFailedPrecondition while the stream is being captured into a graph.
  Status UsableOn(Stream stream);

  // As UsableOn, then copies `bytes` from memory of the same device into the buffer, on `stream`.
  //
  // **Errors**: kInvalidArgument if the bytes do not fit; as UsableOn.
  Status CopyFrom(const void* from, size_t bytes, Stream stream);

 private:
  friend class DevicePool;
  DeviceBuffer(std::shared_ptr<client::PoolCore> core, std::unique_ptr<client::PoolBlock> block);
  void GiveBack();

  std::shared_ptr<client::PoolCore> core_;  // shared with the pool and its other buffers
  std::unique_ptr<client::PoolBlock> block_;
};

class PENSTOCK_EXPORT DevicePool {
 public:
  // `device`: CUDA's number for it in this process, as Session::device() returns it.
  //
  // **Errors**: kInvalidArgument if there is no such device; otherwise the message says why CUDA
  // cannot be used.
  static Result<DevicePool> Open(int device);
  DevicePool(DevicePool&&) noexcept;
  DevicePool& operator=(DevicePool&&) noexcept;
  ~DevicePool();

  int device() const;
  Stream stream() const;

  // Returns a buffer that may be written on stream() from now on: the oldest returned one of this
  // size, or a new one.
  //
  // **Errors**: kResourceExhausted if the device is out of memory.
  Result<DeviceBuffer> Take(size_t bytes);

  // Makes `stream` wait for what stream() has been given so far.
  //
  // **Errors**: kFailedPrecondition while `stream` is being captured into a graph.
  Status LetFollow(Stream stream);

  // Waits on the host for what stream() has been given so far, for readers without a stream.
  Status Wait();

  // Returns a stream of the pool that waits for everything that `streams` have been given so far.
  // Pass it to Batch::Release for a batch that several streams read.
  Result<Stream> Behind(std::span<const Stream> streams);

 private:
  friend class client::PoolCore;
  explicit DevicePool(std::shared_ptr<client::PoolCore> core);
  std::shared_ptr<client::PoolCore> core_;  // shared with its buffers
};

}  // namespace penstock
