#include "server/workers/program/request_server.h"

namespace penstock::workers {
namespace {

// The image's row; empty if the request has no image.
absl::StatusOr<std::span<std::byte>> RowOf(const DecodeRequest& request,
                                           std::span<std::byte> segment) {
  if (request.row_bytes == 0) return std::span<std::byte>();
  const uint64_t size = segment.size();
  if (request.row_offset <= size && request.row_bytes <= size - request.row_offset &&
      request.row_bytes == decode::RowBytes(request.spec))
    return segment.subspan(request.row_offset, request.row_bytes);
  return absl::InternalError(absl::StrCat("a row of ", request.row_bytes, " bytes at ",
                                          request.row_offset, " in a segment of ", size));
}

}  // namespace

absl::StatusOr<RequestServer::Served> RequestServer::Serve(const DecodeRequest& request,
                                                           std::span<const std::byte> input,
                                                           std::span<std::byte> segment) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::span<std::byte> row, RowOf(request, segment));
  std::span<const std::byte> image = input;
  if (request.recipe_bytes > 0) {
    PENSTOCK_ASSIGN_OR_RETURN(const unpack::RowFiller::Filled filled,
                              FillFields(request, input, segment));
    if (filled.fault != base::Fault::kNone) return Served{filled.fault, filled.row};
    image = filled.image;
  }
  if (row.empty()) return Served{};
  return Served{decoder_.DecodeRow(image, request.spec, request.key, row)};
}

absl::StatusOr<unpack::RowFiller::Filled> RequestServer::FillFields(
    const DecodeRequest& request, std::span<const std::byte> input, std::span<std::byte> segment) {
  if (request.recipe_bytes > input.size())
    return absl::InternalError(
        absl::StrCat("a recipe of ", request.recipe_bytes, " bytes in an input of ", input.size()));
  PENSTOCK_ASSIGN_OR_RETURN(const unpack::Recipe recipe,
                            unpack::ReadRecipe(input.first(request.recipe_bytes)));
  if (recipe.image.empty() != (request.row_bytes == 0))
    return absl::InternalError("a recipe and its request disagree about an image");
  return filler_.Fill(recipe, input.subspan(request.recipe_bytes), segment);
}

}  // namespace penstock::workers
