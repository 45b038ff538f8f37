#include <memory>
#include <utility>

#include "client/gpu_decode/decode_device.h"
#include "client/gpu_decode/row_maker.h"

namespace penstock::gpu_decode {

absl::StatusOr<RowMaker> RowMaker::Make(const RowMakerOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<DecodeDevice> device,
                            MakeCudaDevice(options.stream, options.allocator));
  return MakeOn(std::move(device), options);
}

absl::StatusOr<RowMaker> RowMaker::MakeAnother(cuda::StreamHandle stream) const {
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<DecodeDevice> device,
                            MakeCudaDevice(stream, options().allocator));
  return MakeAnotherOn(std::move(device));
}

}  // namespace penstock::gpu_decode
