// Penstock's C++ client: connect, open a session, take batches, release them, close. This header
// includes the whole interface, except GPU memory pools (device_pool.h).
//
//   options.h   ClientOptions, SessionOptions, State
//   session.h   Session: the next batch, its state, its statistics
//   batch.h     Batch: views, finish, release
//   tensor.h, finish.h, effects.h, decoding.h, sampling.h, status.h: the values that those use
//
// A session delivers to host memory unless it asks for a GPU. On a GPU a training step is
//
//   auto batch = session.Next(stream);   // a ready batch, or a wait on the host
//   batch->FinishInto(finish, {images, bytes, labels}, stream);   // one kernel, then the release
//
// The filled tensors do not depend on Penstock any more.
//
// **Thread safety**: a Client may be used by any thread; a Session and a Batch by one at a time.
// **Ownership**: all objects belong to the process that made them. In a forked child every call
// returns kFailedPrecondition, and destructors do nothing. Nor can the child of a process that had
// connected make a Client: gRPC does not survive a fork. Fork before the first Client, or exec.
// **Errors**: all calls return a Status or a Result. None throws, and none raises SIGPIPE.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "penstock/batch.h"
#include "penstock/decoding.h"
#include "penstock/effects.h"
#include "penstock/export.h"
#include "penstock/finish.h"
#include "penstock/options.h"
#include "penstock/sampling.h"
#include "penstock/session.h"
#include "penstock/status.h"
#include "penstock/tensor.h"

namespace penstock {

// A dataset as the daemon describes it.
struct DatasetInfo {
  std::string name;
  uint64_t samples = 0;
  std::vector<std::string> classes;
  std::string kind = {};  // "folder", "tar", "idx", "npy", "tokens", "tfrecord", …
  Shape row_shape = {};   // of one image that needs no decoding; all 0 otherwise
  // Fields that a session can request, in addition to the image if samples are decoded.
  std::vector<Field> fields = {};
  bool decoded = true;
  bool labeled = true;         // if false, labels have no meaning
  uint64_t first_sample = 0;   // not 0 if the name means a part, whose samples keep their numbers
  uint64_t epoch_samples = 0;  // as `samples`; for a mixture, the configured number
  // Hash of the names, sizes and labels of photographs and shards, or of the bytes of arrays and
  // tokens. Session::dataset_digest() differs from it if the dataset has changed in between.
  uint64_t digest = 0;
};

// Samples of a dataset that could not be used, and that others replaced.
struct BadSamples {
  uint64_t total = 0;
  std::string path = {}, reason = {};  // of one of them; empty if there is none
};

// A part of a file. An offset of 0 means the whole file.
struct SampleExtent {
  std::string file;  // its path, not escaped
  uint64_t offset = 0, bytes = 0;
};

struct SampleInfo {
  std::string path;  // where the sample's bytes are, for display
  int64_t label = 0;
  // Where the encoded image lies; nullopt if it is not the bytes of a part of a file.
  std::optional<SampleExtent> extent = {};
};

// A connection to one daemon. It reconnects when the daemon comes back.
//
// **Thread safety**: any thread.
class PENSTOCK_EXPORT Client {
 public:
  // Finds the daemon, or starts a private one if the options allow it. Waits for at most 5 s for
  // each answer of a daemon, and for at most 10 s until a private one has started.
  //
  // **Errors**: kNotFound: no daemon, with the places that were tried. kPermissionDenied: a socket
  // that this user may not use. kFailedPrecondition: the daemon speaks another version of the
  // protocol. kUnavailable: it does not answer. kInvalidArgument: the address is not an absolute
  // path.
  static Result<Client> Connect(const ClientOptions& options = {});
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();  // its sessions live on

  // Opens a session, within options.open_timeout.
  //
  // **Errors**: kInvalidArgument: the options contradict each other or the dataset. kNotFound: no
  // such dataset. kFailedPrecondition: the state is of another feed. kResourceExhausted: a limit of
  // the daemon. If no allowed delivery works, the message lists what was tried.
  Result<Session> Open(const SessionOptions& options);

  // Waits for at most 30 min: the daemon indexes the dataset first if it has not done so.
  Result<DatasetInfo> Describe(const std::string& dataset);

  // SHA-256 over the dataset's whole content, in hexadecimal. The daemon reads every byte for it;
  // the call waits for at most 24 h.
  Result<std::string> ContentDigest(const std::string& dataset);

  // Describes samples by their numbers, in the order of `ids`. Any number of them; each call to the
  // daemon asks for 4096.
  //
  // **Errors**: kInvalidArgument names a sample that the dataset does not have.
  Result<std::vector<SampleInfo>> Samples(const std::string& dataset,
                                          std::span<const uint64_t> ids);
  // Asks the daemon how many samples of the dataset could not be used so far, with one example.
  Result<BadSamples> Bad(const std::string& dataset);

  const std::string& address() const;
  bool is_private() const;  // started by this user's clients

 private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock
