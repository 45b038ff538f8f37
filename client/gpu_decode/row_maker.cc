#include "client/gpu_decode/row_maker.h"

#include <algorithm>
#include <utility>

#include "client/gpu_decode/chunk_decoder.h"
#include "client/gpu_decode/nvjpeg.h"

namespace penstock::gpu_decode {
namespace {

// A chunk that failed is decoded again in groups of so many, and the groups that fail, one by one:
// for one bad file among 64, that makes 16 calls and three new decoders.
constexpr size_t kRetryGroup = 8;

absl::Status CheckOptions(const RowMakerOptions& options) {
  if (options.max_chunk == 0 || options.max_chunk > kMaxImagesOfChunk) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_chunk: got ", options.max_chunk, ", expected 1 to ", kMaxImagesOfChunk));
  }
  if (options.arena_bytes < kArenaAlignment || options.arena_bytes > uint64_t{1} << 40 ||
      options.nvjpeg_bytes > uint64_t{1} << 40) {
    return absl::InvalidArgumentError(absl::StrCat(
        "arena_bytes and nvjpeg_bytes: got ", options.arena_bytes, " and ", options.nvjpeg_bytes,
        ", expected at least ", kArenaAlignment, " and at most 2^40"));
  }
  return absl::OkStatus();
}

const char* BackendText(JpegBackend backend) {
  return backend == JpegBackend::kEngines ? "engines" : "CUDA kernels";
}

const char* ChromaText(JpegChroma chroma) {
  return chroma == JpegChroma::kReplicated ? "replicated" : "interpolated";
}

}  // namespace

class RowMaker::Impl {
 public:
  Impl(std::unique_ptr<ChunkDecoder> decoder, const RowMakerOptions& options, std::string version)
      : decoder_(std::move(decoder)), options_(options), version_(std::move(version)) {}

  absl::StatusOr<std::vector<RowOutcome>> MakeRows(const RowBatch& batch);
  absl::StatusOr<std::unique_ptr<Impl>> MakeAnother(std::unique_ptr<DecodeDevice> device) const;
  // What `count` returns of the maker's own memory, and of nvJPEG's if it is counted here.
  uint64_t MemoryBytes(uint64_t (CountedMemory::*count)() const) const {
    const uint64_t own = (decoder_->memory().*count)();
    return shares_ ? own : own + (decoder_->decoder()->memory().*count)();
  }
  const RowMakerOptions& options() const { return options_; }
  const RowMakerCounts& counts() const { return counts_; }
  const std::string& version() const { return version_; }

 private:
  using Members = std::span<const uint32_t>;  // indices of rows that are JPEG files

  absl::Status Begin(const RowBatch& batch);
  std::string ObjectionTo(const JpegRow& row);
  absl::Status DecodeAll();
  absl::StatusOr<bool> Attempt(Members members);
  absl::Status RetryInGroups(Members members);
  absl::Status RetryAlone(uint32_t member);
  absl::Status CopyFinished();
  absl::Status ClearFailed();
  void Count();
  uint64_t row_bytes() const { return uint64_t{3} * batch_.width * batch_.height; }
  uint8_t* RowAt(uint32_t index) const { return batch_.into + index * row_bytes(); }

  const std::unique_ptr<ChunkDecoder> decoder_;
  const RowMakerOptions options_;
  const std::string version_;
  bool shares_ = false;  // another maker's nvJPEG
  RowMakerCounts counts_;

  // Of the current batch.
  RowBatch batch_;
  std::vector<RowOutcome> outcomes_;
  std::vector<uint32_t> jpegs_;      // rows to decode
  std::vector<ImageSize> sizes_;     // theirs
  std::vector<uint32_t> unwritten_;  // rows whose images nvJPEG left incomplete without an error
  std::vector<ChunkRow> chunk_;
  std::string last_error_;  // of the last attempt that failed
};

absl::StatusOr<std::vector<RowOutcome>> RowMaker::Impl::MakeRows(const RowBatch& batch) {
  PENSTOCK_RETURN_IF_ERROR(Begin(batch));
  PENSTOCK_RETURN_IF_ERROR(DecodeAll());
  PENSTOCK_RETURN_IF_ERROR(CopyFinished());
  PENSTOCK_RETURN_IF_ERROR(ClearFailed());
  PENSTOCK_RETURN_IF_ERROR(decoder_->Finish());
  Count();
  return std::move(outcomes_);
}

