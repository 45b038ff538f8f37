#include "server/source/arrays/tokens.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/hash.h"
#include "common/base/units.h"
#include "common/posix/gather.h"
#include "server/source/arrays/token_check.h"
#include "server/source/arrays/token_files.h"
#include "server/source/core/content_digest.h"

namespace penstock::source {
namespace {

constexpr uint64_t kHashedWhole = base::kGiB;
constexpr uint64_t kPiece = base::kMiB;
constexpr uint64_t kPieces = 64;

constexpr std::array<absl::string_view, 2> kFields = {"tokens", "targets"};

// Collects the pieces of one copy, so that each file is checked once, however many samples lie in
// it.
class Copy {
 public:
  Copy(const std::vector<TokenFile>& files, size_t rows) : files_(files), views_(files.size()) {
    pieces_.reserve(rows);
  }

  // Adds a piece: `stretch` goes to `into`.
  void Add(const Stretch& stretch, std::byte* into, size_t bytes) {
    if (files_[stretch.file].remote != nullptr) return Fetch(stretch, into, bytes);
    std::optional<MappedFile::View>& view = views_[stretch.file];
    if (!view) {
      absl::StatusOr<MappedFile::View> looked = files_[stretch.file].mapped->Look();
      if (!looked.ok()) return status_.Update(looked.status());
      view = *std::move(looked);
      used_.push_back(stretch.file);
    }
    pieces_.push_back({.from = view->data() + stretch.byte, .into = into, .bytes = bytes});
  }

  // Copies the pieces; `look`, if set, sees the tokens. Fails if a file has changed, because the
  // tokens are then meaningless.
  absl::Status Gather(const posix::Look& look) {
    PENSTOCK_RETURN_IF_ERROR(status_);
    for (const std::span<const std::byte> tokens : fetched_)
      if (look) look(tokens, tokens.data());
    const bool read = look ? posix::GatherPieces(pieces_, look) : posix::GatherPieces(pieces_);
    if (!read) PENSTOCK_RETURN_IF_ERROR(FindTrouble(look));
    for (const uint32_t file : used_) PENSTOCK_RETURN_IF_ERROR(Check(file, Copied::kWhole));
    return absl::OkStatus();
  }

 private:
  using Copied = MappedFile::Copied;

  void Fetch(const Stretch& stretch, std::byte* into, size_t bytes) {
    status_.Update(files_[stretch.file].remote->Read(stretch.byte, {into, bytes}));
    fetched_.emplace_back(into, bytes);
  }

  absl::Status Check(uint32_t file, Copied copied) const {
    return files_[file].mapped->Check(*views_[file], copied);
  }

  uint32_t FileOf(const posix::Piece& piece) const {
    const std::less_equal<const std::byte*> before;
    for (const uint32_t file : used_) {
      const std::byte* const begin = views_[file]->data();
      const uint64_t bytes = files_[file].offset + files_[file].bytes;
      if (before(begin, piece.from) && before(piece.from + piece.bytes, begin + bytes)) return file;
    }
    PENSTOCK_CHECK(false);
    return 0;
  }

  // Finds the file that failed. If storage is back at the second attempt, that is no error.
  absl::Status FindTrouble(const posix::Look& look) const {
    for (const posix::Piece& piece : pieces_) {
      const std::span<const posix::Piece> one(&piece, 1);
      const bool read = look ? posix::GatherPieces(one, look) : posix::GatherPieces(one);
      if (!read) return Check(FileOf(piece), Copied::kBusError);
    }
    return absl::OkStatus();
  }

  const std::vector<TokenFile>& files_;
  std::vector<std::optional<MappedFile::View>> views_;
  std::vector<uint32_t> used_;
  std::vector<posix::Piece> pieces_;
  std::vector<std::span<const std::byte>> fetched_;  // that are already where they belong
  absl::Status status_;
};

class TokensDataset final : public Dataset {
 public:
  TokensDataset(TokensSpec spec, TokenFiles files)
      : spec_(std::move(spec)), files_(std::move(files)) {}

  // The digest of the windows' shape and the tokens, sampled as in row_store.h.
  absl::Status MakeDigest() {
    base::Hasher hasher;
    uint64_t all = 0;
    for (const TokenFile& file : files_.files) all += file.bytes;
    for (const uint64_t number :
         {static_cast<uint64_t>(files_.type), uint64_t{spec_.length}, spec_.step(),
          uint64_t{spec_.documents}, files_.windows.samples(), uint64_t{files_.files.size()}})
      hasher.Add(number);
    const uint64_t pieces = std::max<uint64_t>(1, kPieces / files_.files.size());
    for (const TokenFile& file : files_.files) {
      hasher.Add(file.index_hash);
      hasher.Add(file.bytes);
      const bool whole = all <= kHashedWhole || file.bytes <= pieces * kPiece;
      if (file.remote != nullptr) continue;  // its version says enough
      PENSTOCK_RETURN_IF_ERROR(
          HashFile(file, whole ? (file.bytes + kPiece - 1) / kPiece : pieces, hasher));
    }
    digest_ = hasher.Digest();
    return absl::OkStatus();
  }

