#include "tests/support/files/specimens.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <webp/encode.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <set>
#include <span>

#include "server/decode/png/png_header.h"
#include "tests/support/files/array_maker.h"
#include "tests/support/files/idx_maker.h"
#include "tests/support/files/jpeg_maker.h"
#include "tests/support/files/png_maker.h"
#include "tests/support/files/record_maker.h"
#include "tests/support/files/tar_maker.h"

namespace penstock::testing {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kRowBytes = kSpecimenSide * kSpecimenSide * 3;
constexpr size_t kFileBytes = 8192;  // an image file; data after the image are ignored

struct EncodedImage {
  std::string file, pixels;
};

std::string TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string RandomBytes(std::mt19937& random, size_t count) {
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

EncodedImage MakeImage(const std::string& kind, std::mt19937& random) {
  EncodedImage image;
  if (kind == "jpeg") {
    const auto file = MakeJpeg(kSpecimenSide, kSpecimenSide, {}, random());
    const Image decoded = DecodeWhole(file);
    image = {TextOf(file), TextOf(std::as_bytes(std::span(decoded.pixels)))};
  } else if (kind == "webp") {
    image.pixels = RandomBytes(random, kRowBytes);
    uint8_t* data = nullptr;
    const size_t bytes =
        WebPEncodeLosslessRGB(reinterpret_cast<const uint8_t*>(image.pixels.data()), kSpecimenSide,
                              kSpecimenSide, 3 * kSpecimenSide, &data);
    image.file.assign(reinterpret_cast<const char*>(data), bytes);
    WebPFree(data);
  } else {
    decode::PngHeader header;
    header.width = header.height = kSpecimenSide;
    header.depth = 8;
    header.color = decode::PngHeader::kRgb;
    const std::vector<uint16_t> samples = MakePngSamples(header, random());
    for (const uint16_t sample : samples) image.pixels += static_cast<char>(sample);
    image.file = TextOf(MakePng(header, samples));
  }
  if (image.file.size() > kFileBytes) std::abort();
  image.file.resize(kFileBytes);
  return image;
}

Specimen MakeImages(const std::string& kind, std::mt19937& random) {
  Specimen made{.decoded = true, .yaml = "folder: FOLDER"};
  for (uint32_t i = 0; i < kSpecimenSamples; ++i) {
    EncodedImage image = MakeImage(kind, random);
    const std::string name = std::string(i < kSpecimenSamples / 2 ? "a/" : "b/") +
                             static_cast<char>('a' + i) + "." + kind;
    made.files[name] = std::move(image.file);
    made.rows.push_back(std::move(image.pixels));
  }
  return made;
}

Specimen MakeShard(const std::string& kind, std::mt19937& random) {
  Specimen made{.decoded = true, .yaml = kind + ": {shards: [FOLDER/shard." + kind + "]}"};
  std::string& shard = made.files["shard." + kind];
  for (uint32_t i = 0; i < kSpecimenSamples; ++i) {
    EncodedImage image = MakeImage("png", random);
    const std::string key(1, static_cast<char>('a' + i));
    if (kind == "tar") {
      shard += TarFile(key + ".png", image.file) + TarFile(key + ".cls", std::to_string(i % 3));
    } else {
      shard += ImageRecord(image.file, i % 3);
    }
    made.rows.push_back(std::move(image.pixels));
  }
  if (kind == "tar") shard += TarEnd();
  return made;
}

Specimen MakeRows(const std::string& kind, std::mt19937& random) {
  constexpr uint32_t kBytes = 48;
  Specimen made;
  std::string all;
  for (uint32_t i = 0; i < kSpecimenSamples; ++i) {
    made.rows.push_back(RandomBytes(random, kBytes));
    all += made.rows.back();
  }
  if (kind == "idx") {
    made.files["images"] = IdxHeaderBytes({kSpecimenSamples, 6, 8}) + all;
    made.files["labels"] = IdxLabels(kSpecimenSamples);
    made.yaml = "idx: {images: FOLDER/images, labels: FOLDER/labels}";
  } else {
    made.files["rows.npy"] = Npy("|u1", "(" + std::to_string(kSpecimenSamples) + ", 48)", all);
    made.yaml = "npy: {arrays: [{name: data, file: FOLDER/rows.npy}]}";
  }
  return made;
}

// Windows of 24 tokens: `tokens` are the first 24 of 25, `targets` the last 24.
Specimen MakeTokens(const std::string& kind, std::mt19937& random) {
  constexpr int32_t kLength = 24;
  Specimen made{.yaml = "tokens: {files: [FOLDER/tokens.bin], length: 24}"};
  const std::string all = RandomBytes(random, 2 * (kLength * kSpecimenSamples + 1));
  made.files["tokens.bin"] = all;
  if (kind == "megatron")
    made.files["tokens.idx"] = Megatron::Of({kLength * kSpecimenSamples + 1}).Bytes();
  for (uint32_t i = 0; i < kSpecimenSamples; ++i)
    made.rows.push_back(all.substr(2 * kLength * i, 2 * kLength));
  return made;
}

void WriteInPlace(const std::string& path, const std::string& bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) std::abort();
  const ssize_t written = ::pwrite(file, bytes.data(), bytes.size(), 0);
  if (written != static_cast<ssize_t>(bytes.size())) std::abort();
  if (::ftruncate(file, static_cast<off_t>(bytes.size())) != 0) std::abort();
  ::close(file);
}

void SetTime(const std::string& path) {
  const timespec times[2] = {{.tv_sec = 1'700'000'000, .tv_nsec = 0},
                             {.tv_sec = 1'700'000'000, .tv_nsec = 0}};
  if (::utimensat(AT_FDCWD, path.c_str(), times, 0) != 0) std::abort();
}

}  // namespace

const std::vector<std::string>& SpecimenKinds() {
  static const std::vector<std::string> kinds = {"jpeg", "png", "webp",   "tar",     "tfrecord",
                                                 "idx",  "npy", "tokens", "megatron"};
  return kinds;
}

Specimen MakeSpecimen(const std::string& kind, uint32_t seed) {
  std::mt19937 random(seed);
  if (kind == "jpeg" || kind == "png" || kind == "webp") return MakeImages(kind, random);
  if (kind == "tar" || kind == "tfrecord") return MakeShard(kind, random);
  if (kind == "idx" || kind == "npy") return MakeRows(kind, random);
  if (kind == "tokens" || kind == "megatron") return MakeTokens(kind, random);
  std::abort();
}

void WriteSpecimen(const Specimen& specimen, const std::string& folder) {
  for (const auto& [name, bytes] : specimen.files) {
    const fs::path path = fs::path(folder) / name;
    fs::create_directories(path.parent_path());
    WriteInPlace(path.string(), bytes);
    SetTime(path.string());
  }
  std::set<std::string> folders = {folder};
  for (const auto& [name, bytes] : specimen.files)
    folders.insert((fs::path(folder) / name).parent_path().string());
  for (const std::string& each : folders) SetTime(each);
}

}  // namespace penstock::testing