absl::Status RowMaker::Impl::Begin(const RowBatch& batch) {
  if (batch.width == 0 || batch.height == 0 || batch.rows.size() > UINT32_MAX) {
    return absl::InvalidArgumentError(absl::StrCat("rows of a batch: got ", batch.rows.size(),
                                                   " of ", batch.width, " x ", batch.height,
                                                   " pixels, expected at least 1 x 1"));
  }
  decoder_->Begin();
  batch_ = batch;
  outcomes_.assign(batch.rows.size(), {});
  jpegs_.clear();
  sizes_.clear();
  unwritten_.clear();
  for (uint32_t i = 0; i < batch.rows.size(); ++i) {
    const RowInput& input = batch.rows[i];
    if (input.pixels != nullptr) continue;
    if (std::string objection = ObjectionTo(input.jpeg); !objection.empty()) {
      outcomes_[i] = {RowResult::kRefused, std::move(objection)};
    } else {
      jpegs_.push_back(i);
      sizes_.push_back({input.jpeg.width, input.jpeg.height});
    }
  }
  return absl::OkStatus();
}

std::string RowMaker::Impl::ObjectionTo(const JpegRow& row) {
  if (row.x.count != batch_.width || row.y.count != batch_.height) {
    return absl::StrCat("its row has another size: got ", row.x.count, " x ", row.y.count,
                        ", expected ", batch_.width, " x ", batch_.height);
  }
  return decoder_->Objection(row);
}

absl::Status RowMaker::Impl::DecodeAll() {
  const ChunkLimits limits = {options_.max_chunk, options_.arena_bytes};
  for (const DecodeChunk& chunk : DivideIntoChunks(sizes_, limits)) {
    const Members members(&jpegs_[chunk.first], chunk.count);
    PENSTOCK_ASSIGN_OR_RETURN(const bool decoded, Attempt(members));
    if (!decoded) PENSTOCK_RETURN_IF_ERROR(RetryInGroups(members));
  }
  // Swapped out, because another attempt may add to it.
  for (const uint32_t member : std::exchange(unwritten_, {})) {
    PENSTOCK_RETURN_IF_ERROR(RetryAlone(member));
  }
  return absl::OkStatus();
}

// False if the call failed as a whole.
absl::StatusOr<bool> RowMaker::Impl::Attempt(Members members) {
  chunk_.clear();
  for (const uint32_t member : members) {
    chunk_.push_back({&batch_.rows[member].jpeg, RowAt(member)});
  }
  ++counts_.calls;
  PENSTOCK_ASSIGN_OR_RETURN(ChunkResult result, decoder_->Decode(chunk_));
  if (!result.error.empty()) {
    ++counts_.failed_calls;
    last_error_ = std::move(result.error);
    return false;
  }
  for (size_t i = 0; i < members.size(); ++i) {
    if (result.unwritten_blocks[i] == 0) continue;
    ++counts_.unwritten_images;
    last_error_ =
        absl::StrCat("nvJPEG left ", result.unwritten_blocks[i], " of ",
                     MarksIn(chunk_[i].row->width, chunk_[i].row->height), " parts unwritten");
    unwritten_.push_back(members[i]);
  }
  return true;
}

absl::Status RowMaker::Impl::RetryInGroups(Members members) {
  while (!members.empty()) {
    const Members group = members.first(std::min(kRetryGroup, members.size()));
    members = members.subspan(group.size());
    PENSTOCK_ASSIGN_OR_RETURN(const bool decoded, Attempt(group));
    if (decoded) continue;
    for (const uint32_t member : group) PENSTOCK_RETURN_IF_ERROR(RetryAlone(member));
  }
  return absl::OkStatus();
}

