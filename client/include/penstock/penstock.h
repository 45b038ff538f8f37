// Penstock's C++ client: connect, open, next, release, close.
//
// Client: any thread. Session: one thread at a time. Batch: any thread, movable, gives its slot
// back when it goes out of scope. All of them belong to the process that made them: in a forked
// child every call says so, and destructors touch nothing. No call throws, and none raises SIGPIPE.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "penstock/export.h"
#include "penstock/finish.h"
#include "penstock/status.h"

namespace penstock {

namespace client {  // what is behind; not part of the interface
class Attachment;
class SessionCore;
struct Grant;
}  // namespace client

enum class Order { kSequential, kShuffled };

// What happens to samples that do not fill a batch of every rank. kDefault: kPartial for one rank,
// kPad for more.
enum class Remainder { kDefault, kDrop, kPad, kPartial };

// A random box of the image, resized; with torchvision's defaults.
struct RandomResizedCrop {
  uint32_t height = 224, width = 224;
  double scale_min = 0.08, scale_max = 1.0;
  double ratio_min = 3.0 / 4.0, ratio_max = 4.0 / 3.0;
};

// The shorter side resized to `resize`, then the middle height × width.
struct ResizeCenterCrop {
  uint32_t resize = 256;
  uint32_t height = 224, width = 224;
};

// Where a session stands after the last batch that Next returned. Resumes with any world size and
// batch size.
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

struct SessionOptions {
  std::string dataset = {};  // a name; or an absolute path, for a private daemon
  uint32_t batch_size = 1;
  Order order = Order::kShuffled;
  uint64_t seed = 0;
  // One of the two: random_crop unless center_crop is set.
  RandomResizedCrop random_crop = {};
  std::optional<ResizeCenterCrop> center_crop = {};
  double flip_probability = 0.0;  // horizontal
  uint32_t rank = 0, world_size = 1;
  Remainder remainder = Remainder::kDefault;
  uint32_t window = 4;              // batches ahead, 1 to 256
  uint64_t epochs = 0;              // the one it begins in and those after it; 0: without end
  std::optional<State> state = {};  // resume here; its seed is the feed's
  bool fail_on_bad_sample = false;
  std::string name = {};  // for status, at most 128 bytes
  // How long Open may take; a large dataset that the daemon sees for the first time is indexed
  // first.
  std::chrono::milliseconds open_timeout = std::chrono::minutes(30);
};

// One batch, held by a lease on its slot. The views are valid until Release or destruction, also
// after the session is closed or the daemon died. A batch that was moved from or released is empty.
class PENSTOCK_EXPORT Batch {
 public:
  Batch(Batch&& other) noexcept;
  Batch& operator=(Batch&& other) noexcept;
  ~Batch();

  uint64_t epoch() const { return view_.epoch; }
  uint64_t step() const { return view_.step; }  // within the epoch, from where the session began it
  uint64_t first() const { return view_.first; }  // place of row 0 in the epoch
  uint32_t rows() const { return view_.shape.rows; }
  uint32_t valid_rows() const { return view_.valid_rows; }  // not padding: the first ones
  bool last_of_epoch() const { return view_.last_of_epoch; }
  Shape shape() const { return view_.shape; }

  // The stored bytes in shared memory, read-only: uint8, rows × height × width × channels.
  std::span<const uint8_t> images() const { return {view_.images, view_.image_bytes}; }
  std::span<const int64_t> labels() const { return {view_.labels, view_.shape.rows}; }
  std::span<const uint64_t> sample_ids() const { return {view_.sample_ids, view_.shape.rows}; }

  // Bytes that FinishInto writes.
  size_t FinishedBytes(const Finish& finish) const;
  // Writes rows in the asked type and layout to `into` (FinishedBytes, any alignment).
  Status FinishInto(const Finish& finish, void* into, size_t bytes) const;

  // Gives the slot back. No system call unless the daemon sleeps.
  void Release();

 private:
  friend class client::SessionCore;
  friend class client::Attachment;
  struct View {
    uint64_t epoch = 0, step = 0, first = 0, sequence = 0;
    Shape shape;
    uint32_t valid_rows = 0;
    bool last_of_epoch = false;
    size_t image_bytes = 0;
    const uint8_t* images = nullptr;
    const int64_t* labels = nullptr;
    const uint64_t* sample_ids = nullptr;
  };
  Batch(client::Attachment* lease, const View& view) : lease_(lease), view_(view) {}

  client::Attachment* lease_;  // counted; null: empty
  View view_;
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
  // allocation.
  Result<Batch> Next(std::chrono::milliseconds timeout = std::chrono::minutes(5));

  State state() const;
  uint64_t samples() const;  // of the dataset
  uint32_t classes() const;
  uint64_t batches_in_epoch()
      const;            // of this rank, in what is left of the current epoch as it began
  Shape shape() const;  // of a full batch

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
};

struct DatasetInfo {
  std::string name;
  uint64_t samples = 0;
  std::vector<std::string> classes;
};

class PENSTOCK_EXPORT Client {
 public:
  static Result<Client> Connect(const ClientOptions& options = {});
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();  // its sessions live on

  Result<Session> Open(const SessionOptions& options);
  Result<DatasetInfo> Describe(const std::string& dataset);
  const std::string& address() const;

 private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock
