// Parses the contents of untrusted files when a dataset is opened: tar shards, files of records,
// lists, annotations, headers of arrays, Megatron's indexes, gzip. An opener finds and opens the
// files, and learns their contents only from a Parsers.
//
// There are two implementations: `directly.h` parses in the calling thread (tests, fuzz targets,
// and the program penstock-indexer); server/indexer lets sandboxed processes parse (the daemon).
//
// **Ownership**: made for one opening, shared with the dataset that it opens, which asks it for the
// names of samples. **Thread safety**: any thread; calls from several threads run in parallel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/dtype.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/source/annotated/annotated_spec.h"
#include "server/source/annotated/annotations.h"
#include "server/source/annotated/names_format.h"
#include "server/source/annotated/note_batch.h"
#include "server/source/arrays/idx_format.h"
#include "server/source/arrays/npy_format.h"
#include "server/source/arrays/token_format.h"
#include "server/source/cifar/cifar_pickle.h"
#include "server/source/files/byte_source.h"
#include "server/source/files/read_exactly.h"
#include "server/source/files/remote_file.h"
#include "server/source/lists/list_spec.h"
#include "server/source/lists/scanned_list.h"
#include "server/source/shards/index_file.h"
#include "server/source/shards/shard_manifest_builder.h"
#include "server/source/tfrecord/record_roles.h"

namespace penstock::source {

// A file that is open for reading. **Ownership**: the descriptor and the source belong to the
// caller.
struct ForeignFile {
  const posix::Fd& fd;
  std::string path;  // for messages
  uint64_t bytes = 0;
  // Of a shard in an object store, whose bytes are read from here; null: they are in `fd`.
  const ByteSource* remote = nullptr;

  // Fills `into` from the offset. **Errors**: those of ReadExactly or of ByteSource::Read.
  absl::Status Read(uint64_t offset, std::span<std::byte> into) const {
    return remote != nullptr ? remote->Read(offset, into) : ReadExactly(fd, path, offset, into);
  }
};

// Follows a scan. Each may be empty; they are called on the scanning thread.
struct ScanWatch {
  std::function<void(uint64_t more)> found = {};  // `more` samples were found
  // A member or a record was found in a shard, behind the earlier ones. Whoever is told believes
  // nothing of it: it need not lie within the file.
  std::function<void(const RemotePiece& piece)> piece = {};
  std::function<bool()> cancelled = {};  // true ends the scan with Cancelled
};

// Names of a sample's image and label among a tar shard's members, as in ShardsSpec.
struct TarWanted {
  std::string image = {}, label = {};
};

// The tokens of a file, and the format that it turned out to have.
struct FoundTokens {
  TokenFormat format = TokenFormat::kRaw;
  TokenExtent extent = {};
};

// A sequence of tokens in a Megatron .bin file.
struct MegatronPiece {
  uint64_t byte = 0;
  uint32_t tokens = 0;
  uint32_t ends_document = 0;  // 1: the last one of its document
};
static_assert(sizeof(MegatronPiece) == 16);

// A validated Megatron index: its sequences in its order. Documents without sequences are left out.
struct MegatronPieces {
  base::DType type = base::DType::kUInt16;
  uint64_t hash = 0;  // of the index file
  std::vector<MegatronPiece> pieces = {};
};

// The unpacked content of a compressed file.
// **Thread safety**: one thread.
class UnpackedFile {
 public:
  virtual ~UnpackedFile() = default;
  // Fills `into`; returns fewer bytes at the end of the content. **Errors**: DataLoss if the file
  // is damaged.
  virtual absl::StatusOr<size_t> Read(std::span<std::byte> into) = 0;
};

struct IdxContent {
  IdxHeader header = {};
  std::unique_ptr<UnpackedFile> items = nullptr;  // those of a compressed file; null: it is plain
};

class Parsers {
 public:
  virtual ~Parsers() = default;

  // The samples of a shard; the caller adds the file's state. `index`: DALI's index beside the
  // shard; null: there is none. An invalid index only adds a warning.
  // **Errors**: InvalidArgument, with the offset, if the shard is not a tar file, is compressed or
  // truncated, or contains something unusable; read errors.
  virtual absl::StatusOr<ScannedShard> ScanTar(const ForeignFile& shard, const ForeignFile* index,
                                               const TarWanted& wanted, const ScanWatch& watch) = 0;
  // The key of the sample whose first member has its data at `offset`, escaped for display. Reads
  // from `from`, the position of an earlier header.
  virtual absl::StatusOr<std::string> TarKey(const ForeignFile& shard, uint64_t from,
                                             uint64_t offset) = 0;
  // The records of a TFRecord file. **Errors**: InvalidArgument, with the offset, if it is not one,
  // is truncated, or contains something other than a tf.train.Example; read errors.
  virtual absl::StatusOr<ScannedShard> ScanRecords(const ForeignFile& file,
                                                   const RecordRoles& roles,
                                                   const ScanWatch& watch) = 0;
  // What a scan of the shard would find, from the index file beside it; the caller adds the file's
  // state. **Errors**: those of ReadIndexFile; DataLoss if such a shard cannot hold what it lists.
  virtual absl::StatusOr<ScannedShard> ReadIndex(const ForeignFile& index, const IndexTopic& topic,
                                                 const IndexedShard& shard) = 0;
  // **Errors** of all below: InvalidArgument names the problem, its place and what was expected.
  virtual absl::StatusOr<NpyHeader> ReadNpy(const ForeignFile& file) = 0;
  // `format`: kAuto recognises it; not kMegatron.
  virtual absl::StatusOr<FoundTokens> ReadTokens(const ForeignFile& file, TokenFormat format,
                                                 base::DType raw_type) = 0;
  // `bin`: the file that the index describes; only its path and size are used.
  virtual absl::StatusOr<MegatronPieces> ReadMegatron(const ForeignFile& index,
                                                      const ForeignFile& bin) = 0;
  // The rows of a list. **Errors**: those of ScanList.
  virtual absl::StatusOr<ScannedList> ReadList(const ForeignFile& file, const ListSpec& spec,
                                               const ScanWatch& watch) = 0;
  // **Errors**: those of ScanNames.
  virtual absl::StatusOr<ScannedList> ReadNames(const ForeignFile& file, NamesFormat format) = 0;
  // **Errors**: those of ScanCoco.
  virtual absl::StatusOr<Annotations> ReadCoco(const ForeignFile& file, const CocoSpec& spec,
                                               const ScanWatch& watch) = 0;
  // `batch`: a file in memory, as NoteBatchWriter writes it; `notes`: how many files it holds.
  // **Errors**: those of ScanNotes.
  virtual absl::StatusOr<Annotations> ReadNotes(const ForeignFile& batch, uint64_t notes,
                                                NoteFormat format) = 0;
  // **Errors**: those of ParseCifarBatch.
  virtual absl::StatusOr<CifarBatch> ReadCifar(const ForeignFile& file) = 0;
  // `file` must outlive the content.
  virtual absl::StatusOr<IdxContent> ReadIdx(const ForeignFile& file, IdxRole role) = 0;
};

}  // namespace penstock::source