// The last attempt for this row: what it says counts.
absl::Status RowMaker::Impl::RetryAlone(uint32_t member) {
  const size_t unwritten_before = unwritten_.size();
  PENSTOCK_ASSIGN_OR_RETURN(const bool decoded, Attempt({&member, 1}));
  if (decoded && unwritten_.size() == unwritten_before) return absl::OkStatus();
  unwritten_.resize(unwritten_before);
  outcomes_[member] = {RowResult::kFailed, last_error_};
  return absl::OkStatus();
}

// Last, so that nothing is under way after an error.
absl::Status RowMaker::Impl::CopyFinished() {
  for (uint32_t i = 0; i < batch_.rows.size(); ++i) {
    const uint8_t* const pixels = batch_.rows[i].pixels;
    if (pixels != nullptr) PENSTOCK_RETURN_IF_ERROR(decoder_->Copy(pixels, RowAt(i), row_bytes()));
  }
  return absl::OkStatus();
}

absl::Status RowMaker::Impl::ClearFailed() {
  for (uint32_t i = 0; i < outcomes_.size(); ++i) {
    if (outcomes_[i].result == RowResult::kOk) continue;
    PENSTOCK_RETURN_IF_ERROR(decoder_->Clear(RowAt(i), row_bytes()));
  }
  return absl::OkStatus();
}

void RowMaker::Impl::Count() {
  for (const RowOutcome& outcome : outcomes_) {
    counts_.refused += outcome.result == RowResult::kRefused;
    counts_.failed += outcome.result == RowResult::kFailed;
  }
  for (const uint32_t member : jpegs_) {
    counts_.decoded += outcomes_[member].result == RowResult::kOk;
  }
}

absl::StatusOr<std::unique_ptr<RowMaker::Impl>> RowMaker::Impl::MakeAnother(
    std::unique_ptr<DecodeDevice> device) const {
  PENSTOCK_ASSIGN_OR_RETURN(
      std::unique_ptr<ChunkDecoder> decoder,
      ChunkDecoder::Make(std::move(device), decoder_->decoder(), options_.arena_bytes));
  auto made = std::make_unique<Impl>(std::move(decoder), options_, version_);
  made->shares_ = true;
  return made;
}

RowMaker::RowMaker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RowMaker::RowMaker(RowMaker&&) noexcept = default;
RowMaker& RowMaker::operator=(RowMaker&&) noexcept = default;
RowMaker::~RowMaker() = default;

absl::StatusOr<RowMaker> RowMaker::MakeOn(std::unique_ptr<DecodeDevice> device,
                                          const RowMakerOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(CheckOptions(options));
  PENSTOCK_ASSIGN_OR_RETURN(const NvjpegLibrary library, NvjpegLibrary::Load(options.nvjpeg_path));
  PENSTOCK_ASSIGN_OR_RETURN(std::shared_ptr<NvjpegDecoder> nvjpeg,
                            NvjpegDecoder::Make(*device, library, options));
  PENSTOCK_ASSIGN_OR_RETURN(
      std::unique_ptr<ChunkDecoder> decoder,
      ChunkDecoder::Make(std::move(device), std::move(nvjpeg), options.arena_bytes));
  return RowMaker(std::make_unique<Impl>(
      std::move(decoder), options,
      absl::StrCat("nvJPEG ", library.version, ", ", BackendText(options.backend), ", ",
                   ChromaText(options.chroma), " chroma")));
}

absl::StatusOr<std::vector<RowOutcome>> RowMaker::MakeRows(const RowBatch& batch) {
  return impl_->MakeRows(batch);
}

absl::StatusOr<RowMaker> RowMaker::MakeAnotherOn(std::unique_ptr<DecodeDevice> device) const {
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Impl> impl, impl_->MakeAnother(std::move(device)));
  return RowMaker(std::move(impl));
}

const RowMakerOptions& RowMaker::options() const { return impl_->options(); }
uint64_t RowMaker::bytes_in_use() const { return impl_->MemoryBytes(&CountedMemory::in_use); }
uint64_t RowMaker::most_bytes_in_use() const { return impl_->MemoryBytes(&CountedMemory::most); }
const RowMakerCounts& RowMaker::counts() const { return impl_->counts(); }
std::string RowMaker::version() const { return impl_->version(); }

}  // namespace penstock::gpu_decode
