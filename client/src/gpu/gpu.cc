#include "client/src/gpu/gpu.h"

namespace penstock::client {

absl::Status RefuseCapture(Gpu& gpu, Stream stream) {
  PENSTOCK_ASSIGN_OR_RETURN(const bool capturing, gpu.IsCapturing(stream));
  if (!capturing) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the stream is being captured into a graph, which would take and release this one batch "
      "again "
      "and again; call NextInto with memory that the graph reads, outside of the capture");
}

}  // namespace penstock::client
