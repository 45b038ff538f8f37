// Penstock's C++ client: connect, open, next, release, close.
//
// Client: any thread. Session: one thread at a time. Batch: any thread, movable, gives its slot
// back when it goes out of scope. All of them belong to the process that made them: in a forked
// child every call says so, and destructors touch nothing. No call throws, and none raises SIGPIPE.
//
// A session delivers to host memory unless it is asked for a GPU. On a GPU a training step is
//   auto batch = session.Next(stream);                   // what is ready, or a wait on the host
//   batch->FinishInto(finish, {images, bytes, labels}, stream);   // one kernel; the slot goes back
// and nothing of Penstock's lies behind the tensors that it filled.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "penstock/decoding.h"
#include "penstock/export.h"
#include "penstock/finish.h"
#include "penstock/sampling.h"
#include "penstock/status.h"
#include "penstock/tensor.h"

namespace penstock {

namespace client {  // what is behind; not part of the interface
class Attachment;
class Lender;
class PinnedStage;
class SessionCore;
struct Grant;
struct SyntheticRows;
struct TensorPlace;
}  // namespace client

// Where a session stands after the last batch that Next returned; the same on every rank that
// called Next as often since its epoch began. Resumes with any world size and batch size.
struct PENSTOCK_EXPORT State {
  uint64_t epoch = 0;
  uint64_t consumed = 0;  // samples of the epoch, by all ranks together
  uint64_t seed = 0;
  uint64_t fingerprint = 0;  // of the feed; 0: not checked
  uint64_t quarantine_version = 0;

  bool operator==(const State&) const = default;

  // One line: "epoch=1 consumed=640 seed=7 fingerprint=0123456789abcdef quarantine_version=0".
  std::string ToString() const;
  // kInvalidArgument names what was missing or not understood.
  static Result<State> FromString(const std::string& text);
};

// How a batch reaches the consumer. kDevice: the daemon copies it into GPU memory that it shares
// with this process, once for all sessions of this user. kPinned: the library copies it from shared
// host memory, one batch ahead, on a stream of its own. kHost: nobody copies it.
enum class Delivery { kAuto, kDevice, kPinned, kHost };

// How the daemon's GPU memory is shared. kIpc fails between containers whose process numbers are
// equal; kVmm works there, too, and the consumer can only read. kAuto: kIpc where it works.
enum class HandleKind { kAuto, kIpc, kVmm };

// "device", "pinned", "host", "auto"; "ipc", "vmm", "auto".
PENSTOCK_EXPORT const char* DeliveryName(Delivery delivery);
PENSTOCK_EXPORT const char* HandleName(HandleKind kind);

struct SessionOptions {
  // A name; or an absolute path, for a private daemon; or, anywhere, rows that nobody stores, made
  // where they are consumed: "synthetic:224x224x3,samples=1281167,classes=1000".
  std::string dataset = {};
  uint32_t batch_size = 1;
  Order order = Order::kShuffled;
  // Of kGiven: the sample at each place of an epoch, which is so long; samples may come more than
  // once. Shared with whoever made it: it is sent when a session opens, and again to a daemon that
  // came back.
  std::shared_ptr<const std::vector<uint64_t>> given = {};
  // Of kGiven, where every rank gives an order of its own: a sample that comes on several of them
  // is cropped and flipped anew on each. None: one order, which all ranks share.
  std::optional<GivenBy> given_by = {};
  // Of kShuffledInWindows; none: its defaults.
  std::optional<ShuffleWindow> shuffle_window = {};
  std::optional<SampleRange> range = {};  // these samples alone; not of a mixture
  uint64_t seed = 0;
  // What to make of images: one of the two crops, a RandomResizedCrop where neither is set. Rows
  // that need no decoding come as they are (MNIST's files, synthetic ones), and with any of these
  // five set such a dataset is refused.
  std::optional<RandomResizedCrop> random_crop = {};
  std::optional<ResizeCenterCrop> center_crop = {};
  double flip_probability = 0.0;  // horizontal
  Color color = Color::kRgb;
  bool apply_exif_orientation = false;  // before the crop; ignored otherwise, as ImageFolder does
  // What shall be in a batch: beside an image that is decoded; of rows that need no decoding
  // instead of all fields that have one shape. DatasetInfo::fields says what there is.
  std::vector<FieldWish> fields = {};
  uint32_t rank = 0, world_size = 1;
  Remainder remainder = Remainder::kDefault;
  uint32_t window = 4;              // batches ahead, 1 to 256
  uint64_t epochs = 0;              // the one it begins in and those after it; 0: without end
  std::optional<State> state = {};  // resume here; its seed is the feed's
  bool fail_on_bad_sample = false;
  std::string name = {};  // for status, at most 128 bytes
  // Where batches shall be: "host"; "cuda", the device that is current in the calling thread;
  // "cuda:N", device N as this process counts; "auto": as "cuda" where that is possible, else host,
  // and the session says why (delivery_reason). It stays that device whatever is current later.
  std::string device = "host";
  // What may be tried to get them onto a GPU. kAuto: kDevice, else kPinned.
  Delivery delivery = Delivery::kAuto;
  HandleKind handle = HandleKind::kAuto;  // of kDevice
  // Batches in GPU memory at once: being copied, ready, and held; at most 16. 0: as the daemon is
  // configured, 3 unless somebody changed it.
  uint32_t device_depth = 0;
  // How long Open may take; a large dataset that the daemon sees for the first time is indexed
  // first.
  std::chrono::milliseconds open_timeout = std::chrono::minutes(30);
};

// A cudaStream_t as CUDA has it: null is the legacy default stream, 1 and 2 are CUDA's names for it
// and for the per-thread one. Of the session's device. Host sessions do not look at it.
using Stream = void*;

// Where a finish shall write: device memory for batches on a GPU, host memory for the others; any
// alignment.
struct Into {
  void* images = nullptr;
  size_t image_bytes = 0;     // Batch::FinishedBytes, at least
  int64_t* labels = nullptr;  // one for each row; null: not wanted
  // What else of the batch is wanted, each into memory of its own.
  std::span<const TensorInto> tensors = {};
};

// One batch, held by a lease on its slot. Its views are valid until it is released: also after the
// session is closed or the daemon died. Then they are empty; its numbers stay.
class PENSTOCK_EXPORT Batch {
 public:
  Batch(Batch&& other) noexcept;
  Batch& operator=(Batch&& other) noexcept;
  ~Batch();  // as Release()

