#include "client/src/gpu/gpu.h"

namespace penstock::client {

absl::Status RefuseCapture(Gpu& gpu, Stream stream) {
  PENSTOCK_ASSIGN_OR_RETURN(const bool capturing, gpu.IsCapturing(stream));
  if (!capturing) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the stream is being captured into a graph, which would release this one batch with every "
      "launch; call NextInto outside of the capture, with memory that the graph reads");
}

}  // namespace penstock::client
