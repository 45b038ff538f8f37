// Several rows of one image: the part of it that all of them need is decoded once.
#include <algorithm>
#include <new>

#include "common/base/check.h"
#include "server/decode/decoder_state.h"
#include "server/decode/gray.h"

namespace penstock::decode {
namespace {

Box Around(const Box& a, const Box& b) {
  const uint32_t x = std::min(a.x, b.x), y = std::min(a.y, b.y);
  return {x, y, std::max(a.x + a.width, b.x + b.width) - x,
          std::max(a.y + a.height, b.y + b.height) - y};
}

augment::ImageView ToView(const Decoder::Wanted& view) {
  const Spec& spec = *view.spec;
  return {reinterpret_cast<uint8_t*>(view.row.data()), spec.width, spec.height, Channels(spec)};
}

}  // namespace

Fault Decoder::DecodeRows(std::span<const std::byte> file, std::span<const Wanted> wanted) {
  PENSTOCK_CHECK(!wanted.empty());
  if (wanted.size() > 1) {
    try {
      if (Fault fault = state_->Open(file, wanted.front().spec->exif); fault != Fault::kNone) {
        return fault;
      }
      return state_->DecodeTogether(wanted);
    } catch (const std::bad_alloc&) {  // one after the other they need less
    }
  }
  for (const Wanted& view : wanted) {
    if (Fault fault = DecodeRow(file, *view.spec, view.key, view.row); fault != Fault::kNone) {
      return fault;
    }
  }
  return Fault::kNone;
}

// Decodes the box around all crops, even where it has more pixels than they have: the entropy
// decoder, which takes most of the time, goes through everything above them anyway.
Fault Decoder::State::DecodeTogether(std::span<const Wanted> wanted) {
  const uint32_t width = reader->width(), height = reader->height();
  Box window = DrawFor(*wanted.front().spec, wanted.front().key, width, height).crop;
  for (const Wanted& view : wanted) {
    window = Around(window, DrawFor(*view.spec, view.key, width, height).crop);
  }
  if (Fault fault = DecodeToPart(window, wanted.front().spec->color); fault != Fault::kNone) {
    return fault;
  }
  for (const Wanted& view : wanted) {
    if (Fault fault = DecodeView(view, window); fault != Fault::kNone) return fault;
  }
  return Fault::kNone;
}

// The reader writes where the resampler reads.
Fault Decoder::State::DecodeToPart(const Box& window, Color color) {
  if (Fault fault = reader->Begin(window); fault != Fault::kNone) return fault;
  part_stride = RowStride();
  part.Reserve(part_stride * window.height);
  for (uint32_t done = 0; done < window.height; done += kRowsAtOnce) {
    const uint32_t count = std::min<uint32_t>(kRowsAtOnce, window.height - done);
    uint8_t* into[kRowsAtOnce];
    for (uint32_t i = 0; i < count; ++i) {
      into[i] = part.data() + (done + i) * part_stride + kMisalignment;
    }
    if (Fault fault = reader->ReadRows({into, count}); fault != Fault::kNone) return fault;
    if (color == Color::kRgb) continue;
    for (uint32_t i = 0; i < count; ++i) MakeGray(into[i], reader->row_bytes() / 4);
  }
  return reader->End();
}

Fault Decoder::State::DecodeView(const Wanted& view, const Box& window) {
  const Spec& spec = *view.spec;
  if (spec.geometry == Geometry::kWhole) return CopyWhole(view, window);
  Placement placement = Place(spec, DrawFor(spec, view.key, reader->width(), reader->height()));
  placement.crop.x -= window.x;
  placement.crop.y -= window.y;
  const augment::ImageView row = ToView(view);
  ResizePart(placement, row);
  return spec.recipe.empty() ? Fault::kNone : RunRecipe(spec, view.key, row, row);
}

// The window is the whole image.
Fault Decoder::State::CopyWhole(const Wanted& view, const Box& window) {
  const augment::ImageView row = ToView(view);
  const augment::ImageView image = runner.Reserve({window.width, window.height}, row.channels);
  for (uint32_t y = 0; y < image.height; ++y) {
    Pack(PartAt(0, y), image.width, image.channels, image.row(y));
  }
  return RunRecipe(*view.spec, view.key, image, row);
}

void Decoder::State::ResizePart(const Placement& placement, const augment::ImageView& row) {
  const bool gray = row.channels == 1;
  if (gray) gray_as_rgb.resize(3 * row.pixels());
  resampler.Begin(placement, gray ? gray_as_rgb.data() : row.data);
  const TapRange needed = resampler.rows();
  const uint32_t x = placement.crop.x + resampler.columns().first;
  for (uint32_t done = 0; done < needed.count; done += kRowsAtOnce) {
    const uint32_t count = std::min<uint32_t>(kRowsAtOnce, needed.count - done);
    const uint8_t* from[kRowsAtOnce] = {};
    for (uint32_t i = 0; i < count; ++i) {
      from[i] = PartAt(x, placement.crop.y + needed.first + done + i);
    }
    resampler.Take(from, count);
  }
  if (gray) TakeOneChannel(gray_as_rgb.data(), row.pixels(), row.data);
}

}  // namespace penstock::decode
