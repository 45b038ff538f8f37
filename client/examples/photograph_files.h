// Writes generated photographs as a dataset: JPEG files, one folder for each class.
#pragma once

#include <cstdint>
#include <string>

namespace penstock::examples {

struct PhotographFiles {
  std::string directory;  // created if missing
  uint32_t images = 200;
  uint32_t classes = 8;
  uint64_t seed = 1;
};

// The same arguments give the same files. Returns an error message with the path, or "". An error
// inside libjpeg ends the program with libjpeg's message.
std::string WritePhotographs(const PhotographFiles& files);

}  // namespace penstock::examples
