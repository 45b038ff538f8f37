// Generated photographs as a dataset: JPEG files in folders of classes.
#pragma once

#include <cstdint>
#include <string>

namespace penstock::examples {

struct PhotographFiles {
  std::string directory;  // made where missing
  uint32_t images = 200;
  uint32_t classes = 8;
  uint64_t seed = 1;
};

// The same arguments give the same files. What went wrong, with the path; empty: nothing. What
// libjpeg itself cannot write ends the program with its message.
std::string WritePhotographs(const PhotographFiles& files);

}  // namespace penstock::examples
