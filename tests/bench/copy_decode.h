// Rows of photographs for the suite `copy`: decoded on the GPU from their files in pinned memory,
// or decoded by this thread into pinned memory and copied. Both make the same crops.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "client/gpu_decode/row_maker.h"
#include "common/cuda/registration.h"
#include "common/cuda/slab.h"
#include "common/cuda/stream.h"
#include "server/decode/decoder.h"
#include "tests/bench/photographs.h"

namespace penstock::bench {

class CopyDecode {
 public:
  static constexpr uint32_t kRows = 256;

  // **Errors**: FailedPrecondition: there is no nvJPEG, or the GPU has no JPEG engines. DataLoss:
  // none of the photographs can be decoded by both.
  static absl::StatusOr<std::unique_ptr<CopyDecode>> Make(const Photographs& photographs);

  // Rows a second over `batches` batches of kRows.
  absl::StatusOr<double> GpuRate(int batches);
  // The same over `batches` batches of kCpuRows.
  absl::StatusOr<double> CpuRate(int batches);

  size_t files() const { return files_.size(); }
  size_t left_out() const { return left_out_; }  // files that one of both cannot decode
  std::string decoder() const { return maker_->version(); }

 private:
  static constexpr uint32_t kCpuRows = 64;  // the CPU is slow

  CopyDecode() : decoder_(decode::SampleLimits()) {}
  absl::Status Prepare(const Photographs& photographs);
  absl::Status Pin(const std::vector<std::vector<std::byte>>& loaded);
  absl::Status KeepWhatBothDecode();
  gpu_decode::RowInput Input(size_t row) const;

  decode::Spec spec_;
  decode::Decoder decoder_;
  cuda::PinnedMemory pinned_, rows_;
  cuda::DeviceMemory target_;
  cuda::Stream stream_;
  std::unique_ptr<gpu_decode::RowMaker> maker_;
  std::vector<std::span<const std::byte>> files_;  // in pinned_
  size_t left_out_ = 0;
};

}  // namespace penstock::bench
