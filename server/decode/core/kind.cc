#include "server/decode/core/kind.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace penstock::decode {
namespace {

using namespace std::string_view_literals;

// The file's first bytes as comparable text.
std::string_view Head(std::span<const std::byte> file) {
  return {reinterpret_cast<const char*>(file.data()), std::min<size_t>(file.size(), 32)};
}

bool HasAt(std::string_view head, size_t offset, std::string_view wanted) {
  return head.size() >= offset + wanted.size() && head.substr(offset, wanted.size()) == wanted;
}

constexpr size_t kTgaHeader = 18;

constexpr std::string_view kOtherSignatures[] = {
    "MM\0+"sv,  // big-endian BigTIFF, which Pillow 9.4 cannot read
    "\0\0\0\x0cjP  \r\n\x87\n"sv,
    "\xff\x4f\xff\x51"sv,  // JPEG 2000
    "\0\0\0\x0cJXL \r\n\x87\n"sv,
    "\xff\x0a"sv,  // JPEG XL
};

bool IsWebP(std::string_view head) { return HasAt(head, 0, "RIFF") && HasAt(head, 8, "WEBP"); }

// "P6", white space, and a number or a comment; unlikely at the start of a text.
bool IsNetpbm(std::string_view head) {
  if (head.size() < 4 || head[0] != 'P' || head[1] < '1' || head[1] > '7') return false;
  const auto in = [](char c, std::string_view set) { return set.find(c) != set.npos; };
  return in(head[2], " \t\r\n\v\f"sv) && in(head[3], "0123456789#WH"sv);
}

bool IsHeifFamily(std::string_view head) {
  if (!HasAt(head, 4, "ftyp")) return false;
  constexpr std::string_view kBrands[] = {"avif", "avis", "heic", "heix", "mif1", "msf1"};
  return std::any_of(std::begin(kBrands), std::end(kBrands),
                     [&](std::string_view brand) { return HasAt(head, 8, brand); });
}

// Many texts begin with "BM", so also check the size of the second header, which has few values.
bool IsBmp(std::string_view head) {
  if (!HasAt(head, 0, "BM") || head.size() < 18) return false;
  constexpr uint8_t kHeaderBytes[] = {12, 40, 52, 56, 64, 108, 124};
  return std::count(std::begin(kHeaderBytes), std::end(kHeaderBytes),
                    static_cast<uint8_t>(head[14])) == 1 &&
         head.substr(15, 3) == "\0\0\0"sv;
}

// TGA has no leading signature: version 2 has one at the end, and the header's bytes have few valid
// values.
bool IsTga(std::string_view head, std::span<const std::byte> file) {
  constexpr std::string_view kFooter = "TRUEVISION-XFILE.\0"sv;
  const std::string_view all(reinterpret_cast<const char*>(file.data()), file.size());
  if (all.size() >= kTgaHeader &&
      all.substr(all.size() - std::min(all.size(), kFooter.size())) == kFooter)
    return true;
  if (head.size() < kTgaHeader) return false;
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(head[at]); };
  const auto one_of = [](uint8_t value, std::initializer_list<int> set) {
    return std::find(set.begin(), set.end(), value) != set.end();
  };
  const bool palette = one_of(byte(2), {1, 9});
  const bool map_fits = palette ? byte(1) == 1 && one_of(byte(7), {15, 16, 24, 32})
                                : byte(1) == 0 && head.substr(3, 5) == "\0\0\0\0\0"sv;
  const bool sized = (byte(12) | byte(13)) != 0 && (byte(14) | byte(15)) != 0;
  return map_fits && sized && one_of(byte(2), {1, 2, 3, 9, 10, 11}) &&
         one_of(byte(16), {8, 15, 16, 24, 32}) && (byte(17) & 0xC0) == 0;
}

}  // namespace

Kind KindOf(std::span<const std::byte> file) {
  const std::string_view head = Head(file);
  if (HasAt(head, 0, "\xff\xd8\xff"sv)) return Kind::kJpeg;
  if (HasAt(head, 0, "\x89PNG\r\n\x1a\n"sv)) return Kind::kPng;
  if (IsWebP(head)) return Kind::kWebP;
  if (HasAt(head, 0, "GIF87a"sv) || HasAt(head, 0, "GIF89a"sv)) return Kind::kGif;
  if (HasAt(head, 0, "II*\0"sv) || HasAt(head, 0, "MM\0*"sv) || HasAt(head, 0, "II+\0"sv))
    return Kind::kTiff;
  if (IsBmp(head)) return Kind::kBmp;
  if (IsNetpbm(head)) return Kind::kNetpbm;
  const bool other = std::any_of(std::begin(kOtherSignatures), std::end(kOtherSignatures),
                                 [&](std::string_view s) { return HasAt(head, 0, s); });
  return other || IsHeifFamily(head) || IsTga(head, file) ? Kind::kOtherImage : Kind::kUnknown;
}

}  // namespace penstock::decode
