// Serves one request: unpacks its samples, decodes its image, and fills its rows. Pure: it uses
// only the request's input and segment, and checks each number in them that it uses as an offset or
// size.
// **Thread safety**: one thread, the worker's only one; it keeps its memory between requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/fault.h"
#include "common/base/status.h"
#include "server/decode/decoder.h"
#include "server/unpack/row_filler.h"
#include "server/workers/queue/channel.h"

namespace penstock::workers {

class RequestServer {
 public:
  explicit RequestServer(const decode::SampleLimits& limits) : decoder_(limits) {}

  // `input`: the request's input. `segment`: all of its segment. Returns the fault of the first
  // sample that has one, and its row; the rows' bytes are then unspecified.
  // **Errors**: the request points outside of its input or segment, or its recipe is invalid. The
  // channel is then corrupt.
  // Leaves checkpoints and the decoded image in the input's rooms for them.
  struct Served {
    base::Fault fault = base::Fault::kNone;
    uint32_t row = 0;
    uint32_t checkpoint_bytes = kSameCheckpoints;  // as in Completion, like the next
    uint64_t image_bytes = 0;
  };
  absl::StatusOr<Served> Serve(const DecodeRequest& request, std::span<std::byte> input,
                               std::span<std::byte> segment);

 private:
  struct Rooms {
    decode::ImageRoom image;
    decode::CheckpointRoom checkpoints;
  };
  static absl::StatusOr<Rooms> TakeRooms(const DecodeRequest& request, std::span<std::byte>& input);
  absl::StatusOr<Served> ServeRows(const DecodeRequest& request, std::span<const std::byte> input,
                                   std::span<std::byte> segment);
  // Fills `wanted_`. Returns the input behind the further images.
  absl::StatusOr<std::span<const std::byte>> ReadImages(const DecodeRequest& request,
                                                        std::span<const std::byte> input,
                                                        std::span<std::byte> segment);
  // Fills `targets_`, but for the masks' files. Returns the input behind it.
  absl::StatusOr<std::span<const std::byte>> ReadTargets(const DecodeRequest& request,
                                                         std::span<const std::byte> input,
                                                         std::span<std::byte> segment);
  absl::StatusOr<decode::TargetRow> ToRow(const TargetPlace& place,
                                          std::span<std::byte> segment) const;
  // Takes the files of masks that are behind the image, and returns the image.
  absl::StatusOr<std::span<const std::byte>> TakeMasks(std::span<const std::byte> input);
  // The same for those within a sample.
  absl::Status TakeMasks(std::span<const std::span<const std::byte>> files);
  absl::StatusOr<std::span<const std::byte>> ImageInRow(const DecodeRequest& request) const;
  void WriteSize(const DecodeRequest& request, std::span<std::byte> segment) const;
  absl::StatusOr<unpack::RowFiller::Filled> FillFields(const DecodeRequest& request,
                                                       std::span<const std::byte> input,
                                                       std::span<std::byte> segment);

  decode::Decoder decoder_;
  std::vector<MoreImage> more_;
  std::vector<decode::Decoder::Wanted> wanted_;  // the request's rows
  std::vector<TargetPlace> places_;
  std::vector<decode::TargetRow> targets_;
  unpack::RowFiller filler_;
};

}  // namespace penstock::workers