  absl::string_view kind() const override { return "tokens"; }
  uint64_t samples() const override { return files_.windows.samples(); }
  uint64_t digest() const override { return digest_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  bool labeled() const override { return false; }
  int64_t label(uint64_t sample) const override {
    PENSTOCK_CHECK(sample < samples());
    return 0;
  }
  void CopyLabels(std::span<const uint64_t> samples, std::byte* into) const override {
    std::memset(into, 0, samples.size() * sizeof(int64_t));
  }
  // The file, and the index of the sample's first token in it.
  std::string path(uint64_t sample) const override {
    std::string path;
    files_.windows.ForEachPart(sample, [&](const Stretch& stretch) {
      if (!path.empty()) return;
      const TokenFile& file = files_.files[stretch.file];
      path = absl::StrCat(file.path(), "#", (stretch.byte - file.offset) / token_bytes());
    });
    return path;
  }
  bool changed() const override {
    return std::any_of(files_.files.begin(), files_.files.end(),
                       [](const TokenFile& file) { return file.changed(); });
  }
  uint64_t content_pieces() const override {
    uint64_t pieces = 0;
    for (const TokenFile& file : files_.files) pieces += PiecesOf(file.bytes);
    return pieces;
  }
  absl::Status AddContent(uint64_t piece, Sha256& sum) const override {
    size_t i = 0;
    for (; piece >= PiecesOf(files_.files[i].bytes); ++i) piece -= PiecesOf(files_.files[i].bytes);
    const TokenFile& file = files_.files[i];
    sum.Add(uint64_t{i});
    const auto read = [&](uint64_t offset, std::span<std::byte> into) {
      return file.Read(file.offset + offset, into);
    };
    return AddPiece(file.bytes, piece, read, sum);
  }
  Storage storage() const override { return Storage::kRows; }
  bool is_remote() const override {
    return std::any_of(files_.files.begin(), files_.files.end(),
                       [](const TokenFile& file) { return file.remote != nullptr; });
  }
  void Expect(uint64_t sample, const Selection&, const UseTimes& times) const override {
    files_.windows.ForEachPart(sample, [&](const Stretch& stretch) {
      if (const auto& remote = files_.files[stretch.file].remote; remote != nullptr)
        remote->Expect(stretch.byte, stretch.tokens * token_bytes(), times);
    });
  }
  absl::StatusOr<FetchOutcome> Fetch(uint64_t sample) const override {
    absl::StatusOr<FetchOutcome> all = FetchOutcome{.is_kept = true};
    files_.windows.ForEachPart(sample, [&](const Stretch& stretch) {
      const auto& remote = files_.files[stretch.file].remote;
      if (remote == nullptr || !all.ok()) return;
      const auto one = remote->Fetch(stretch.byte, stretch.tokens * token_bytes());
      if (!one.ok()) {
        all = one.status();
        return;
      }
      all->bytes += one->bytes;
      all->is_kept &= one->is_kept;
    });
    return all;
  }

  std::vector<SampleField> fields() const override {
    std::vector<SampleField> fields;
    for (const absl::string_view name : kFields)
      fields.push_back({.name = std::string(name), .type = files_.type, .shape = {spec_.length}});
    return fields;
  }

  // One block holds both tensors, whichever were requested. If samples may be short, a block for
  // the lengths follows.
  absl::StatusOr<Selection> Select(std::span<const FieldRequest> requests) const override {
    PENSTOCK_ASSIGN_OR_RETURN(Selection selection, Dataset::Select(requests));
    selection.layout = {.blocks = {row_bytes()}};
    for (const uint32_t field : selection.fields) {
      Tensor tensor = {.name = std::string(kFields[field]),
                       .type = files_.type,
                       .shape = {spec_.length},
                       .block = 0,
                       .offset = field * token_bytes()};
      if (spec_.documents) {
        tensor.lengths_block = static_cast<uint32_t>(selection.layout.blocks.size());
        selection.layout.blocks.push_back(sizeof(int32_t));
      }
      selection.layout.tensors.push_back(std::move(tensor));
    }
    return selection;
  }

  absl::Status CopyRows(const Selection& selection, std::span<const uint64_t> samples,
                        std::span<std::byte* const> blocks) const override {
    Copy copy(files_.files, samples.size());
    for (size_t row = 0; row < samples.size(); ++row) {
      const uint32_t count = Plan(samples[row], blocks[0] + row * row_bytes(), copy);
      if (spec_.documents) WriteLengths(selection, count, row, blocks);
    }
    std::optional<Bad> bad;
    PENSTOCK_RETURN_IF_ERROR(copy.Gather(VocabularyCheck(bad)));
    if (!bad) return absl::OkStatus();
    const uint64_t token = static_cast<uint64_t>(bad->at - blocks[0]) / token_bytes();
    const uint64_t in_row = uint64_t{spec_.length} + 1;
    return BadToken(samples[token / in_row], token % in_row, bad->token);
  }

 private:
  struct Bad {
    const std::byte* at = nullptr;  // within the rows
    int64_t token = 0;
  };

  size_t token_bytes() const { return base::ElementBytes(files_.type); }
  uint64_t row_bytes() const { return (uint64_t{spec_.length} + 1) * token_bytes(); }

  // Adds the copy of the sample's tokens, fills the rest with zeros, and returns the number of
  // tokens.
  uint32_t Plan(uint64_t sample, std::byte* into, Copy& copy) const {
    std::byte* const end = into + row_bytes();
    const uint32_t tokens = files_.windows.ForEachPart(sample, [&](const Stretch& stretch) {
      const size_t bytes = stretch.tokens * token_bytes();
      copy.Add(stretch, into, bytes);
      into += bytes;
    });
    if (into != end) std::memset(into, 0, static_cast<size_t>(end - into));
    return tokens;
  }

  // All tokens are inputs, up to `length`; all but the first are targets.
  void WriteLengths(const Selection& selection, uint32_t tokens, size_t row,
                    std::span<std::byte* const> blocks) const {
    for (const Tensor& tensor : selection.layout.tensors) {
      const bool inputs = tensor.offset == 0;
      const auto length =
          static_cast<int32_t>(inputs ? std::min(tokens, spec_.length) : tokens - 1);
      std::memcpy(blocks[*tensor.lengths_block] + row * sizeof(length), &length, sizeof(length));
    }
  }

  // Records the first token outside of the vocabulary; an empty function if none was stated.
  posix::Look VocabularyCheck(std::optional<Bad>& bad) const {
    if (spec_.vocabulary == 0) return {};
    return [this, &bad](std::span<const std::byte> tokens, const std::byte* into) {
      if (bad) return;
      if (const auto at = FirstBeyond(tokens, files_.type, spec_.vocabulary))
        bad = {into + *at * token_bytes(), TokenAt(tokens, files_.type, *at)};
    };
  }

  absl::Status BadToken(uint64_t sample, uint64_t place, int64_t token) const {
    std::string where;
    uint64_t begin = 0;
    files_.windows.ForEachPart(sample, [&](const Stretch& stretch) {
      if (place >= begin && place < begin + stretch.tokens)
        where = absl::StrCat("'", files_.files[stretch.file].path(), "': the token at byte ",
                             stretch.byte + (place - begin) * token_bytes());
      begin += stretch.tokens;
    });
    return absl::DataLossError(absl::StrCat(where, ", of sample ", sample, ", is ", token,
                                            "; wanted 0 to ", spec_.vocabulary - 1,
                                            ", according to the given vocabulary; write the file "
                                            "again, or correct the vocabulary or the "
                                            "dtype (now ",
                                            base::DTypeName(files_.type), ")"));
  }

  absl::Status HashFile(const TokenFile& file, uint64_t pieces, base::Hasher& hasher) const {
    std::vector<std::byte> piece(std::min(kPiece, file.bytes));
    const uint64_t last = file.bytes - piece.size();
    for (uint64_t i = 0; i < pieces; ++i) {
      const bool every = pieces * kPiece >= file.bytes;
      const uint64_t at = every ? i * kPiece : pieces == 1 ? 0 : last / (pieces - 1) * i;
      const std::span<std::byte> into =
          std::span(piece).first(std::min<uint64_t>(piece.size(), file.bytes - at));
      PENSTOCK_RETURN_IF_ERROR(file.Read(file.offset + at, into));
      hasher.Add({reinterpret_cast<const char*>(into.data()), into.size()});
    }
    return absl::OkStatus();
  }

  const TokensSpec spec_;
  const TokenFiles files_;
  const std::vector<std::string> classes_;
  uint64_t digest_ = 0;
};

// Checks the first and last sample, so that a wrong dtype or vocabulary shows at once.
absl::Status TryEnds(const Dataset& dataset) {
  PENSTOCK_ASSIGN_OR_RETURN(const Selection selection, dataset.Select({}));
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::byte*> blocks;
  for (const uint64_t bytes : selection.layout.blocks) {
    memory.emplace_back(2 * bytes);
    blocks.push_back(memory.back().data());
  }
  const uint64_t ends[] = {0, dataset.samples() - 1};
  return dataset.CopyRows(selection, ends, blocks);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenTokens(const TokensOptions& options,
                                                    Parsers& parsers) {
  PENSTOCK_RETURN_IF_ERROR(Validate(options.spec));
  FileFinder finder(options.roots, options.confinement, options.remote);
  PENSTOCK_ASSIGN_OR_RETURN(TokenFiles files, OpenTokenFiles(options.spec, finder, parsers));
  auto dataset = std::make_unique<TokensDataset>(options.spec, std::move(files));
  PENSTOCK_RETURN_IF_ERROR(TryEnds(*dataset));
  PENSTOCK_RETURN_IF_ERROR(dataset->MakeDigest());
  return dataset;
}

absl::StatusOr<FilesStamp> TokensStamp(const TokensOptions& options) {
  FileFinder finder(options.roots, options.confinement, options.remote);
  return TokensStamp(options.spec, finder);
}

}  // namespace penstock::source
