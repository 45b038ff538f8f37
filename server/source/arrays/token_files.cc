#include "server/source/arrays/token_files.h"

#include <optional>
#include <span>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/hash.h"
#include "common/base/units.h"
#include "server/source/arrays/megatron_index.h"
#include "server/source/files/braces.h"
#include "server/source/files/index_memory.h"

namespace penstock::source {
namespace {

constexpr uint64_t kMostIndexBytes = 8 * base::kGiB;
constexpr uint64_t kMegatronSequence = 12;  // bytes of an index for each, at least
// For each, at most: what the index says, and what TokenWindows keep.
constexpr uint64_t kSequenceMemory = sizeof(MegatronPiece) + 16 + 16;
constexpr uint64_t kRemotePiece = 64 * base::kKiB;
constexpr absl::string_view kBin = ".bin", kIdx = ".idx";

// A token file and, if there can be one, its index.
struct Paths {
  std::string tokens = {}, index = {};
  bool index_given = false;  // the path named the index, so this must be a pair
};

Paths ToPaths(const std::string& path, TokenFormat format) {
  const bool pair = format == TokenFormat::kMegatron;
  if (!pair && format != TokenFormat::kAuto) return {.tokens = path};
  const std::string stem = path.substr(0, path.size() - std::min(path.size(), kBin.size()));
  if (absl::EndsWith(path, kIdx)) return {absl::StrCat(stem, kBin), path, true};
  if (absl::EndsWith(path, kBin)) return {path, absl::StrCat(stem, kIdx), pair};
  // Megatron's options name a pair without either extension.
  if (pair) return {absl::StrCat(path, kBin), absl::StrCat(path, kIdx), true};
  return {.tokens = path};
}

// Expands the patterns, in order.
absl::StatusOr<std::vector<std::string>> FilesOf(const TokensSpec& spec) {
  std::vector<std::string> files;
  for (const std::string& pattern : spec.files) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> more, ExpandBraces(pattern));
    files.insert(files.end(), more.begin(), more.end());
    if (files.size() > kMaxTokensFiles)
      return absl::InvalidArgumentError(absl::StrCat("tokens files: wanted ", kMaxTokensFiles,
                                                     " at most, got more with '", pattern, "'"));
  }
  return files;
}

// The files of tokens, without their indexes.
std::vector<std::string> TokenPaths(const std::vector<std::string>& files, TokenFormat format) {
  std::vector<std::string> paths;
  for (const std::string& file : files) paths.push_back(ToPaths(file, format).tokens);
  return paths;
}

class Opener {
 public:
  Opener(const TokensSpec& spec, FileFinder& finder, Parsers& parsers)
      : spec_(spec), finder_(finder), parsers_(parsers) {}

