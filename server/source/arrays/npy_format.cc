#include "server/source/arrays/npy_format.h"

#include <cstring>
#include <limits>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "server/source/arrays/npy_literal.h"

namespace penstock::source {
namespace {

using base::DType;

constexpr absl::string_view kNpyMagic("\x93NUMPY", 6);
constexpr absl::string_view kZipMagic("PK\x03\x04", 4);

absl::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <typename... Words>
absl::Status Wrong(const std::string& path, const Words&... words) {
  return absl::InvalidArgumentError(absl::StrCat("'", path, "': ", words...));
}

struct Known {
  absl::string_view code;  // type code without the byte order
  DType type;
};
constexpr Known kKnown[] = {
    {"b1", DType::kBool},    {"u1", DType::kUInt8},   {"i1", DType::kInt8},
    {"u2", DType::kUInt16},  {"i2", DType::kInt16},   {"u4", DType::kUInt32},
    {"i4", DType::kInt32},   {"u8", DType::kUInt64},  {"i8", DType::kInt64},
    {"f2", DType::kFloat16}, {"f4", DType::kFloat32}, {"f8", DType::kFloat64},
};

// Why a type is unsupported, and what to do with such an array.
absl::string_view WhyNot(absl::string_view code) {
  switch (code.empty() ? '\0' : code[0]) {
    case 'O':
      return "Python objects, which only Python can read; save numbers instead";
    case 'S':
    case 'a':
    case 'U':
      return "strings; save them as numbers, for example as token ids or as bytes";
    case 'V':
      return "raw records, which do not say what is in them (bfloat16 is saved so, too); save "
             "array.view('uint16'), or array.astype('float32')";
    case 'c':
      return "complex numbers; save real and imaginary parts as two arrays";
    case 'm':
    case 'M':
      return "dates or times; save array.astype('int64')";
    default:
      return "a type that no tensor has; save it as bool, float16, float32, float64, or integers";
  }
}

absl::StatusOr<DType> ToDType(const std::string& descr, const std::string& path) {
  absl::string_view code = descr;
  const bool big_endian = absl::ConsumePrefix(&code, ">");
  if (!big_endian)
    absl::ConsumePrefix(&code, "<") || absl::ConsumePrefix(&code, "|") ||
        absl::ConsumePrefix(&code, "=");
  for (const Known& known : kKnown) {
    if (known.code != code) continue;
    if (!big_endian || base::ElementBytes(known.type) == 1) return known.type;
    return Wrong(path, "its elements ('", descr,
                 "') are big endian; save array.astype(array.dtype.newbyteorder('<')) instead");
  }
  return Wrong(path, "its elements ('", absl::CHexEscape(descr.substr(0, 40)), "') are ",
               WhyNot(code));
}

// Position of the literal.
struct Extent {
  size_t begin = 0, bytes = 0;
  size_t end() const { return begin + bytes; }
};

absl::StatusOr<Extent> LiteralExtent(std::span<const std::byte> begin, const std::string& path) {
  if (!IsNpy(begin)) {
    const bool zip = absl::StartsWith(TextOf(begin), kZipMagic);
    return Wrong(path, "a .npy file begins with \\x93NUMPY, and this one ",
                 begin.empty() ? "is empty"
                 : zip         ? "is a zip archive: unpack it; a .npz holds .npy files in a zip"
                               : "begins with other bytes: save the array with numpy.save");
  }
  if (begin.size() < 8) return Wrong(path, "it is truncated: it has ", begin.size(), " bytes");
  const int major = std::to_integer<int>(begin[6]), minor = std::to_integer<int>(begin[7]);
  if (major < 1 || major > 3 || minor != 0)
    return Wrong(path, "the format's version at byte 6 is ", major, ".", minor,
                 "; known are 1.0, 2.0 and 3.0");
  const size_t length_bytes = major == 1 ? 2 : 4;
  if (begin.size() < 8 + length_bytes)
    return Wrong(path, "it is truncated: it has ", begin.size(), " bytes");
  Extent extent{.begin = 8 + length_bytes};
  for (size_t i = 0; i < length_bytes; ++i)
    extent.bytes |= std::to_integer<size_t>(begin[8 + i]) << (8 * i);
  if (extent.end() > kLongestNpyHeader)
    return Wrong(path, "its header, by the length at byte 8, has ", extent.bytes,
                 " bytes; wanted one of an array of numbers, which has far less than ",
                 kLongestNpyHeader);
  if (extent.end() > begin.size())
    return Wrong(path, "it is truncated: its header ends at byte ", extent.end(),
                 ", the file at byte ", begin.size());
  return extent;
}

absl::Status CheckShape(const NpyLiteral& literal, const std::string& path, NoItems no_items) {
  if (literal.shape.empty())
    return Wrong(path, "it holds a single number; wanted an array whose first axis is the samples");
  if (literal.fortran_order && literal.shape.size() > 1)
    return Wrong(path,
                 "it is in Fortran's order, in which a sample's bytes are strewn over the whole "
                 "file; save numpy.ascontiguousarray(array) instead");
  if (no_items == NoItems::kAllow && literal.shape[0] == 0) return absl::OkStatus();
  for (size_t d = 0; d < literal.shape.size(); ++d)
    if (literal.shape[d] == 0)
      return Wrong(path, "dimension ", d, " of its shape is 0; wanted at least 1");
  return absl::OkStatus();
}

}  // namespace

bool IsNpy(std::span<const std::byte> begin) { return absl::StartsWith(TextOf(begin), kNpyMagic); }

absl::StatusOr<NpyHeader> ParseNpyHeader(std::span<const std::byte> begin, const std::string& path,
                                         NoItems no_items) {
  PENSTOCK_ASSIGN_OR_RETURN(const Extent extent, LiteralExtent(begin, path));
  PENSTOCK_ASSIGN_OR_RETURN(
      const NpyLiteral literal,
      ParseNpyLiteral(TextOf(begin).substr(extent.begin, extent.bytes), extent.begin, path));
  NpyHeader header;
  PENSTOCK_ASSIGN_OR_RETURN(header.type, ToDType(literal.descr, path));
  PENSTOCK_RETURN_IF_ERROR(CheckShape(literal, path, no_items));
  header.shape = literal.shape;
  header.header_bytes = extent.end();
  header.item_bytes = base::ElementBytes(header.type);
  bool fits = true;
  for (size_t d = 1; d < header.shape.size(); ++d)
    fits = fits && !__builtin_mul_overflow(header.item_bytes, header.shape[d], &header.item_bytes);
  uint64_t all = 0;
  fits = fits && !__builtin_mul_overflow(header.item_bytes, header.items(), &all);
  if (!fits || all > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) - extent.end())
    return Wrong(path, "its shape makes more bytes than a file can hold");
  return header;
}

}  // namespace penstock::source
