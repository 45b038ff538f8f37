// JPEG files for tests of decoding on a GPU: photographs, what libjpeg-turbo makes of them, and
// files that are damaged in known ways.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/gpu_decode/row_maker.h"
#include "common/jpeg/engines.h"
#include "tests/support/files/jpeg_maker.h"

namespace penstock::testing {

struct Photograph {
  std::string name;
  std::vector<std::byte> file;
  jpeg::JpegHeaderFacts facts;
};

// What the headers say, as libjpeg reads them; nullopt if it refuses them.
std::optional<jpeg::JpegHeaderFacts> ReadFacts(std::span<const std::byte> file);

// The whole image as libjpeg-turbo decodes it; nullopt if it refuses to.
std::optional<Image> DecodeWithLibjpeg(std::span<const std::byte> file);

// At most `most` files that the engines take, from the folder PENSTOCK_TEST_DATA and those below
// it; generated ones if the variable is not set.
std::vector<Photograph> LoadPhotographs(size_t most);

// The whole image as a row of its own size.
gpu_decode::JpegRow WholeImage(std::span<const std::byte> file, uint32_t width, uint32_t height);

struct DamagedFile {
  std::string name;
  std::vector<std::byte> file;
};

// A file with one scan, damaged in every way that the tests look at.
std::vector<DamagedFile> MakeDamagedFiles(std::span<const std::byte> intact);

// Files of every kind that JudgeForEngines tells apart, and of unusual sizes.
std::vector<Photograph> MakeUnusualFiles();

}  // namespace penstock::testing
