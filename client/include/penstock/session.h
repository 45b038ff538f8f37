// A session: one trainer process attached to a feed, which it reads batch by batch.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "penstock/batch.h"
#include "penstock/export.h"
#include "penstock/finish.h"
#include "penstock/options.h"
#include "penstock/status.h"
#include "penstock/tensor.h"

namespace penstock {

// Where a session's time went, from its first batch on: did the trainer wait, or the loader?
struct SessionStats {
  uint64_t batches = 0;        // taken
  uint64_t batches_ready = 0;  // of those, taken without a wait
  double waited_seconds = 0;   // spent waiting in Next, NextInto and WaitReady
  double busy_seconds = 0;     // the rest of the time: the consumer's own work
  // Rows that the GPU could not decode (SessionOptions::gpu_decoding). Each is a copy of another
  // row of its batch, with that one's id and label. The daemon's workers decode such a sample from
  // then on.
  uint64_t rows_replaced = 0;
  // GPU memory that decoding holds besides batches: decoded images, tables, and what nvJPEG asks
  // for.
  uint64_t decoder_bytes = 0;

  // From the daemon, at the moment of the call; all zero if it did not answer.
  bool daemon_answered = false;
  uint64_t batches_ahead = 0;       // ready and not yet taken
  uint64_t samples_decoded = 0;     // of this feed, for all sessions that share it
  uint64_t samples_replaced = 0;    // of this feed
  double workers_busy = 0;          // share of the daemon's worker time, 0 to 1, last second or so
  uint64_t samples_per_second = 0;  // decoded by those workers, for all sessions

  std::string verdict = {};  // one sentence: who waits for whom, and at which stage
};

// **Thread safety**: one thread at a time, except Stats() and Waited().
// **Ownership**: batches keep their memory after the session is gone.
// **Errors**: in a forked child, and after a move, calls return kFailedPrecondition.
class PENSTOCK_EXPORT Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();  // closes, within a second

  // Returns the next batch, waiting for at most `timeout`. A batch that is ready costs no system
  // call and no allocation. A batch on a GPU may be used on any stream.
  //
  // **Errors**:
  // - kEndOfEpoch: once after each epoch's last batch. An epoch without a batch for this rank is
  //   skipped.
  // - kEndOfData: after the last epoch.
  // - kUnavailable: the daemon has died, which is noticed within 2 s. The next call reconnects, for
  //   as long as its timeout lasts, and requests the same batch.
  // - kDeadlineExceeded: no batch came in time. The message names the slow stage; asking the daemon
  //   for it takes at most one more second.
  // - kResourceExhausted: for a second, this consumer has held all the batches that it may hold;
  //   release one. (A second, because another thread may be about to.)
  // - kHostWanted: no batch of a Python dataset is ready, and the daemon wants this process to fork
  // a
  //   host. Fork one, call NoteHostForked, and call Next again.
  // - kDataLoss and others: the feed failed; every later call returns the same error.
  // - kFailedPrecondition: the session is closed, or the dataset changed while the daemon was gone.
  Result<Batch> Next(std::chrono::milliseconds timeout = std::chrono::minutes(5));

  // The same, for use on `stream`: if the batch is still being copied, the stream waits for it, not
  // the host.
  //
  // **Errors**: also kFailedPrecondition while the stream is being captured into a graph.
  Result<Batch> Next(Stream stream, std::chrono::milliseconds timeout = std::chrono::minutes(5));

  // Next and FinishInto in one call: fills memory that the caller keeps, as CUDA graphs need it.
  // The returned batch is already released; its numbers remain.
  //
  // **Requires**: `into` has room for a full batch; otherwise kInvalidArgument, and no batch is
  // taken.
  Result<Batch> NextInto(const Finish& finish, const Into& into, Stream stream,
                         std::chrono::milliseconds timeout = std::chrono::minutes(5));

  // Waits for at most `timeout` until Next can return a batch or an error without waiting. Returns
  // whether it can. For callers that do other work while they wait.
  Result<bool> WaitReady(std::chrono::milliseconds timeout);

  // How batches are delivered (never kAuto), and the reason: which better ways failed and how, or
  // what decided. It may change when the daemon restarts, but the device stays the same.
  Delivery delivery() const;
  std::string delivery_reason() const;
  HandleKind handle() const;  // kAuto unless delivery() is kDevice
  int device() const;         // CUDA's number for the GPU in this process; -1: host memory

  State state() const;
  uint64_t samples() const;  // of the dataset, or of its range
  uint32_t classes() const;
  uint64_t dataset_digest() const;  // DatasetInfo::digest of what the session reads
  // Batches of this rank in the current epoch; in the epoch in which the session began or was
  // resumed, those from that point on.
  uint64_t batches_in_epoch() const;
  Shape shape() const;  // of a full batch's images; height and width are 0 without images
  // The tensors of each batch, in the order of Batch::tensor. Images, if any, come first.
  std::vector<Field> tensors() const;
  bool labeled() const;  // if false, labels have no meaning

  // For a Python dataset: how many hosts (maker.h) the daemon wants this process to fork that it
  // has not answered for. One host answers for all. Costs no system call. A session that lost its
  // daemon wants one again once it has reconnected, under another token.
  uint32_t HostsWanted() const;
  // This process has forked the host that HostsWanted reported last, or could not.
  Status NoteHostForked();
  // What that host shows the daemon; empty for other datasets.
  std::string host_token() const;

  // Counts so far, and a verdict. Asks the daemon, for at most a second; the client's own counts
  // are valid without its answer and after Close.
  //
  // **Thread safety**: any thread, even while another one is in Next.
  SessionStats Stats();

  // SessionStats::waited_seconds alone, without asking the daemon. **Thread safety**: any thread.
  std::chrono::nanoseconds Waited() const;

  // Asks the daemon how many samples of this dataset it has replaced or quarantined so far, or has
  // workers decode because a GPU could not.
  Result<uint64_t> Quarantined();

  // Ends the session; the daemon learns of it once the last batch is released. Takes at most a
  // second. Next then returns kFailedPrecondition.
  Status Close();

 private:
  friend class Client;
  explicit Session(std::unique_ptr<client::SessionCore> core);
  std::unique_ptr<client::SessionCore> core_;
};

}  // namespace penstock
