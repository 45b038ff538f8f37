// Penstock's C++ client: connect, open, next, release, close.
//
// A Client belongs to one process: used after fork() it says so. Client: any thread. Session: one
// thread at a time. Batch: any thread, movable, releases its slot when it goes out of scope.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "penstock/status.h"

namespace penstock {

enum class Order { kSequential, kShuffled };

// What happens to samples that do not fill a batch of every rank. kDefault: kPartial for one rank, kPad
// for more.
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

// Where a session stands after the last batch that Next returned. Resumes with any world size and batch
// size.
struct State {
  uint64_t epoch = 0;
  uint64_t consumed = 0;  // samples of the epoch, by all ranks together
  uint64_t seed = 0;
  uint64_t fingerprint = 0;
  uint64_t quarantine_version = 0;

  std::string ToString() const;  // one line of text
  static Result<State> FromString(const std::string& text);
};

struct SessionOptions {
  std::string dataset;  // a name; or an absolute path, for a private daemon
  uint32_t batch_size = 1;
  Order order = Order::kShuffled;
  uint64_t seed = 0;
  // One of the two: random_crop unless center_crop is set.
  RandomResizedCrop random_crop;
  std::optional<ResizeCenterCrop> center_crop;
  double flip_probability = 0.0;  // horizontal
  uint32_t rank = 0, world_size = 1;
  Remainder remainder = Remainder::kDefault;
  uint32_t window = 4;   // batches ahead
  uint64_t epochs = 0;   // 0: without end
  std::optional<State> state;  // resume here; its seed is the feed's
  bool fail_on_bad_sample = false;
  std::string name;  // for status
};

enum class Type { kUInt8, kFloat32, kFloat16, kBFloat16 };
enum class Layout { kNHWC, kNCHW };

// The finish: what the consumer wants of the stored uint8 NHWC rows. Floats are scaled to [0, 1], then
// (value − mean) / std per channel; uint8 stays as it is.
struct Finish {
  Type type = Type::kFloat32;
  Layout layout = Layout::kNCHW;
  float mean[3] = {0, 0, 0};
  float stddev[3] = {1, 1, 1};
};

struct Shape {
  uint32_t rows = 0, height = 0, width = 0, channels = 0;
};

// One batch, held by a lease. The views are valid until Release or destruction.
class Batch {
 public:
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;
  ~Batch();

  uint64_t epoch() const;
  uint64_t step() const;      // within the epoch, from where this session began it
  uint64_t first() const;     // place of row 0 in the epoch
  uint32_t rows() const;
  uint32_t valid_rows() const;  // rows that are not padding: the first ones
  bool last_of_epoch() const;
  Shape shape() const;

  // The stored bytes in shared memory, read-only: uint8, rows × height × width × channels.
  std::span<const uint8_t> images() const;
  std::span<const int64_t> labels() const;
  std::span<const uint64_t> sample_ids() const;

  // Bytes that FinishInto writes.
  size_t FinishedBytes(const Finish& finish) const;
  // Writes rows in the asked type and layout to `into` (FinishedBytes, any alignment).
  Status FinishInto(const Finish& finish, void* into, size_t bytes) const;

  void Release();

 private:
  friend class Session;
  struct Impl;
  explicit Batch(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();  // closes

  // The next batch, waiting at most `timeout`. kEndOfEpoch once after each epoch's last batch, kEndOfData
  // after the last epoch. kUnavailable within 2 s when the daemon dies; the next call connects again and
  // asks for the same batch.
  Result<Batch> Next(std::chrono::milliseconds timeout = std::chrono::minutes(5));

  State state() const;
  uint64_t samples() const;          // of the dataset
  uint32_t classes() const;
  uint64_t batches_in_epoch() const;  // of this rank, in what is left of the current epoch as it began
  Shape shape() const;               // of a full batch

  Status Close();

 private:
  friend class Client;
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct ClientOptions {
  // Where the daemon is; empty: $PENSTOCK_ADDRESS, /run/penstock/penstock.sock,
  // $XDG_RUNTIME_DIR/penstock/penstock.sock, /tmp/penstock-$UID/penstock.sock.
  std::string address;
  // Where none answers: start, or join, this user's private daemon.
  bool start_private = false;
  std::string name;  // for status; default: the program's name
};

struct DatasetInfo {
  std::string name;
  uint64_t samples = 0;
  std::vector<std::string> classes;
};

class Client {
 public:
  static Result<Client> Connect(const ClientOptions& options = {});
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  Result<Session> Open(const SessionOptions& options);
  Result<DatasetInfo> Describe(const std::string& dataset);
  const std::string& address() const;

 private:
  struct Impl;
  explicit Client(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;  // shared with its sessions
};

}  // namespace penstock
