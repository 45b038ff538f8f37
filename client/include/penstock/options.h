// Options of a client and of a session. Plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "penstock/decoding.h"
#include "penstock/export.h"
#include "penstock/sampling.h"
#include "penstock/status.h"
#include "penstock/tensor.h"

namespace penstock {

struct ClientOptions {
  // Path of the daemon's socket. Empty: the first that answers of $PENSTOCK_ADDRESS (if set, no
  // other), /run/penstock/penstock.sock, $XDG_RUNTIME_DIR/penstock/penstock.sock and
  // /tmp/penstock-$UID/penstock.sock.
  std::string address = {};
  // If no daemon answers and no address was given: starts or joins this user's private daemon. Its
  // program is $PENSTOCK_DAEMON, else penstockd beside this library, else penstockd in $PATH.
  bool start_private = false;
  std::string name = {};  // shown in status; default: the program's name
  // If no address was given: uses this user's private daemon even if another daemon answers. A
  // private daemon takes datasets by their paths.
  bool only_private = false;
  // Called every 100 ms by a thread whose call waits for the daemon's answer; returning true
  // cancels that call. For programs that handle signals themselves. Empty: never called.
  std::function<bool()> interrupted = {};
  // How long Connect waits for a daemon that is not there yet, as while its container is replaced.
  std::chrono::nanoseconds connect_timeout{0};
};

// A session's position after the last batch that Next returned. It is the same on every rank that
// has called Next equally often in this epoch, and can be resumed with any world size and batch
// size.
struct PENSTOCK_EXPORT State {
  uint64_t epoch = 0;
  uint64_t consumed = 0;  // samples of this epoch that all ranks together have taken
  uint64_t seed = 0;
  uint64_t fingerprint = 0;  // of the feed; 0: not checked
  uint64_t quarantine_version = 0;

  bool operator==(const State&) const = default;

  // One line: "epoch=1 consumed=640 seed=7 fingerprint=0123456789abcdef quarantine_version=0".
  std::string ToString() const;
  // **Errors**: kInvalidArgument names the missing or malformed part.
  static Result<State> FromString(const std::string& text);
};

// How a batch reaches the consumer.
enum class Delivery {
  kAuto,    // kDevice if possible, else kPinned
  kDevice,  // the daemon copies it into GPU memory that it shares with this process, once for all
            // sessions of this user
  kPinned,  // the library copies it from shared host memory, one batch ahead, on its own stream
  kHost,    // no copy; the batch stays in shared host memory
};

// How the daemon shares its GPU memory. kIpc fails between containers whose process numbers are
// equal. kVmm works there too, and gives the consumer read access only. kAuto uses kIpc if it
// works.
enum class HandleKind { kAuto, kIpc, kVmm };

// "device", "pinned", "host", "auto" and "ipc", "vmm", "auto".
PENSTOCK_EXPORT const char* DeliveryName(Delivery delivery);
PENSTOCK_EXPORT const char* HandleName(HandleKind kind);

// How the batches of a Python dataset, "python:id=ID,samples=N", are made: by processes that this
// one forks (maker.h), in a private daemon.
struct PythonFeed {
  // Most bytes of a batch as its worker writes it, 4 KiB to 16 GiB. 0: 1 GiB. It costs only address
  // space.
  uint64_t max_batch_bytes = 0;
  // Number of Python workers, 1 to 256. Of a dataset's sessions the largest number counts.
  uint32_t workers = 1;
  // How long a worker may take for a sample, or to collate a batch. 0: an hour. Of a dataset's
  // sessions the longest counts.
  std::chrono::milliseconds timeout{0};
  // For an iterable dataset: number of its streams, at most `workers`. Stream i makes every batch n
  // with n mod streams = i, in order. 0: samples are made by number.
  uint32_t streams = 0;
  // Stays the same between runs of the same program; becomes part of the feed's fingerprint.
  uint64_t digest = 0;
  // Replaces a sample over which workers die; otherwise the feed fails. Workers decide what becomes
  // of one that raises an exception.
  bool replace_bad_samples = false;
  // Whether the workers stay for a while once the dataset's last session is closed, for the next
  // one. Otherwise they end with it.
  bool keep_workers = false;
};

struct SessionOptions {
  // The name of a configured dataset; for a private daemon an absolute path; or, with any daemon,
  // synthetic rows, which the consumer makes itself:
  // "synthetic:224x224x3,samples=1281167,classes=1000".
  std::string dataset = {};
  uint32_t batch_size = 1;  // rows

  // Which samples, in which order.
  Order order = Order::kShuffled;
  // For kGiven: the sample index for each position of an epoch; its size is the epoch's length.
  // Samples may repeat. Shared with the caller, because the client sends it when the session opens
  // and again whenever it reconnects.
  std::shared_ptr<const std::vector<uint64_t>> given = {};
  // For kGiven, if each rank gives its own order: a sample that several ranks take is then cropped
  // and flipped differently on each. Unset: all ranks share one order.
  std::optional<GivenBy> given_by = {};
  std::optional<ShuffleWindow> shuffle_window = {};  // for kShuffledInWindows
  std::optional<SampleRange> range = {};  // only these samples; not possible with a mixture
  uint64_t seed = 0;

  // How images are decoded: whole_image if set, else center_crop, else random_crop, else
  // RandomResizedCrop's defaults. Rows that need no decoding (MNIST's files, synthetic rows) come
  // unchanged; such a dataset is refused if any of these options is set.
  std::optional<RandomResizedCrop> random_crop = {};
  std::optional<ResizeCenterCrop> center_crop = {};
  std::optional<WholeImage> whole_image = {};
  Interpolation interpolation = Interpolation::kBilinear;  // of the crop's resize
  double flip_probability = 0.0;                           // of a horizontal flip, 0 to 1
  // What is done to the image then, in this order. After a crop, the steps together keep its size;
  // after whole_image, they end with its size. At most 32, those within groups included.
  std::vector<TransformStep> steps = {};
  Color color = Color::kRgb;
  bool apply_exif_orientation = false;  // before the crop; ImageFolder ignores it, too

  // Set: this process's GPU decodes. Requires `device`, and pinned delivery, which it chooses.
  std::optional<GpuDecoding> gpu_decoding = {};

  // Further images of each sample, each a tensor of its own: made of the same decoded pixels, and
  // drawn independently. At most 15.
  std::vector<MoreImage> more_images = {};

  // Fields that a batch has in addition to a decoded image. For rows that need no decoding: the
  // fields of a batch; empty means all fields whose samples have one shape. See
  // DatasetInfo::fields.
  std::vector<FieldRequest> fields = {};

  // Required for a Python dataset, whose batches are in host memory and have no tensors
  // (Batch::made); refused for any other.
  std::optional<PythonFeed> python = {};

  // This process's share of the feed.
  uint32_t rank = 0, world_size = 1;
  Remainder remainder = Remainder::kDefault;
  uint32_t window = 4;              // prefetch window: batches kept ready ahead, 1 to 256
  uint64_t epochs = 0;              // number of epochs from the first one on; 0: no limit
  std::optional<State> state = {};  // resume here; its seed replaces `seed`
  // Fail at the first bad sample, or the first that gpu_decoding fails on; do not replace it.
  bool fail_on_bad_sample = false;
  std::string name = {};  // shown in status, at most 128 bytes

  // Where batches are delivered: "host"; "cuda", the calling thread's current device; "cuda:N",
  // device N as this process counts; "auto", as "cuda" if possible, else host memory
  // (Session::delivery_reason says why). The choice is made once, when the session opens.
  std::string device = "host";
  Delivery delivery = Delivery::kAuto;    // the only way to try; kAuto: kDevice, then kPinned
  HandleKind handle = HandleKind::kAuto;  // for kDevice
  // Batches in GPU memory at once, at most 16: being copied, ready and held. 0: the daemon's
  // configured value, 3 by default.
  uint32_t device_depth = 0;
  // Time limit for Open. The daemon indexes a large dataset when it first sees it.
  std::chrono::milliseconds open_timeout = std::chrono::minutes(30);
};

}  // namespace penstock
