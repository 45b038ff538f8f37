#include "server/source/files/gunzip.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "server/source/files/read_exactly.h"

namespace penstock::source {
namespace {

constexpr size_t kInputBytes = 256 << 10;
constexpr int kGzipOnly = 16 + MAX_WBITS;

}  // namespace

Gunzip::Gunzip(const posix::Fd& file, std::string path)
    : file_(file), path_(std::move(path)), input_(kInputBytes) {
  PENSTOCK_CHECK(::inflateInit2(&stream_, kGzipOnly) == Z_OK);
}

Gunzip::~Gunzip() { ::inflateEnd(&stream_); }

absl::Status Gunzip::Damaged(absl::string_view why) const {
  return absl::DataLossError(absl::StrCat("'", path_, "' is damaged: ", why, " at byte ",
                                          read_ - stream_.avail_in,
                                          " of the compressed file; "
                                          "get it anew"));
}

absl::Status Gunzip::Refill() {
  if (stream_.avail_in > 0 || file_ended_) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(const size_t count, ReadSome(file_, path_, read_, input_));
  file_ended_ = count == 0;
  read_ += count;
  stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
  stream_.avail_in = static_cast<uInt>(count);
  return absl::OkStatus();
}

// Another member may follow; anything else is refused.
absl::Status Gunzip::EndMember() {
  PENSTOCK_RETURN_IF_ERROR(Refill());
  in_member_ = stream_.avail_in > 0;
  if (in_member_ && ::inflateReset(&stream_) != Z_OK) return Damaged("zlib refuses it");
  return absl::OkStatus();
}

absl::StatusOr<size_t> Gunzip::Read(std::span<std::byte> into) {
  size_t filled = 0;
  while (filled < into.size() && in_member_) {
    PENSTOCK_RETURN_IF_ERROR(Refill());
    const size_t headroom =
        std::min<size_t>(into.size() - filled, std::numeric_limits<uInt>::max());
    stream_.next_out = reinterpret_cast<Bytef*>(into.data() + filled);
    stream_.avail_out = static_cast<uInt>(headroom);
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    filled += headroom - stream_.avail_out;
    if (result == Z_STREAM_END) {
      PENSTOCK_RETURN_IF_ERROR(EndMember());
    } else if (result == Z_BUF_ERROR ||
               (result == Z_OK && file_ended_ && headroom > 0 && stream_.avail_out > 0)) {
      return Damaged("it ends before its data does,");
    } else if (result != Z_OK) {
      return Damaged(result == Z_MEM_ERROR ? "there is no memory to unpack it,"
                                           : "its content is not gzip data or fails its checksum,");
    }
  }
  unpacked_ += filled;
  return filled;
}

}  // namespace penstock::source
