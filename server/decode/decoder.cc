#include "server/decode/decoder.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "server/augment/recipe/targets.h"
#include "server/decode/core/exif.h"
#include "server/decode/core/kind.h"
#include "server/decode/core/place.h"
#include "server/decode/decoder_state.h"
#include "server/decode/gray.h"
#include "server/decode/undecoded.h"

namespace penstock::decode {
namespace {

// The part of the image that the resampler needs.
Box WindowFor(const Placement& placement, const Resampler& resampler) {
  return {placement.crop.x + resampler.columns().first, placement.crop.y + resampler.rows().first,
          resampler.columns().count, resampler.rows().count};
}

// What the decoder's own geometry does, as a recipe would.
std::vector<augment::RecipeAction> ToActions(const Placement& placement) {
  const augment::ImageSize resized = {placement.x.out, placement.y.out};
  const augment::ImageSize row = {placement.x.count, placement.y.count};
  const Box& box = placement.crop;
  std::vector<augment::RecipeAction> actions;
  actions.push_back(
      {augment::ResizeBy{{box.x, box.y, box.width, box.height}, placement.interpolation}, resized});
  if (row.width != resized.width || row.height != resized.height) {
    actions.push_back({augment::CropAt{{placement.x.first, placement.y.first}}, row});
  }
  if (placement.flip) {
    actions.push_back({augment::ChangeBy{augment::PixelChange::kFlipHorizontal}, row});
  }
  return actions;
}

}  // namespace

void Pack(const uint8_t* rgbx, size_t pixels, uint32_t channels, uint8_t* out) {
  for (size_t i = 0; i < pixels; ++i, rgbx += 4, out += channels) {
    for (uint32_t channel = 0; channel < channels; ++channel) out[channel] = rgbx[channel];
  }
}

Decoder::Decoder(const SampleLimits& limits) : state_(std::make_unique<State>(limits)) {}
Decoder::~Decoder() = default;

void Decoder::UseCheckpoints(CheckpointRoom* room) { state_->jpeg.UseCheckpoints(room); }

void Decoder::UseImageRoom(ImageRoom* room) { state_->image_room = room; }

Fault Decoder::DecodeRow(std::span<const std::byte> file, const Spec& spec, const DrawKey& key,
                         std::span<std::byte> row) {
  PENSTOCK_CHECK(row.size() == RowBytes(spec));
  try {
    if (Fault fault = state_->Open(file, spec.exif); fault != Fault::kNone) return fault;
    return spec.undecoded.place_bytes > 0 ? state_->FillPlace(file, spec, key, row)
                                          : state_->DecodeRow(spec, key, row);
  } catch (const std::bad_alloc&) {
    return Fault::kTooManyPixels;  // exceeds the memory allowed for one sample
  }
}

Fault Decoder::DecodeWithTargets(std::span<const std::byte> file, const Wanted& wanted,
                                 std::span<const TargetRow> targets) {
  if (Fault fault = DecodeRow(file, *wanted.spec, wanted.key, wanted.row); fault != Fault::kNone) {
    return fault;
  }
  if (targets.empty()) return Fault::kNone;
  try {
    return state_->FillTargets(wanted, targets);
  } catch (const std::bad_alloc&) {
    return Fault::kUnfitSize;  // the image alone had enough memory
  }
}

Decoder::Size Decoder::size_made() const { return {state_->made.width, state_->made.height}; }

std::optional<Decoder::Size> Decoder::ReadSize(std::span<const std::byte> file, const Spec& spec) {
  Size size;
  if (ReadHeader(file, spec.exif, &size) != Fault::kNone) return std::nullopt;
  return size;
}

Fault Decoder::ReadHeader(std::span<const std::byte> file, Exif exif, Size* size) {
  if (Fault fault = state_->ReadHeader(file, exif); fault != Fault::kNone) return fault;
  *size = {state_->reader->width(), state_->reader->height()};
  return Fault::kNone;
}

Fault Decoder::State::ReadHeader(std::span<const std::byte> file, Exif exif) {
  if (file.empty()) return Fault::kEmpty;
  if (file.size() > limits.max_bytes) return Fault::kTooManyBytes;
  const Kind kind = KindOf(file);
  if (kind == Kind::kUnknown) return Fault::kNotAnImage;
  reader = ReaderFor(kind);
  if (reader == nullptr) return Fault::kUnsupported;
  if (Fault fault = reader->ReadHeader(file); fault != Fault::kNone) return fault;
  const uint64_t pixels = uint64_t{reader->width()} * reader->height();
  if (pixels > limits.max_pixels) return Fault::kTooManyPixels;
  const bool own = kind == Kind::kTiff;  // always shown upright
  if (!own && exif == Exif::kIgnore) return Fault::kNone;
  const Orientation orientation =
      own ? tiff.orientation() : ReadOrientation(OrientationTag(FindExif(kind, file)));
  if (orientation.upright()) return Fault::kNone;
  if (own && exif == Exif::kApply) return Fault::kUnsupported;  // Pillow 9.4 turns it twice
  oriented.Set(*reader, orientation);
  reader = &oriented;
  return Fault::kNone;
}

Fault Decoder::State::Open(std::span<const std::byte> file, Exif exif) {
  if (Fault fault = ReadHeader(file, exif); fault != Fault::kNone) return fault;
  return image_room == nullptr ? Fault::kNone : DecodeToRoom();
}

// From then on, the row is made of the file in the room.
Fault Decoder::State::DecodeToRoom() {
  ImageRoom& image = *std::exchange(image_room, nullptr);
  const uint32_t width = reader->width(), height = reader->height();
  const std::string header = absl::StrCat("P6\n", width, " ", height, "\n255\n");
  const uint64_t bytes = header.size() + uint64_t{3} * width * height;
  if (bytes > image.room.size() || bytes > limits.max_bytes) return Fault::kNone;
  std::memcpy(image.room.data(), header.data(), header.size());
  auto* const pixels = reinterpret_cast<uint8_t*>(image.room.data() + header.size());
  const Fault fault = DecodePart(Color::kRgb, {0, 0, width, height}, {pixels, width, height, 3});
  if (fault != Fault::kNone) return fault;
  image.bytes = bytes;
  reader = &netpbm;
  return netpbm.ReadHeader(image.room.first(bytes));
}

ImageReader* Decoder::State::ReaderFor(Kind kind) {
  switch (kind) {
    case Kind::kJpeg:
      return &jpeg;
    case Kind::kPng:
      return &png;
    case Kind::kWebP:
      return &webp;
    case Kind::kGif:
      return &gif;
    case Kind::kBmp:
      return &bmp;
    case Kind::kNetpbm:
      return &netpbm;
    case Kind::kTiff:
      return &tiff;
    case Kind::kOtherImage:
    case Kind::kUnknown:
      break;
  }
  return nullptr;
}

Fault Decoder::State::FillPlace(std::span<const std::byte> file, const Spec& spec,
                                const DrawKey& key, std::span<std::byte> place) {
  const bool is_plain_jpeg = reader == &jpeg;  // neither turned nor kept as pixels
  std::optional<shm::RowNote> note = is_plain_jpeg ? MakeNote(file, spec, key) : std::nullopt;
  const bool is_in_place = file.data() == place.data();
  if (note && jpeg.CheckWhole()) {
    const uint32_t held = BeginPlace(spec.undecoded, note->bytes, place);
    if (!is_in_place) std::memcpy(place.data(), file.data(), note->bytes);
    EndPlace(*note, held, place);
    return Fault::kNone;
  }
  if (is_in_place) {
    moved.assign(file.begin(), file.end());
    file = moved;
  }
  if (is_in_place || note) {  // CheckWhole has read the scan
    if (const Fault fault = ReadHeader(file, spec.exif); fault != Fault::kNone) return fault;
  }
  return FillPlaceWithPixels(spec, key, place);
}

Fault Decoder::State::FillPlaceWithPixels(const Spec& spec, const DrawKey& key,
                                          std::span<std::byte> place) {
  const auto bytes = static_cast<uint32_t>(PixelBytes(spec));
  const uint32_t held = BeginPlace(spec.undecoded, bytes, place);
  const Fault fault = DecodeRow(spec, key, place.first(bytes));
  if (fault != Fault::kNone) return fault;
  EndPlace({.holds = shm::RowHolds::kPixels, .bytes = bytes}, held, place);
  return Fault::kNone;
}

Fault Decoder::State::DecodeRow(const Spec& spec, const DrawKey& key, std::span<std::byte> row) {
  const augment::ImageView view = {reinterpret_cast<uint8_t*>(row.data()), spec.width, spec.height,
                                   Channels(spec)};
  plan.clear();
  made = {spec.width, spec.height};
  if (spec.geometry == Geometry::kWhole) return DecodeWhole(spec, key, view);
  const Fault fault = DecodeResized(spec, key, row);
  if (fault != Fault::kNone || spec.recipe.empty()) return fault;
  return RunRecipe(spec, key, view, view);
}

// Memory that runs out is the recipe's: other feeds may need less of the same image.
Fault Decoder::State::DecodeWhole(const Spec& spec, const DrawKey& key,
                                  const augment::ImageView& row) {
  try {
    const augment::ImageView image =
        runner.Reserve({reader->width(), reader->height()}, row.channels);
    const Box all = {0, 0, image.width, image.height};
    if (Fault fault = DecodePart(spec.color, all, image); fault != Fault::kNone) return fault;
    return RunRecipe(spec, key, image, row);
  } catch (const std::bad_alloc&) {
    return Fault::kUnfitSize;
  }
}

Fault Decoder::State::RunRecipe(const Spec& spec, const DrawKey& key,
                                const augment::ImageView& image, const augment::ImageView& row) {
  const base::DrawSource source = {
      .seed = key.seed, .epoch = key.epoch, .sample = key.sample, .operation = FirstOperation(key)};
  const augment::ImageSize before = {image.width, image.height};
  const augment::RecipeLimits recipe_limits = {.max_pixels = limits.max_pixels};
  if (augment::MakePlan(spec.recipe, source, before, recipe_limits, &plan) !=
      augment::RecipeOutcome::kDone) {
    return Fault::kUnfitSize;
  }
  made = augment::SizeAfter(plan, before);
  return canvas.Put(made, row, 0,
                    [&](const augment::ImageView& result) { runner.Apply(plan, image, result); });
}

Fault Decoder::State::FillTargets(const Decoder::Wanted& wanted, std::span<const TargetRow> rows) {
  const Spec& spec = *wanted.spec;
  const augment::ImageSize image = {reader->width(), reader->height()};
  std::vector<augment::RecipeAction> actions;
  if (spec.geometry != Geometry::kWhole) {
    actions = ToActions(Place(spec, DrawFor(spec, wanted.key, image.width, image.height)));
  }
  actions.insert(actions.end(), plan.begin(), plan.end());
  return targets.Fill({image, {spec.width, spec.height}, actions}, rows);
}

Fault Decoder::State::DecodePart(Color color, const Box& window, const augment::ImageView& part) {
  if (Fault fault = reader->Begin(window); fault != Fault::kNone) return fault;
  PrepareStaging();
  for (uint32_t done = 0; done < part.height; done += kRowsAtOnce) {
    const uint32_t count = std::min<uint32_t>(kRowsAtOnce, part.height - done);
    if (Fault fault = reader->ReadRows({rows, count}); fault != Fault::kNone) return fault;
    for (uint32_t i = 0; i < count; ++i) {
      uint8_t* const pixels = rows[i] + reader->window_offset();
      if (color == Color::kGray) MakeGray(pixels, part.width);
      Pack(pixels, part.width, part.channels, part.row(done + i));
    }
  }
  return reader->End();
}

// A gray row is resized as three equal channels and reduced to one at the end.
Fault Decoder::State::DecodeResized(const Spec& spec, const DrawKey& key,
                                    std::span<std::byte> row) {
  const Draw draw = DrawFor(spec, key, reader->width(), reader->height());
  const Placement placement = Place(spec, draw);
  auto* out = reinterpret_cast<uint8_t*>(row.data());
  if (spec.color == Color::kGray) gray_as_rgb.resize(3 * row.size());
  resampler.Begin(placement, spec.color == Color::kGray ? gray_as_rgb.data() : out);
  const Fault fault = DecodeWindow(WindowFor(placement, resampler), spec.color);
  if (fault == Fault::kNone && spec.color == Color::kGray) {
    TakeOneChannel(gray_as_rgb.data(), row.size(), out);
  }
  return fault;
}

Fault Decoder::State::DecodeWindow(const Box& window, Color color) {
  if (Fault fault = reader->Begin(window); fault != Fault::kNone) return fault;
  PrepareStaging();
  for (uint32_t done = 0; done < window.height; done += kRowsAtOnce) {
    const uint32_t count = std::min<uint32_t>(kRowsAtOnce, window.height - done);
    if (Fault fault = reader->ReadRows({rows, count}); fault != Fault::kNone) return fault;
    if (color == Color::kGray) {
      for (uint32_t i = 0; i < count; ++i) MakeGray(rows[i], reader->row_bytes() / 4);
    }
    resampler.Take(columns, count);
  }
  return reader->End();
}

size_t Decoder::State::RowStride() const {
  return base::RoundUp(kMisalignment + reader->row_bytes() + kSlackBytes, kStrideMultiple);
}

void Decoder::State::PrepareStaging() {
  const size_t stride = RowStride();
  staging.Reserve(kRowsAtOnce * stride);
  for (int i = 0; i < kRowsAtOnce; ++i) {
    rows[i] = staging.data() + i * stride + kMisalignment;
    columns[i] = rows[i] + reader->window_offset();
  }
}

}  // namespace penstock::decode
