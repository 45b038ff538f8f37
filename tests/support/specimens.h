// Small datasets of every kind, in pairs that agree in everything but content: the same names,
// sizes, labels and times. What each sample's bytes are is known without a daemon.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace penstock::testing {

struct Specimen {
  bool decoded = false;                      // images, which a session crops to kSpecimenSide
  std::map<std::string, std::string> files;  // by their paths in the dataset's folder
  std::vector<std::string> rows;             // of each sample, its first tensor
  std::string yaml;                          // of the configuration, with FOLDER for the folder
};

inline constexpr uint32_t kSpecimenSide = 16;
inline constexpr uint32_t kSpecimenSamples = 12;

// "jpeg", "png", "webp", "tar", "tfrecord", "idx", "npy", "tokens", "megatron".
const std::vector<std::string>& SpecimenKinds();

// Another seed: other bytes in files of the same names and sizes.
Specimen MakeSpecimen(const std::string& kind, uint32_t seed);

// Writes the files into the folder, whose names are there already or not, each in its place (the
// same inode); then sets every file's and every folder's time of change to one moment.
void WriteSpecimen(const Specimen& specimen, const std::string& folder);

}  // namespace penstock::testing
