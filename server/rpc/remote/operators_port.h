// The operators' port: a TCP listener whose connections are served by mutual TLS. It has one thread
// ("rpc-remote"), which accepts connections and looks at the files of TLS.
// **Ownership**: owned by the server; destroyed before relay, callers and audit.
// **Thread safety**: any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/shares.h"
#include "common/base/status.h"
#include "common/base/token_bucket.h"
#include "common/posix/fd.h"
#include "common/posix/foreign_fd.h"
#include "server/rpc/access/callers.h"
#include "server/rpc/half.h"
#include "server/rpc/remote/tls_files.h"
#include "server/rpc/transport/relay.h"

namespace penstock::rpc {

class OperatorsPort {
 public:
  struct Options {
    TlsPaths paths = {};
    uint32_t connections = 64;
    base::TokenBucket::Options accepts = {.per_second = 20, .burst = 64};
    base::Duration look_every = std::chrono::seconds(2);  // at the files
    base::Duration end_within = std::chrono::seconds(1);  // calls made with replaced files
  };
  // Makes what serves the connections from now on.
  using MakeHalf = std::function<absl::StatusOr<std::unique_ptr<Half>>(const TlsTexts& tls)>;

  // **Requires**: `listener` is bound, listening and non-blocking. **Errors**: FailedPrecondition
  // or InvalidArgument if the files cannot be used.
  static absl::StatusOr<std::unique_ptr<OperatorsPort>> Start(posix::Fd listener,
                                                              const Options& options,
                                                              Callers& callers, Relay& relay,
                                                              MakeHalf make_half);
  ~OperatorsPort();  // ends the thread, and calls in progress

  void SetServing(bool serving);
  // Connections closed at once since the start, because too many were open.
  uint64_t refused() const { return refused_.load(); }

 private:
  // Lives as long as any connection. Any thread may use it.
  struct OpenPlaces {
    base::Mutex mutex;
    base::Shares taken PENSTOCK_GUARDED_BY(mutex);
  };

  OperatorsPort(posix::Fd listener, posix::Fd stop, const Options& options, Callers& callers,
                Relay& relay, MakeHalf make_half);
  absl::Status Renew();
  void LookAtFiles(base::TimePoint now);
  void Run();
  bool Wait(bool accepting, base::TimePoint now);  // false: stop
  // How long to accept nothing.
  base::Duration AcceptAll(base::TimePoint now);
  void Admit(posix::ForeignFd connection);
  std::shared_ptr<const void> PlaceFor(uint32_t address);

  const posix::Fd listener_, stop_;
  const Options options_;
  Callers& callers_;
  Relay& relay_;
  const MakeHalf make_half_;
  const std::shared_ptr<OpenPlaces> places_;
  std::atomic<uint64_t> refused_ = 0;

  base::Mutex mutex_;
  std::shared_ptr<Half> half_ PENSTOCK_GUARDED_BY(mutex_);  // shared with who uses it at the moment
  bool serving_ PENSTOCK_GUARDED_BY(mutex_) = false;

  // Used only by the thread.
  TlsFiles files_;
  base::TokenBucket accepts_;
  base::TimePoint looked_{}, accept_again_{};

  std::thread thread_;
};

}  // namespace penstock::rpc