  absl::StatusOr<TokenFiles> Open() && {
    PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesOf(spec_));
    PENSTOCK_RETURN_IF_ERROR(finder_.FindAhead(TokenPaths(files, spec_.format)));
    for (const std::string& path : files) PENSTOCK_RETURN_IF_ERROR(OpenOne(path));
    return TokenFiles{.files = std::move(files_), .type = *type_, .windows = *std::move(windows_)};
  }

 private:
  struct Opened {
    TreeFile file;
    posix::Fd fd;
    uint64_t bytes = 0;
    std::string path() const { return file.path(); }
    ForeignFile foreign() const {
      return {.fd = fd, .path = path(), .bytes = bytes, .remote = file.remote.get()};
    }
  };
  absl::StatusOr<Opened> OpenFile(const std::string& path) {
    Opened opened;
    PENSTOCK_ASSIGN_OR_RETURN(opened.file, finder_.Find(path));
    PENSTOCK_ASSIGN_OR_RETURN(opened.fd, opened.file.Open());
    PENSTOCK_ASSIGN_OR_RETURN(const FileState identity, opened.file.StateOf(opened.fd));
    opened.bytes = identity.bytes;
    if (opened.bytes >= kMaxTokenFileBytes)
      return absl::InvalidArgumentError(absl::StrCat("'", path, "' has ",
                                                     base::FormatBytes(opened.bytes),
                                                     "; wanted less than 256TiB; split it"));
    return opened;
  }

  absl::Status OpenOne(const std::string& path) {
    const Paths paths = ToPaths(path, spec_.format);
    PENSTOCK_ASSIGN_OR_RETURN(std::optional<Opened> index, FindIndex(paths));
    PENSTOCK_ASSIGN_OR_RETURN(Opened tokens, OpenFile(paths.tokens));
    if (index) return AddPair(std::move(tokens), *std::move(index));
    return AddFile(std::move(tokens));
  }

  // Opens the index, if there is one. **Errors**: InvalidArgument if a file with its name is not an
  // index.
  absl::StatusOr<std::optional<Opened>> FindIndex(const Paths& paths) {
    if (paths.index.empty()) return std::nullopt;
    absl::StatusOr<Opened> opened = OpenFile(paths.index);
    if (!paths.index_given && absl::IsNotFound(opened.status())) return std::nullopt;
    if (!opened.ok()) return opened.status();
    if (opened->file.remote != nullptr)
      return absl::InvalidArgumentError(absl::StrCat(
          "'", opened->path(), "' is the index of a Megatron pair, which is not read from stores; ",
          "copy the pair to a disk, or, if '", paths.tokens,
          "' holds tokens without it, say so (format: raw, with its dtype)"));
    PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::byte> begin,
                              ReadBeginning(opened->fd, opened->path(), opened->bytes, 16));
    if (paths.index_given || IsMegatronIndex(begin)) return *std::move(opened);
    return absl::InvalidArgumentError(absl::StrCat(
        "'", opened->path(), "' lies beside '", paths.tokens,
        "' and does not begin like a Megatron index: it is damaged, or something else, "
        "and "
        "what the tokens' type is cannot be told; repair it, or say what the file holds (format: "
        "raw, with its dtype)"));
  }

  absl::Status AddFile(Opened file) {
    const std::string path = file.path();
    if (spec_.documents)
      return absl::InvalidArgumentError(
          absl::StrCat("'", path,
                       "' does not say where documents begin, unlike Megatron's files; "
                       "leave 'documents' out"));
    PENSTOCK_ASSIGN_OR_RETURN(const FoundTokens found,
                              parsers_.ReadTokens(file.foreign(), spec_.format,
                                                  spec_.type.value_or(base::DType::kUInt16)));
    const TokenExtent& extent = found.extent;
    PENSTOCK_RETURN_IF_ERROR(AgreeOn(extent.type, path));
    const auto number = static_cast<uint32_t>(files_.size());
    windows_->Add({.file = number, .byte = extent.offset, .tokens = extent.tokens});
    const uint64_t windows = windows_->EndSequence();
    PENSTOCK_RETURN_IF_ERROR(CheckEnough(windows, extent.tokens, path));
    return Map(std::move(file), extent.offset, extent.bytes(), 0);
  }

  absl::Status AddPair(Opened bin, Opened idx) {
    if (idx.bytes > kMostIndexBytes)
      return absl::InvalidArgumentError(absl::StrCat("'", idx.path(), "' has ",
                                                     base::FormatBytes(idx.bytes),
                                                     "; wanted an index of at most 8GiB"));
    PENSTOCK_RETURN_IF_ERROR(
        CheckIndexMemory(idx.bytes / kMegatronSequence * kSequenceMemory, idx.path()));
    PENSTOCK_ASSIGN_OR_RETURN(const MegatronPieces index,
                              parsers_.ReadMegatron(idx.foreign(), bin.foreign()));
    PENSTOCK_RETURN_IF_ERROR(AgreeOn(index.type, idx.path()));
    uint64_t tokens = 0;
    const uint64_t windows = AddDocuments(index, tokens);
    PENSTOCK_RETURN_IF_ERROR(CheckEnough(windows, tokens, bin.path()));
    const uint64_t bin_bytes = bin.bytes;
    return Map(std::move(bin), 0, bin_bytes, index.hash);
  }

  // Adds the documents in index order, as one sequence or as one sequence each.
  uint64_t AddDocuments(const MegatronPieces& index, uint64_t& tokens) {
    const auto number = static_cast<uint32_t>(files_.size());
    uint64_t windows = 0;
    for (const MegatronPiece& piece : index.pieces) {
      windows_->Add({.file = number, .byte = piece.byte, .tokens = piece.tokens});
      tokens += piece.tokens;
      if (spec_.documents && piece.ends_document != 0) windows += windows_->EndSequence();
    }
    return spec_.documents ? windows : windows_->EndSequence();
  }

  // All files must have the token type of the first one.
  absl::Status AgreeOn(base::DType type, const std::string& path) {
    const std::optional<base::DType> wanted = type_ ? type_ : spec_.type;
    if (wanted && *wanted != type)
      return absl::InvalidArgumentError(
          absl::StrCat("'", path, "' has tokens of type ", base::DTypeName(type), "; wanted ",
                       base::DTypeName(*wanted),
                       type_ ? ", as in the files before it" : ", the dataset's dtype"));
    if (type_) return absl::OkStatus();
    type_ = type;
    windows_.emplace(WindowShape{.length = spec_.length,
                                 .stride = spec_.step(),
                                 .token_bytes = base::ElementBytes(type)},
                     spec_.documents ? Ends::kShort : Ends::kLeftOut);
    return absl::OkStatus();
  }

  absl::Status CheckEnough(uint64_t windows, uint64_t tokens, const std::string& path) const {
    if (windows > 0) return absl::OkStatus();
    if (spec_.documents)
      return absl::InvalidArgumentError(absl::StrCat(
          "'", path, "' has no document of two tokens, a token and its target; leave it out"));
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "' has ", tokens, " tokens; one window of length ", spec_.length,
                     " takes ", uint64_t{spec_.length} + 1,
                     ", including the target; leave the file out, or choose a smaller length"));
  }

  absl::Status Map(Opened opened, uint64_t offset, uint64_t bytes, uint64_t index_hash) {
    TokenFile file = {.offset = offset, .bytes = bytes, .index_hash = index_hash};
    if (opened.file.remote != nullptr) {
      file.index_hash = StampOf(opened.file.remote->state());
      file.remote = std::make_unique<const RemoteRanges>(
          std::move(opened.file.remote),
          RangesLayout{.begin = offset, .end = offset + bytes, .piece_bytes = kRemotePiece});
      files_.push_back(std::move(file));
      return absl::OkStatus();
    }
    PENSTOCK_ASSIGN_OR_RETURN(
        file.mapped, MappedFile::Map(std::move(opened.file), std::move(opened.fd), offset + bytes));
    files_.push_back(std::move(file));
    return absl::OkStatus();
  }

  const TokensSpec& spec_;
  FileFinder& finder_;
  Parsers& parsers_;
  std::vector<TokenFile> files_;
  std::optional<base::DType> type_;
  std::optional<TokenWindows> windows_;  // set once the type is known
};

}  // namespace

absl::StatusOr<TokenFiles> OpenTokenFiles(const TokensSpec& spec, FileFinder& finder,
                                          Parsers& parsers) {
  return Opener(spec, finder, parsers).Open();
}

absl::StatusOr<FilesStamp> TokensStamp(const TokensSpec& spec, FileFinder& finder) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesOf(spec));
  PENSTOCK_RETURN_IF_ERROR(finder.FindAhead(TokenPaths(files, spec.format)));
  std::vector<std::string> paths;
  for (const std::string& path : files) {
    const Paths names = ToPaths(path, spec.format);
    paths.push_back(names.tokens);
    if (names.index.empty()) continue;
    if (names.index_given || finder.Find(names.index).ok()) paths.push_back(names.index);
  }
  return finder.Stamp(paths);
}

}  // namespace penstock::source
