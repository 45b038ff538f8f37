// Small datasets of every kind, in pairs with different content but the same names, sizes, labels
// and times. Each sample's bytes are known without a daemon.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace penstock::testing {

struct Specimen {
  bool decoded = false;                           // images; sessions crop them to kSpecimenSide
  std::map<std::string, std::string> files = {};  // by path in the dataset's folder
  std::vector<std::string> rows = {};             // the first tensor of each sample
  std::string yaml = {};  // configuration, with FOLDER in place of the folder
};

inline constexpr uint32_t kSpecimenSide = 16;
inline constexpr uint32_t kSpecimenSamples = 12;

// "jpeg", "png", "webp", "tar", "tfrecord", "idx", "npy", "tokens", "megatron".
const std::vector<std::string>& SpecimenKinds();

// Another seed gives other bytes in files with the same names and sizes.
Specimen MakeSpecimen(const std::string& kind, uint32_t seed);

// Writes the files into the folder. Existing files are overwritten in place (the same inode). Then
// sets the mtime of every file and folder to the same moment.
void WriteSpecimen(const Specimen& specimen, const std::string& folder);

}  // namespace penstock::testing
