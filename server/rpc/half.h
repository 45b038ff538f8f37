// One gRPC server behind the relay: it serves the connections of one kind of caller, so that one
// kind's calls don't affect another's. The server has one for trainers and one for operators of
// this machine, and the port for operators elsewhere has one of its own.
// **Ownership**: owned by the server or the port. **Thread safety**: any thread.
#pragma once

#include <memory>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/rpc/access/gate.h"
#include "server/rpc/controller.h"
#include "server/rpc/remote/tls_files.h"
#include "server/rpc/server.h"

namespace penstock::rpc {

// Settings of gRPC for the whole process. Call it once, before the first Half.
void PrepareGrpc();

class Half {
 public:
  // For connections of this machine: all services, without encryption, because file modes decide
  // who may connect. **Requires**: controller and gate outlive it.
  static absl::StatusOr<std::unique_ptr<Half>> Start(Controller& controller, Gate& gate,
                                                     const ServerOptions& options);
  // For connections of other machines: AdminService and health alone, by mutual TLS. Clients must
  // have a certificate of `tls.client_ca`. **Errors**: InvalidArgument if gRPC cannot use `tls`.
  static absl::StatusOr<std::unique_ptr<Half>> StartTls(Controller& controller, Gate& gate,
                                                        const ServerOptions& options,
                                                        const TlsTexts& tls);
  virtual ~Half() = default;

  // Serves the connection of which this is gRPC's end.
  virtual void Take(posix::Fd connection) = 0;
  virtual void SetServing(bool serving) = 0;
  // Lets calls in progress end until the time-out, and cancels the rest.
  virtual void End(base::Duration timeout) = 0;
};

}  // namespace penstock::rpc