  uint64_t epoch() const { return view_.epoch; }
  uint64_t step() const { return view_.step; }  // within the epoch, from where the session began it
  uint64_t first() const { return view_.first; }  // place of row 0 in the epoch
  uint32_t rows() const { return view_.shape.rows; }
  uint32_t valid_rows() const { return view_.valid_rows; }  // not padding: the first ones
  bool last_of_epoch() const { return view_.last_of_epoch; }
  Shape shape() const { return view_.shape; }
  bool on_device() const { return view_.on_device; }
  // Whether its rows are stored nowhere: a finish makes them, random bytes that are a function of
  // the dataset, the sample and the epoch alone.
  bool synthetic() const { return view_.synthetic != nullptr; }

  // The stored bytes in shared memory, read-only: uint8, rows × height × width × channels. Empty
  // for a batch on a GPU, and where nothing is stored.
  std::span<const uint8_t> images() const {
    return {view_.images, view_.images == nullptr ? 0 : view_.image_bytes};
  }
  // The tensors of Session::tensors(), an image among them: where they lie, in host memory or on
  // the GPU; `tensor` counts from 0. What images() and device_images() say holds here. data is null
  // where nothing is stored.
  TensorView tensor(size_t tensor) const;

  // In host memory, whatever the delivery.
  std::span<const int64_t> labels() const {
    return {view_.labels, view_.labels == nullptr ? 0 : view_.shape.rows};
  }
  std::span<const uint64_t> sample_ids() const {
    return {view_.sample_ids, view_.sample_ids == nullptr ? 0 : view_.shape.rows};
  }

  // The same rows and labels in GPU memory, to be read only; null for a batch in host memory, and
  // where nothing is stored. Who
  // asks for them gives the batch back by Release(stream), behind the last work that reads them.
  const uint8_t* device_images() const {
    shown_ = view_.device_images != nullptr;
    return view_.device_images;
  }
  const int64_t* device_labels() const {
    shown_ = view_.device_labels != nullptr;
    return view_.device_labels;
  }

  // The stored rows into host memory, from wherever they are; for tests and for looking at a batch.
  // Waits for the copy. `bytes`: rows × height × width × channels, at least.
  Status CopyImages(void* into, size_t bytes) const;

  // Bytes that a finish writes to `images`.
  size_t FinishedBytes(const Finish& finish) const;

  // In host memory: writes rows in the asked type and layout to `into` (FinishedBytes, any
  // alignment). kInvalidArgument, also for a batch on a GPU and for memory that is not the host's.
  Status FinishInto(const Finish& finish, void* into, size_t bytes) const;

  // Puts one kernel into the stream that writes rows and labels to `into`, one more for each other
  // tensor that is wanted, and right behind it the
  // batch's release: it costs a few microseconds of the host's time and never waits. The batch is
  // then released, so read labels() and sample_ids() before. A batch in host memory is finished at
  // once, into host memory. kFailedPrecondition while the stream is captured into a graph: fill
  // memory that the graph reads, outside of it. After an error the batch is still held.
  Status FinishInto(const Finish& finish, const Into& into, Stream stream);

  // Gives the slot back when the stream has come this far. Errors as FinishInto.
  Status Release(Stream stream);

  // Gives the slot back now. No system call unless the daemon sleeps. A batch on a GPU whose device
  // pointers were asked for may still be read there: so this waits for all of the device's work.
  void Release();

 private:
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
    const client::SyntheticRows* synthetic = nullptr;   // the lease's
    std::span<const client::TensorPlace> tensors = {};  // the lease's
  };
  Batch(client::Lender* lease, const View& view) : lease_(lease), view_(view) {}
  Status CheckHeld() const;
  Status CheckTensors(std::span<const TensorInto> tensors) const;
  Status ConvertOnHost(std::span<const TensorInto> tensors) const;
  Status ConvertOnDevice(const Into& into, Stream stream) const;
  Status Synthesize(const Finish& finish, void* into, size_t bytes, int64_t* labels) const;
  Status ReleaseBehind(Stream stream);
  Status FinishOnHost(const Finish& finish, const Into& into);
  Status FinishOnDevice(const Finish& finish, const Into& into, Stream stream);
  void ForgetViews();

  client::Lender* lease_;  // counted; null: empty
  View view_;
  mutable bool shown_ = false;  // device pointers were given out
};

// Who waits for whom in a session, from its first batch on.
struct SessionStats {
  uint64_t batches = 0;        // taken
  uint64_t batches_ready = 0;  // of them, without a wait
  double waited_seconds = 0;   // for batches: in Next, NextInto and WaitReady
  double busy_seconds = 0;     // the rest of the time: the consumer's own work
  // From the daemon, as of now; zeros where it did not answer.
  bool daemon_answered = false;
  uint64_t batches_ahead = 0;    // ready and not taken
  uint64_t samples_decoded = 0;  // of the feed, for all who share it
  uint64_t samples_replaced = 0;
  double workers_busy = 0;          // 0 … 1: the daemon's, over the last second or so
  uint64_t samples_per_second = 0;  // that they decode, for all sessions
  // One sentence: who holds up whom, and where.
  std::string verdict = {};
};

