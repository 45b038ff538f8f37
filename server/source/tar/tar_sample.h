// Reads the members of one sample of tar shards. Also the state that a dataset shares with its
// readers.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/fault.h"
#include "server/source/core/dataset.h"
#include "server/source/parse/parsers.h"
#include "server/source/shards/shard_files.h"
#include "server/source/shards/shard_manifest.h"

namespace penstock::source {

// A kind of member that can be requested.
struct TarField {
  SampleField field;
  uint32_t extension = 0;
  bool array = false;  // else bytes of variable length
};

// **Thread safety**: immutable except for which files are open; any thread.
struct TarState {
  // **Requires**: `shards` are the manifest's, in its order.
  TarState(std::vector<TreeFile> shards, ShardManifest from, std::shared_ptr<Parsers> parsers);

  // The sample's image and the members of these fields, as far as it has them.
  std::vector<RemotePiece> FindPieces(uint64_t sample, const Selection& selection) const;
  // The image and the members of all fields.
  std::vector<RemotePiece> AllPieces(uint64_t sample) const;
  // "SHARD#sample N" in valid UTF-8; N counts within the shard.
  std::string DisplayPath(uint64_t sample) const;
  // "SHARD#KEY". Reads the key from the shard; if that fails, returns DisplayPath.
  std::string FindDisplayPath(uint64_t sample) const;

  const ShardFiles files;
  const ShardManifest manifest;
  const std::vector<TarField> fields;
  const std::shared_ptr<Parsers> parsers;  // for names of samples
};

class TarSample {
 public:
  // **Errors**: Unavailable if its shard cannot be read; DataLoss if the shard changed since it was
  // indexed.
  static absl::StatusOr<TarSample> Open(const TarState& state, uint64_t sample);

  const ShardMember* image() const;                   // null if absent
  const ShardMember* Find(uint32_t extension) const;  // null if absent
  absl::Status Read(const ShardMember& member, uint64_t from, std::span<std::byte> into) const;
  // Call it after reading, because the data itself does not show whether the shard changed
  // meanwhile.
  absl::Status CheckUnchanged() const;

  // Copies a member into its tensor's row and fills the rest of the row with zeros. Returns a fault
  // if the member is missing, too long or malformed.
  struct FieldRows {
    std::byte* values = nullptr;
    std::byte* length = nullptr;  // int32, for variable-length fields
  };
  absl::StatusOr<base::Fault> Fill(const TarField& field, const Tensor& tensor,
                                   FieldRows rows) const;

 private:
  TarSample(const TarState& state, uint64_t sample, size_t shard, ShardFiles::Handle file)
      : state_(&state), sample_(sample), shard_(shard), file_(std::move(file)) {}

  absl::StatusOr<base::Fault> FillArray(const ShardMember& member, const Tensor& tensor,
                                        FieldRows rows) const;

  const TarState* state_;  // kept alive by the owner of the sample
  uint64_t sample_;
  size_t shard_;
  ShardFiles::Handle file_;  // shared with other readers of the shard
};

std::unique_ptr<Dataset::Reader> MakeTarReader(std::shared_ptr<const TarState> state);

}  // namespace penstock::source
