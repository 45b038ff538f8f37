#include "tests/bench/feed/row_files.h"

#include <cstring>
#include <fstream>
#include <initializer_list>

#include "common/base/units.h"
#include "tests/bench/harness/measure.h"

namespace penstock::bench {
namespace {

// Room for copies: as large as a pool segment whose slots are filled in turn, so that writes go to
// memory, not to a cache.
constexpr uint64_t kCopyBytes = 64 * base::kMiB;
constexpr uint32_t kVocabulary = 1 << 15;

std::string IdxHeader(std::initializer_list<uint32_t> words) {
  std::string bytes;
  for (const uint32_t word : words)
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(word >> shift);
  return bytes;
}

// A 128-byte .npy header with the shape of float32 vectors.
std::string NpyHeader(uint32_t rows, uint32_t width) {
  std::string literal = absl::StrCat("{'descr': '<f4', 'fortran_order': False, 'shape': (", rows,
                                     ", ", width, "), }");
  literal.resize(117, ' ');
  return std::string("\x93NUMPY\x01\0\x76\0", 10) + literal + "\n";
}

}  // namespace

absl::StatusOr<RowFiles> RowFiles::Make(const ScratchFolder& folder, const RowKind& kind,
                                        uint64_t bytes) {
  RowFiles files;
  files.kind_ = kind;
  files.folder_ = folder.path();
  files.count_ = static_cast<uint32_t>(bytes / kind.row_bytes);
  files.size_ = (files.count_ - 1) * kind.stride_bytes + kind.row_bytes;
  files.rows_.reset(new char[files.size_]);
  // As uint16 tokens, every second byte is the high byte and must keep the number below the
  // vocabulary.
  for (uint64_t i = 0; i < files.size_; ++i)
    files.rows_[i] = static_cast<char>((i * 37 >> 3) & (i % 2 == 0 ? 0xFF : 0x7F));
  const uint64_t batch_bytes = kind.batch * kind.row_bytes;
  files.into_.resize(kCopyBytes / batch_bytes * batch_bytes);
  std::string header;
  if (kind.format == RowFormat::kIdx) {
    const std::string labels(files.count_, '\0');
    header = IdxHeader({0x804, files.count_, kind.height, kind.width, kind.channels});
    PENSTOCK_RETURN_IF_ERROR(
        files.Write("labels", IdxHeader({0x801, files.count_}), labels.data(), labels.size()));
  } else if (kind.format == RowFormat::kNpy) {
    header = NpyHeader(files.count_, kind.width);
  }
  PENSTOCK_RETURN_IF_ERROR(files.Write("rows", header, files.rows_.get(), files.size_));
  return files;
}

absl::Status RowFiles::Write(const std::string& name, const std::string& header, const char* bytes,
                             uint64_t size) const {
  const std::string path = absl::StrCat(folder_, "/", name);
  std::ofstream file(path, std::ios::binary);
  file << header;
  file.write(bytes, static_cast<std::streamsize>(size));
  if (file.flush()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path, " could not be written; is the disk full?"));
}

Daemon::Serves RowFiles::Serves(const ScratchFolder& folder) const {
  const std::string rows = absl::StrCat("'", folder_, "/rows'");
  std::string yaml;
  switch (kind_.format) {
    case RowFormat::kIdx:
      yaml = absl::StrCat("idx: {images: ", rows, ", labels: '", folder_, "/labels'}");
      break;
    case RowFormat::kNpy:
      yaml = absl::StrCat("npy: {arrays: [{name: x, file: ", rows, "}]}");
      break;
    case RowFormat::kTokens:
    case RowFormat::kCheckedTokens:
      yaml = absl::StrCat("tokens: {files: [", rows, "], length: ", kind_.width);
      if (kind_.format == RowFormat::kCheckedTokens)
        absl::StrAppend(&yaml, ", vocabulary: ", kVocabulary);
      absl::StrAppend(&yaml, "}");
      break;
  }
  return {.kind = yaml, .roots = {folder.path()}, .workers = 1};
}

double RowFiles::Copy(const std::vector<uint64_t>& order) {
  const uint64_t row = kind_.row_bytes, scratch = into_.size() / row;
  const Stopwatch watch(Time::kWall);
  for (uint64_t i = 0; i < order.size(); ++i)
    std::memcpy(into_.data() + i % scratch * row, rows_.get() + order[i] * kind_.stride_bytes, row);
  return static_cast<double>(order.size() * row) / watch.Seconds();
}

double RowFiles::CopyWhole() {
  const uint64_t piece = kind_.batch * kind_.row_bytes, scratch = into_.size() / piece;
  const uint64_t pieces = size_ / piece;
  const Stopwatch watch(Time::kWall);
  for (uint64_t i = 0; i < pieces; ++i)
    std::memcpy(into_.data() + i % scratch * piece, rows_.get() + i * piece, piece);
  return static_cast<double>(pieces * piece) / watch.Seconds();
}

}  // namespace penstock::bench
