#include <algorithm>
#include <functional>
#include <random>

#include "common/base/check.h"
#include "tests/support/gpu_decode/photographs.h"

namespace penstock::testing {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::byte kMarker{0xFF}, kSof{0xC0}, kDht{0xC4}, kEoi{0xD9}, kSos{0xDA}, kDqt{0xDB};

// Where the segments of a JPEG begin (at their 0xFF), and where its entropy-coded data do.
struct Segments {
  size_t frame = 0;
  std::vector<size_t> huffman, quantization;
  size_t scan = 0;  // the first byte of the data
};

size_t LengthAt(const Bytes& file, size_t at) {
  return std::to_integer<size_t>(file[at + 2]) << 8 | std::to_integer<size_t>(file[at + 3]);
}

Segments FindSegments(const Bytes& file) {
  Segments found;
  for (size_t at = 2; at + 4 < file.size(); at += 2 + LengthAt(file, at)) {
    PENSTOCK_CHECK(file[at] == kMarker);
    const std::byte kind = file[at + 1];
    if (kind == kSof) found.frame = at;
    if (kind == kDht) found.huffman.push_back(at);
    if (kind == kDqt) found.quantization.push_back(at);
    if (kind != kSos) continue;
    found.scan = at + 2 + LengthAt(file, at);
    return found;
  }
  PENSTOCK_CHECK(false);
  return found;
}

class Damager {
 public:
  explicit Damager(std::span<const std::byte> intact)
      : intact_(intact.begin(), intact.end()), segments_(FindSegments(intact_)) {}

  std::vector<DamagedFile> All() {
    Cut();
    SpoilData();
    SpoilTables();
    SpoilFrame();
    Add("empty", {});
    Add("zeros alone", Bytes(5000));
    Add("start of image alone", {intact_.begin(), intact_.begin() + 2});
    return std::move(files_);
  }

 private:
  void Add(std::string name, Bytes file) { files_.push_back({std::move(name), std::move(file)}); }

  void AddChanged(std::string name, const std::function<void(Bytes&)>& change) {
    Bytes file = intact_;
    change(file);
    Add(std::move(name), std::move(file));
  }

  size_t data_bytes() const { return intact_.size() - segments_.scan; }
  size_t middle() const { return segments_.scan + data_bytes() / 2; }

  void Cut() {
    for (const int percent : {2, 30, 70}) {
      AddChanged("cut at " + std::to_string(percent) + " %",
                 [&](Bytes& file) { file.resize(segments_.scan + data_bytes() * percent / 100); });
    }
    AddChanged("cut at 70 %, end marker", [&](Bytes& file) {
      file.resize(segments_.scan + data_bytes() * 7 / 10);
      file.insert(file.end(), {kMarker, kEoi});
    });
    AddChanged("cut behind the headers", [&](Bytes& file) { file.resize(segments_.scan); });
    AddChanged("cut in the headers", [&](Bytes& file) { file.resize(segments_.scan - 30); });
    AddChanged("no end marker", [&](Bytes& file) { file.resize(file.size() - 2); });
    AddChanged("bytes behind the end", [&](Bytes& file) { file.resize(file.size() + 500); });
  }

  void SpoilData() {
    for (const int bits : {1, 3, 40}) {
      AddChanged(std::to_string(bits) + " bits flipped", [&](Bytes& file) {
        std::mt19937 random(bits);
        for (int i = 0; i < bits; ++i) {
          const size_t at = segments_.scan + data_bytes() / 3 + random() % (data_bytes() / 2);
          file[at] ^= std::byte{1} << random() % 8;
        }
      });
    }
    AddChanged("noise in the middle", [&](Bytes& file) {
      std::mt19937 random(9);
      const size_t end = std::min(middle() + 2000, file.size() - 2);
      for (size_t i = middle(); i < end; ++i) file[i] = static_cast<std::byte>(random() % 255);
    });
    AddChanged("zeros from the middle on", [&](Bytes& file) {
      std::fill(file.begin() + middle(), file.end() - 2, std::byte{0});
    });
    AddMarker("end marker in the middle", kEoi);
    AddMarker("restart marker in the middle", std::byte{0xD3});
  }

  void AddMarker(std::string name, std::byte marker) {
    AddChanged(std::move(name), [&](Bytes& file) {
      file[middle()] = kMarker;
      file[middle() + 1] = marker;
    });
  }

  void SpoilTables() {
    AddChanged("Huffman values reversed", [&](Bytes& file) {
      for (const size_t at : segments_.huffman) {
        std::reverse(file.begin() + at + 4 + 17, file.begin() + at + 2 + LengthAt(file, at));
      }
    });
    AddChanged("Huffman code lengths impossible", [&](Bytes& file) {
      std::fill_n(file.begin() + segments_.huffman.back() + 5, 2, std::byte{0xFF});
    });
    AddChanged("no first Huffman table", [&](Bytes& file) { Remove(file, segments_.huffman[0]); });
    AddChanged("no first quantization table",
               [&](Bytes& file) { Remove(file, segments_.quantization[0]); });
  }

  static void Remove(Bytes& file, size_t at) {
    const size_t length = 2 + LengthAt(file, at);
    file.erase(file.begin() + at, file.begin() + at + length);
  }

  void SpoilFrame() {
    const size_t height = segments_.frame + 5, width = height + 2;
    AddSide("height doubled", height, 2, 1);
    AddSide("width doubled", width, 2, 1);
    AddSide("height halved", height, 1, 2);
    AddSide("width halved", width, 1, 2);
    AddSide("height zero", height, 0, 1);
    AddSide("width zero", width, 0, 1);
    AddChanged("other sampling", [&](Bytes& file) {
      std::byte& sampling = file[segments_.frame + 11];
      sampling = sampling == std::byte{0x11} ? std::byte{0x22} : std::byte{0x11};
    });
    AddChanged("missing quantization table named",
               [&](Bytes& file) { file[segments_.frame + 12] = std::byte{3}; });
  }

  void AddSide(std::string name, size_t at, uint32_t times, uint32_t divided_by) {
    AddChanged(std::move(name), [&](Bytes& file) {
      const uint32_t side =
          std::to_integer<uint32_t>(file[at]) << 8 | std::to_integer<uint32_t>(file[at + 1]);
      const uint32_t changed = side * times / divided_by;
      file[at] = static_cast<std::byte>(changed >> 8);
      file[at + 1] = static_cast<std::byte>(changed);
    });
  }

  const Bytes intact_;
  const Segments segments_;
  std::vector<DamagedFile> files_;
};

}  // namespace

std::vector<DamagedFile> MakeDamagedFiles(std::span<const std::byte> intact) {
  return Damager(intact).All();
}

}  // namespace penstock::testing
