// One sample of tar shards, open: its members can be read. What a dataset and its readers share.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/fault.h"
#include "server/source/core/dataset.h"
#include "server/source/shards/shard_files.h"
#include "server/source/shards/shard_manifest.h"
#include "server/source/tar/tar_npy.h"

namespace penstock::source {

// A kind of member that can be asked for.
struct TarField {
  Field field;
  uint32_t extension = 0;
  std::optional<NpyMember> array = {};  // else bytes, of variable length
};

// Immutable but for which files are open; any thread.
struct TarState {
  // `shards`: the manifest's, in its order. Unavailable: one of them cannot be read.
  static absl::StatusOr<std::shared_ptr<const TarState>> Make(std::vector<TreeFile> shards,
                                                              ShardManifest from);
  TarState(std::vector<TreeFile> shards, ShardManifest from);

  // "SHARD#sample N" in valid UTF-8, with its number in the shard.
  std::string PathForPeople(uint64_t sample) const;
  // "SHARD#KEY". Reads the key in the shard; where it cannot be read, as above.
  std::string FindPathForPeople(uint64_t sample) const;

  const ShardFiles files;
  const ShardManifest manifest;
  std::vector<TarField> fields;  // set by Make
};

class TarSample {
 public:
  // Unavailable: its shard cannot be read, or is not what it was when it was indexed.
  static absl::StatusOr<TarSample> Open(const TarState& state, uint64_t sample);

  const ShardMember* image() const;                   // null: it has none
  const ShardMember* Find(uint32_t extension) const;  // null: it has none
  absl::Status Read(const ShardMember& member, uint64_t from, std::span<std::byte> into) const;
  // Behind reading: what a shard that was written to held is not told apart.
  absl::Status CheckUnchanged() const;

  // Puts a member into its tensor's row; what a row is longer than is zero. A fault: it is missing,
  // too long, or not what it should be.
  struct Rows {
    std::byte* values = nullptr;
    std::byte* length = nullptr;  // int32, of variable length
  };
  absl::StatusOr<base::Fault> Fill(const TarField& field, const Tensor& tensor, Rows rows) const;

 private:
  TarSample(const TarState& state, uint64_t sample, size_t shard, ShardFiles::Handle file)
      : state_(&state), sample_(sample), shard_(shard), file_(std::move(file)) {}

  const TarState* state_;  // whoever has the sample keeps it
  uint64_t sample_;
  size_t shard_;
  ShardFiles::Handle file_;  // with the state's other readers of the shard
};

std::unique_ptr<Dataset::Reader> MakeTarReader(std::shared_ptr<const TarState> state);

}  // namespace penstock::source
