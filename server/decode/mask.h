// Reads masks: PNG files whose pixels are classes. Pure.
//
// Values are those of numpy.asarray(Image.open(f)): shades of gray (0 or 1 if the file has one bit
// per pixel), or indices of a palette.
#pragma once

#include <cstddef>
#include <span>

#include "common/base/fault.h"
#include "server/augment/image.h"

namespace penstock::decode {

// Fills `mask`, which has one channel. Any fault belongs to the mask, not to its sample.
// **Errors**: kMalformed if the file is damaged, is no PNG, has another size, more than one channel
// or more than eight bits per pixel.
base::Fault ReadMask(std::span<const std::byte> file, const augment::ImageView& mask);

}  // namespace penstock::decode
