// Which names are those of images. Pure.
#pragma once

#include "absl/strings/string_view.h"

namespace penstock::source {

// torchvision's IMG_EXTENSIONS, separated by spaces.
inline constexpr char kImageExtensions[] = ".jpg .jpeg .png .ppm .bmp .pgm .tif .tiff .webp";

// Whether a name ends in one of them, case-insensitive.
bool HasImageExtension(absl::string_view name);

}  // namespace penstock::source
