#include "client/gpu_decode/nvjpeg_parser.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/jpeg/header_walk.h"

namespace penstock::gpu_decode {

NvjpegParser::~NvjpegParser() {
  if (bitstream_ != nullptr) handle_.calls().destroy_bitstream(bitstream_);
}

absl::Status NvjpegParser::Start() {
  PENSTOCK_RETURN_IF_ERROR(handle_.Start());
  return handle_.Check(handle_.calls().create_bitstream(handle_.get(), &bitstream_),
                       "making a parser");
}

std::string NvjpegParser::Objection(std::span<const std::byte> file, const ImageSize& size) {
  const std::optional<jpeg::HeaderWalk> header = jpeg::WalkHeader(file);
  const bool is_as_announced =
      header && header->facts.width == size.width && header->facts.height == size.height;
  if (is_as_announced && taken_.Cover(header->facts)) return "";
  std::string objection = Ask(file, size);
  if (is_as_announced && objection.empty()) taken_.Add(header->facts);
  return objection;
}

std::string NvjpegParser::Ask(std::span<const std::byte> file, const ImageSize& size) {
  const nvjpeg::Calls& calls = handle_.calls();
  if (file.empty()) return "the file is empty";
  if (const nvjpeg::Code code =
          calls.parse_header(handle_.get(), ToNvjpeg(file), file.size(), bitstream_)) {
    return absl::StrCat("nvJPEG cannot parse its header: ", nvjpeg::ToText(code));
  }
  unsigned int width = 0, height = 0;
  if (const nvjpeg::Code code = calls.frame_dimensions(bitstream_, &width, &height)) {
    return absl::StrCat("its header has no size: ", nvjpeg::ToText(code));
  }
  if (width != size.width || height != size.height) {
    return absl::StrCat("its size differs from the one announced: got ", width, " x ", height,
                        ", expected ", size.width, " x ", size.height);
  }
  int unsupported = 0;
  if (const nvjpeg::Code code = calls.batched_supported(handle_.get(), bitstream_, &unsupported)) {
    return absl::StrCat("nvJPEG does not tell whether it decodes it: ", nvjpeg::ToText(code));
  }
  return unsupported == 0 ? "" : "nvJPEG does not decode this kind of JPEG here";
}

}  // namespace penstock::gpu_decode
