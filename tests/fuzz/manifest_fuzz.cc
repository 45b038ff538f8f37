// Arbitrary bytes as a folder's index from the state directory. The first byte decides whether the
// header gets the right magic, version and checksum, because an attacker can compute those. If the
// manifest is accepted, every sample and folder can be queried.
#include <cstdint>
#include <cstring>
#include <span>

#include "common/base/check.h"
#include "server/source/files/checked_header.h"
#include "server/source/images/manifest.h"
#include "tests/fuzz/stored_bytes.h"

namespace source = penstock::source;

namespace {

void MakeSound(std::span<std::byte> bytes) {
  if (bytes.size() < sizeof(source::ManifestHeader)) return;
  source::ManifestHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  std::memcpy(header.magic, source::kManifestMagic, sizeof(header.magic));
  header.version = source::kManifestVersion;
  source::WriteChecked(header, bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  auto mapping = penstock::testing::Stored({data + 1, size - 1});
  if (data[0] % 4 != 0) MakeSound(penstock::testing::Writable(mapping));
  const auto manifest = source::Manifest::FromMapping(std::move(mapping));
  if (!manifest.ok()) return 0;
  PENSTOCK_CHECK(manifest->samples() <= size && manifest->folders().size() <= size);
  size_t characters = manifest->root().size() + manifest->Identity().size();
  for (size_t folder = 0; folder < manifest->folders().size(); ++folder) {
    characters += manifest->RelativeFolder(folder).size();
    const auto range = manifest->SamplesIn(folder);
    PENSTOCK_CHECK(range.first <= manifest->samples() &&
                   range.count <= manifest->samples() - range.first);
  }
  for (uint64_t sample = 0; sample < manifest->samples(); ++sample) {
    characters += manifest->RelativePath(sample).size() + manifest->NameOf(sample).size();
    characters += static_cast<size_t>(manifest->label(sample) >= 0) + manifest->IsFile(sample);
    PENSTOCK_CHECK(manifest->NameOf(sample).size() <= size);
  }
  for (const std::string& name : manifest->Classes()) characters += name.size();
  PENSTOCK_CHECK(characters > 0);
  return 0;
}
