// What tar shards and TFRecord files answer alike: everything that the manifest and the files know.
// State is TarState or RecordState, which have `files`, `manifest`, `fields`, `DisplayPath` and
// `FindPieces`.
// **Thread safety**: immutable except for which files are open; any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/source/core/dataset.h"
#include "server/source/shards/shard_manifest.h"

namespace penstock::source {

template <typename State>
class ShardDataset : public Dataset {
 public:
  uint64_t samples() const override { return header().samples; }
  uint64_t digest() const override { return header().digest; }
  const std::vector<std::string>& classes() const override { return classes_; }
  bool labeled() const override { return header().labeled != 0; }
  int64_t label(uint64_t sample) const override { return state_->manifest.sample(sample).label; }
  std::string path(uint64_t sample) const override { return state_->DisplayPath(sample); }
  uint64_t stamp(uint64_t sample) const override {
    return StampOf(state_->files.state(state_->manifest.ShardOf(sample)));
  }
  bool changed() const override { return state_->files.changed(); }
  bool is_remote() const override { return state_->files.are_remote(); }
  void Expect(uint64_t sample, const Selection& selection, const UseTimes& times) const override {
    if (const RemoteFile* const file = state_->files.remote(state_->manifest.ShardOf(sample)))
      for (const RemotePiece& piece : state_->FindPieces(sample, selection))
        file->Expect(piece, times);
  }
  absl::StatusOr<FetchOutcome> Fetch(uint64_t sample) const override {
    FetchOutcome all = {.is_kept = true};
    const RemoteFile* const file = state_->files.remote(state_->manifest.ShardOf(sample));
    for (const RemotePiece& piece : state_->AllPieces(sample)) {
      PENSTOCK_ASSIGN_OR_RETURN(const FetchOutcome one, file->Fetch(piece));
      all.bytes += one.bytes;
      all.is_kept &= one.is_kept;
    }
    return all;
  }
  void NoteUse(uint64_t sample, const Selection& selection, uint64_t next) const override {
    if (const RemoteFile* const file = state_->files.remote(state_->manifest.ShardOf(sample)))
      for (const RemotePiece& piece : state_->FindPieces(sample, selection))
        file->NoteUse(piece, next);
  }
  uint64_t content_pieces() const override { return state_->files.content_pieces(); }
  absl::Status AddContent(uint64_t piece, Sha256& sum) const override {
    return state_->files.AddContent(piece, sum);
  }
  uint64_t shard_samples() const override { return state_->manifest.LongestShard(); }
  Storage storage() const override {
    return header().images > 0 ? Storage::kEncoded : Storage::kRows;
  }
  std::vector<SampleField> fields() const override {
    std::vector<SampleField> fields;
    for (const auto& field : state_->fields) fields.push_back(field.field);
    return fields;
  }

 protected:
  explicit ShardDataset(std::shared_ptr<const State> state)
      : state_(std::move(state)), classes_(state_->manifest.Classes()) {}

  const State& state() const { return *state_; }
  // For readers, which may outlive the dataset.
  const std::shared_ptr<const State>& shared_state() const { return state_; }

 private:
  const ShardManifestHeader& header() const { return state_->manifest.header(); }

  const std::shared_ptr<const State> state_;
  const std::vector<std::string> classes_;
};

}  // namespace penstock::source
