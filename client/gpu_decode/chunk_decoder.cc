#include "client/gpu_decode/chunk_decoder.h"

#include <cstring>
#include <utility>

#include "common/base/check.h"

namespace penstock::gpu_decode {
namespace {

constexpr uint64_t kImagesBytes = kMaxImagesOfChunk * sizeof(MarkedImage);
constexpr uint64_t kCountsBytes = kMaxImagesOfChunk * sizeof(uint32_t);
constexpr uint64_t kStagingBytes = kTablesBytes + kImagesBytes + kCountsBytes;

bool AxisFits(const resample::Axis& axis) {
  return axis.in > 0 && axis.count > 0 && axis.first < axis.out &&
         axis.count <= axis.out - axis.first;
}

bool BoxFits(uint32_t begin, const resample::Axis& axis, uint32_t side) {
  return begin < side && axis.in <= side - begin;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChunkDecoder>> ChunkDecoder::Make(
    std::unique_ptr<DecodeDevice> device, std::shared_ptr<NvjpegDecoder> decoder,
    uint64_t arena_bytes) {
  std::unique_ptr<ChunkDecoder> made(
      new ChunkDecoder(std::move(device), std::move(decoder), arena_bytes));
  PENSTOCK_RETURN_IF_ERROR(made->Allocate());
  PENSTOCK_ASSIGN_OR_RETURN(made->parser_, made->decoder_->MakeParser());
  return made;
}

ChunkDecoder::ChunkDecoder(std::unique_ptr<DecodeDevice> device,
                           std::shared_ptr<NvjpegDecoder> decoder, uint64_t arena_bytes)
    : device_(std::move(device)),
      arena_bytes_(arena_bytes),
      memory_(*device_, CountedMemory::Kind::kDevice, arena_bytes + kStagingBytes),
      pinned_(*device_, CountedMemory::Kind::kPinned, kStagingBytes),
      decoder_(std::move(decoder)) {}

ChunkDecoder::~ChunkDecoder() {
  static_cast<void>(device_->Synchronize());  // a destructor cannot report an error
  memory_.Release(unwritten_on_device_);
  memory_.Release(images_on_device_);
  memory_.Release(tables_on_device_);
  memory_.Release(arena_);
  pinned_.Release(staging_);
}

absl::StatusOr<void*> ChunkDecoder::AllocateOne(uint64_t bytes, absl::string_view what) {
  if (void* const memory = memory_.Allocate(bytes)) return memory;
  return absl::ResourceExhaustedError(absl::StrCat("the GPU has no ", bytes, " bytes for ", what,
                                                   "; free memory or decode on the CPU"));
}

absl::Status ChunkDecoder::Allocate() {
  staging_ = static_cast<std::byte*>(pinned_.Allocate(kStagingBytes));
  if (staging_ == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "there are no ", kStagingBytes, " bytes of pinned memory to make rows on a GPU"));
  }
  PENSTOCK_ASSIGN_OR_RETURN(void* const arena, AllocateOne(arena_bytes_, "decoded images"));
  arena_ = static_cast<uint8_t*>(arena);
  PENSTOCK_ASSIGN_OR_RETURN(void* const tables, AllocateOne(kTablesBytes, "tables of weights"));
  tables_on_device_ = static_cast<std::byte*>(tables);
  PENSTOCK_ASSIGN_OR_RETURN(void* const images, AllocateOne(kImagesBytes, "places of images"));
  images_on_device_ = static_cast<MarkedImage*>(images);
  PENSTOCK_ASSIGN_OR_RETURN(void* const counts, AllocateOne(kCountsBytes, "outcomes"));
  unwritten_on_device_ = static_cast<uint32_t*>(counts);
  tables_ = std::make_unique<KernelTables>(std::span(staging_, kTablesBytes), kMaxRowsOfLaunch);
  return absl::OkStatus();
}

std::string ChunkDecoder::Objection(const JpegRow& row) {
  if (!AxisFits(row.x) || !AxisFits(row.y)) return "its resize makes no row";
  if (!BoxFits(row.left, row.x, row.width) || !BoxFits(row.top, row.y, row.height)) {
    return absl::StrCat("its box leaves the image: got ", row.x.in, " x ", row.y.in, " pixels at (",
                        row.left, ", ", row.top, ") of ", row.width, " x ", row.height);
  }
  const uint64_t bytes = PlaceImage({row.width, row.height}, 0).bytes;
  if (bytes > arena_bytes_) {
    return absl::StrCat("it is too large: it needs ", bytes, " bytes, and the arena has ",
                        arena_bytes_);
  }
  if (KernelTables::MostWords(row.x, row.y, row.interpolation) > tables_->capacity()) {
    return "its resize needs too many weights";
  }
  return parser_->Objection(row.file, {row.width, row.height});
}

absl::Status ChunkDecoder::Copy(const uint8_t* pixels, uint8_t* into, uint64_t bytes) {
  return device_->CopyIn(into, reinterpret_cast<const std::byte*>(pixels), bytes);
}

absl::StatusOr<ChunkResult> ChunkDecoder::Decode(std::span<const ChunkRow> rows) {
  PlaceAll(rows);
  tables_->Clear();  // of a chunk that failed when its rows had been added
  PENSTOCK_RETURN_IF_ERROR(SetMarks());
  std::span<const ChunkRow> left = rows;
  PENSTOCK_ASSIGN_OR_RETURN(std::string error,
                            decoder_->Decode(items_, [&] { left = AddRows(left); }));
  if (!error.empty()) return ChunkResult{.error = std::move(error), .unwritten_blocks = {}};
  // Marks are counted before rows are made, so that rows come of images that were complete.
  PENSTOCK_RETURN_IF_ERROR(CountMarks());
  PENSTOCK_RETURN_IF_ERROR(Finish());
  while (!left.empty()) {
    left = AddRows(left);
    PENSTOCK_RETURN_IF_ERROR(Finish());
  }
  return ReadCounts();
}

void ChunkDecoder::PlaceAll(std::span<const ChunkRow> rows) {
  PENSTOCK_CHECK(!rows.empty() && rows.size() <= kMaxImagesOfChunk);
  items_.clear();
  images_.clear();
  uint64_t offset = 0;
  for (const auto& [row, into] : rows) {
    const ArenaPlace place = PlaceImage({row->width, row->height}, offset);
    offset += place.bytes;
    uint8_t* const pixels = arena_ + place.offset;
    items_.push_back({row->file, pixels, place.pitch});
    images_.push_back({pixels, place.pitch, row->width, row->height});
  }
  PENSTOCK_CHECK(offset <= arena_bytes_);
}

MarksLaunch ChunkDecoder::Marks() const {
  return {.images = images_on_device_,
          .unwritten = unwritten_on_device_,
          .count = static_cast<uint32_t>(images_.size()),
          .nonce = nonce_};
}

absl::Status ChunkDecoder::SetMarks() {
  ++nonce_;
  std::byte* const staged = staging_ + kTablesBytes;
  const size_t bytes = images_.size() * sizeof(MarkedImage);
  memcpy(staged, images_.data(), bytes);
  PENSTOCK_RETURN_IF_ERROR(device_->CopyIn(images_on_device_, staged, bytes));
  PENSTOCK_RETURN_IF_ERROR(device_->SetMarks(Marks()));
  // The engines may write before work that is ahead of them on the stream, even behind an event;
  // only waiting on the host prevents that (github.com/meta-pytorch/torchcodec/pull/1634: 100 of
  // 100 times on an H100, with nvJPEG 12.3 to 13.2). The marks would then be in decoded pixels, and
  // the pixels in memory that earlier work still reads.
  return device_->Synchronize();
}

// Fills the tables, which no launch may be reading, and returns the rows for which there was no
// room.
std::span<const ChunkRow> ChunkDecoder::AddRows(std::span<const ChunkRow> rows) {
  const size_t done = items_.size() - rows.size();
  for (size_t i = 0; i < rows.size(); ++i) {
    const DecodeItem& item = items_[done + i];
    if (tables_->AddImage(*rows[i].row, {item.pixels, item.pitch}, rows[i].into)) continue;
    PENSTOCK_CHECK(tables_->rows() != 0);
    return rows.subspan(i);
  }
  return {};
}

absl::Status ChunkDecoder::Launch() {
  if (tables_->rows() == 0) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(device_->CopyIn(tables_on_device_, staging_, tables_->bytes()));
  const KernelLaunch launch = {
      .rows = reinterpret_cast<const KernelRow*>(tables_on_device_),
      .tables = reinterpret_cast<const uint32_t*>(tables_on_device_ + tables_->tables_offset()),
      .row_count = tables_->rows(),
      .max_tiles = tables_->max_tiles(),
      .any_plain = tables_->any_plain(),
      .any_other = tables_->any_other()};
  tables_->Clear();
  return device_->MakeRows(launch);
}

std::byte* ChunkDecoder::StagedCounts() const { return staging_ + kTablesBytes + kImagesBytes; }

absl::Status ChunkDecoder::CountMarks() {
  PENSTOCK_RETURN_IF_ERROR(device_->CountMarks(Marks()));
  return device_->CopyOut(StagedCounts(), unwritten_on_device_, images_.size() * sizeof(uint32_t));
}

ChunkResult ChunkDecoder::ReadCounts() const {
  ChunkResult result;
  result.unwritten_blocks.resize(images_.size());
  memcpy(result.unwritten_blocks.data(), StagedCounts(), images_.size() * sizeof(uint32_t));
  return result;
}

absl::Status ChunkDecoder::Clear(uint8_t* row, uint64_t bytes) {
  return device_->Clear(row, bytes);
}

absl::Status ChunkDecoder::Finish() {
  PENSTOCK_RETURN_IF_ERROR(Launch());
  return device_->Synchronize();
}

}  // namespace penstock::gpu_decode