class PENSTOCK_EXPORT Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();  // closes, within a second

  // The next batch, waiting at most `timeout`. kEndOfEpoch once after each epoch's last batch (an
  // epoch that has no batch for this rank is passed over), kEndOfData after the last epoch.
  // kUnavailable within 2 s when the daemon dies; the next call connects again, for as long as its
  // timeout lasts, and asks for the same batch. A ready batch costs no system call and no
  // allocation. A batch on a GPU may be used on any stream.
  // kDeadlineExceeded says which stage is slow; it asks the daemon, which takes a second at most.
  // kResourceExhausted within a second where this consumer holds so many batches that no other can
  // come: release one. (Not at once, since another thread may be about to.)
  Result<Batch> Next(std::chrono::milliseconds timeout = std::chrono::minutes(5));

  // The same for use on that stream: where the batch is still being copied, the stream waits, not
  // the host. kFailedPrecondition while the stream is captured into a graph.
  Result<Batch> Next(Stream stream, std::chrono::milliseconds timeout = std::chrono::minutes(5));

  // Next and FinishInto: fills memory that the caller keeps, as CUDA graphs want it. `into` has to
  // hold a full batch; nothing is taken otherwise. What it returns is released and has its numbers.
  Result<Batch> NextInto(const Finish& finish, const Into& into, Stream stream,
                         std::chrono::milliseconds timeout = std::chrono::minutes(5));

  // Whether Next has an answer, a batch or not, without waiting for one: waits for that at most
  // `timeout`. For those who have other things to look after while they wait.
  Result<bool> WaitReady(std::chrono::milliseconds timeout);

  // How batches come, never kAuto, and why so: what was tried before and how it failed, or what
  // decided. After a daemon's restart it may be another one, on the same device.
  Delivery delivery() const;
  std::string delivery_reason() const;
  HandleKind handle() const;  // of kDevice; else kAuto
  int device() const;         // which GPU, as this process counts; -1: host memory

  State state() const;
  uint64_t samples() const;  // of the dataset, or of its range
  uint32_t classes() const;
  uint64_t batches_in_epoch()
      const;            // of this rank, in what is left of the current epoch as it began
  Shape shape() const;  // of a full batch's images; sides of 0 where there are none
  // What is in each batch, in the order of Batch::tensor; images, where there are some, come first.
  std::vector<Field> tensors() const;
  bool labeled() const;  // otherwise labels mean nothing

  // Who waits for whom so far. Asks the daemon, for a second at most; what is counted here is there
  // without its answer, and in a closed session. Any thread, also while another one is in Next.
  SessionStats Stats();

  // How many samples of this dataset the daemon replaced or quarantined so far. Asks the daemon.
  Result<uint64_t> Quarantined();

  // Ends the session; where batches are still held, when the last of them is released. Next then
  // says that it is closed. Never blocks for more than a second.
  Status Close();

 private:
  friend class Client;
  explicit Session(std::unique_ptr<client::SessionCore> core);
  std::unique_ptr<client::SessionCore> core_;
};

struct ClientOptions {
  // Where the daemon is; empty: $PENSTOCK_ADDRESS, /run/penstock/penstock.sock,
  // $XDG_RUNTIME_DIR/penstock/penstock.sock, /tmp/penstock-$UID/penstock.sock.
  std::string address = {};
  // Where none answers and no address was given: start, or join, this user's private daemon. Its
  // program is $PENSTOCK_DAEMON, else penstockd beside this library, else in $PATH.
  bool start_private = false;
  std::string name = {};  // for status; default: the program's name
  // Where no address was given: this user's private daemon, whatever others there are. It takes
  // datasets by their paths.
  bool only_private = false;
  // Asked every 100 ms by a thread whose call waits for the daemon's answer; true ends the call
  // with kCancelled. For programs that look after signals themselves. Empty: not asked.
  std::function<bool()> interrupted = {};
};

struct DatasetInfo {
  std::string name;
  uint64_t samples = 0;
  std::vector<std::string> classes;
  std::string kind = {};  // "folder", "tar", "idx", "npy", "tokens", "tfrecord", "synthetic", …
  Shape row_shape = {};   // of one image that is not decoded; else all 0
  // What can be asked for, beside the image where samples are decoded.
  std::vector<Field> fields = {};
  bool decoded = true;
  bool labeled = true;        // otherwise labels mean nothing
  uint64_t first_sample = 0;  // not 0 where the name means a part, whose samples keep their numbers
  uint64_t epoch_samples = 0;  // as many as there are; of a mixture as configured
};

// Samples that other ones stand in for.
struct BadSamples {
  uint64_t total = 0;
  std::string path, reason;  // of the first one; empty where there is none
};

struct SampleInfo {
  std::string path;  // where its bytes are, for people
  int64_t label = 0;
};

class PENSTOCK_EXPORT Client {
 public:
  static Result<Client> Connect(const ClientOptions& options = {});
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();  // its sessions live on

  Result<Session> Open(const SessionOptions& options);
  Result<DatasetInfo> Describe(const std::string& dataset);
  Result<std::string> ContentDigest(const std::string& dataset);  // SHA-256 of every byte, in hex
  // What these samples of the dataset are, in the order of `ids`; any number of them, 4096 a call
  // to the daemon. kInvalidArgument names one that the dataset does not have.
  Result<std::vector<SampleInfo>> Samples(const std::string& dataset,
                                          std::span<const uint64_t> ids);
  // How many samples of the dataset could not be used so far, and one of them. Asks the daemon.
  Result<BadSamples> Bad(const std::string& dataset);
  const std::string& address() const;
  bool is_private() const;  // started by this client, or by another of this user's

 private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock
