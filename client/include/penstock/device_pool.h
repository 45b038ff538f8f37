// GPU memory for finished batches, where no framework's allocator gives it.
//
// A pool belongs to one device and has a stream of its own: batches are finished there, into
// buffers of the pool, and handed to the streams that read them. A buffer that is given back is
// written again only behind the last work of each stream that it was handed to. All of it in stream
// order: nothing here waits on the host but Wait, and the first calls, which allocate.
//
//   auto pool = DevicePool::Open(session.device());
//   auto buffer = pool->Take(bytes);
//   auto batch = session.Next(pool->stream());
//   batch->FinishInto(finish, {buffer->data(), bytes, nullptr}, pool->stream());
//   buffer->UsableOn(stream);                     // then read it on that stream
//
// Any thread, but a buffer serves one at a time. Buffers may outlive their pool. Streams that a
// buffer was handed to have to outlive the buffer. In a forked child every call says so, and
// destructors touch nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "penstock/export.h"
#include "penstock/penstock.h"
#include "penstock/status.h"

namespace penstock {

namespace client {  // what is behind; not part of the interface
class PoolCore;
struct PoolBlock;
}  // namespace client

// Memory of a pool. It is given back when it goes out of scope, behind all that its streams were
// given by then.
class PENSTOCK_EXPORT DeviceBuffer {
 public:
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer();

  void* data() const;
  size_t bytes() const;  // at least as many as were asked for

  // Hands it to a stream: that stream waits for what the pool's stream was given so far, and the
  // buffer goes back behind it. kFailedPrecondition while the stream is captured into a graph.
  Status UsableOn(Stream stream);

  // Hands it to the stream and copies there, from memory of the same device. kInvalidArgument when
  // it does not fit.
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
  // `device`: as this process counts, Session::device(). kFailedPrecondition says why CUDA cannot
  // be used.
  static Result<DevicePool> Open(int device);
  DevicePool(DevicePool&&) noexcept;
  DevicePool& operator=(DevicePool&&) noexcept;
  ~DevicePool();

  int device() const;
  Stream stream() const;

  // A buffer that may be written on stream() from now on: a buffer of this size that was given
  // back, the oldest first, or a new one. kResourceExhausted when the device has no more memory.
  Result<DeviceBuffer> Take(size_t bytes);

  // That stream waits for what stream() was given so far.
  Status LetFollow(Stream stream);

  // Waits on the host for what stream() was given so far: for readers that name no stream.
  Status Wait();

  // A stream of the pool's that waits for all that these were given so far. For Batch::Release of a
  // batch that several streams read.
  Result<Stream> Behind(std::span<const Stream> streams);

 private:
  friend class client::PoolCore;
  explicit DevicePool(std::shared_ptr<client::PoolCore> core);
  std::shared_ptr<client::PoolCore> core_;  // shared with its buffers
};

}  // namespace penstock
