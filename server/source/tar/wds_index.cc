#include "server/source/tar/wds_index.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "server/source/tar/wds_name.h"

namespace penstock::source {
namespace {

constexpr absl::string_view kVersion = "v1.2";

class IndexParser {
 public:
  IndexParser(uint64_t shard_bytes, const std::string& path)
      : shard_bytes_(shard_bytes), path_(path) {}

  absl::StatusOr<std::vector<TarMember>> Parse(absl::string_view text) {
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t samples, TakeHeader(text));
    uint64_t found = 0;
    for (; !text.empty(); ++found) PENSTOCK_RETURN_IF_ERROR(TakeSample(TakeLine(text)));
    if (found != samples)
      return Wrong(absl::StrCat("its first line says ", samples, " samples, but it has ", found));
    return std::move(members_);
  }

 private:
  absl::Status Wrong(absl::string_view why) const {
    return absl::InvalidArgumentError(absl::StrCat("'", path_, "' line ", line_, ": ", why));
  }

  absl::string_view TakeLine(absl::string_view& text) {
    ++line_;
    const size_t end = text.find('\n');
    const absl::string_view line = text.substr(0, end);
    text.remove_prefix(end == absl::string_view::npos ? text.size() : end + 1);
    return line;
  }

  absl::StatusOr<uint64_t> TakeHeader(absl::string_view& text) {
    const std::vector<absl::string_view> words = absl::StrSplit(TakeLine(text), ' ');
    uint64_t samples = 0;
    if (words.size() != 2 || words[0] != kVersion || !absl::SimpleAtoi(words[1], &samples))
      return Wrong(absl::StrCat("wanted '", kVersion, " SAMPLES'"));
    return samples;
  }

  absl::Status TakeSample(absl::string_view line) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (words.size() % 4 != 0) return Wrong("wanted EXTENSION OFFSET SIZE NAME for each member");
    std::optional<std::string> key;
    for (size_t i = 0; i < words.size(); i += 4)
      PENSTOCK_RETURN_IF_ERROR(
          TakeMember({words[i], words[i + 1], words[i + 2], words[i + 3]}, key));
    if (key == last_key_) return Wrong("it has the same sample as the previous line");
    last_key_ = std::move(key);
    return absl::OkStatus();
  }

  struct Words {
    absl::string_view extension, offset, bytes, name;
  };
  absl::Status TakeMember(const Words& words, std::optional<std::string>& key) {
    TarMember member = {.name = std::string(words.name)};
    if (!absl::SimpleAtoi(words.offset, &member.offset) ||
        !absl::SimpleAtoi(words.bytes, &member.bytes))
      return Wrong(
          absl::StrCat("'", words.offset, " ", words.bytes, "' is not an offset and a size"));
    std::optional<WdsName> name = SplitWdsName(words.name);
    if (!name || name->extension != absl::AsciiStrToLower(words.extension))
      return Wrong(
          absl::StrCat("'", words.name, "' does not have the extension '", words.extension, "'"));
    if (key && *key != name->key) return Wrong("its members belong to different samples");
    key = std::move(name->key);
    PENSTOCK_RETURN_IF_ERROR(CheckPlace(member));
    end_ = TarDataEnd(member.offset, member.bytes);
    members_.push_back(std::move(member));
    return absl::OkStatus();
  }

  absl::Status CheckPlace(const TarMember& member) const {
    if (member.offset > shard_bytes_ || member.bytes > shard_bytes_ - member.offset)
      return Wrong(absl::StrCat("'", member.name, "' ends after the shard, which has ",
                                shard_bytes_, " bytes"));
    if (member.offset % kTarBlock != 0 || member.offset < kTarBlock ||
        member.offset - kTarBlock < end_)
      return Wrong(absl::StrCat("'", member.name, "' at byte ", member.offset,
                                " does not follow the previous member on a boundary of ", kTarBlock,
                                " bytes"));
    return absl::OkStatus();
  }

  const uint64_t shard_bytes_;
  const std::string& path_;
  uint64_t line_ = 0;
  uint64_t end_ = 0;  // of the previous member
  std::optional<std::string> last_key_;
  std::vector<TarMember> members_;
};

}  // namespace

absl::StatusOr<std::vector<TarMember>> ParseWdsIndex(absl::string_view text, uint64_t shard_bytes,
                                                     const std::string& path) {
  return IndexParser(shard_bytes, path).Parse(text);
}

}  // namespace penstock::source
