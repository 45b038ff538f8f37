#include "server/source/shards/shard_manifest_builder.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "common/base/hash.h"
#include "server/source/files/checked_header.h"
#include "server/source/files/index_memory.h"

namespace penstock::source {
namespace {

// The extensions of all shards, with their indices in the manifest.
class Table {
 public:
  absl::Status Add(const ScannedShard& shard, uint64_t first_sample) {
    for (const ScannedShard::Extension& extension : shard.extensions) {
      const auto [known, is_new] = numbers_.try_emplace(extension.name, kinds_.size());
      const ArrayShape array =
          extension.array == 0 ? ArrayShape{} : shard.arrays[extension.array - 1];
      if (!is_new) {
        Merge(extension, kinds_[known->second]);
        MergeArray(array, arrays_[known->second]);
        continue;
      }
      if (kinds_.size() == kMostExtensions) return TooManyExtensions(extension.name);
      kinds_.push_back(extension);
      kinds_.back().first_sample += first_sample;
      arrays_.push_back(array);
    }
    return absl::OkStatus();
  }

  uint32_t NumberOf(const std::string& name) const { return numbers_.at(name); }
  // The number of each of the shard's extensions.
  std::vector<uint32_t> NumbersOf(const ScannedShard& shard) const {
    std::vector<uint32_t> numbers;
    for (const auto& extension : shard.extensions) numbers.push_back(NumberOf(extension.name));
    return numbers;
  }
  const std::vector<ScannedShard::Extension>& kinds() const { return kinds_; }
  // The array type and shape of an extension: those of its first member that has elements.
  const ArrayShape& ArrayOf(uint32_t number) const { return arrays_[number]; }

 private:
  static void Merge(const ScannedShard::Extension& from, ScannedShard::Extension& into) {
    if (from.kind != into.kind) into.kind = 0;
    into.samples += from.samples;
    into.least = std::min(into.least, from.least);
    into.most = std::max(into.most, from.most);
  }

  static void MergeArray(const ArrayShape& from, ArrayShape& into) {
    if (into.dimensions > 0 && into.empty() && !from.empty()) into = from;
  }

  std::map<std::string, uint32_t> numbers_;
  std::vector<ScannedShard::Extension> kinds_;
  std::vector<ArrayShape> arrays_;  // one for each
};

ArrayShape ArrayAt(const ScannedShard& shard, size_t member) {
  const uint32_t number = shard.array_of_member.empty() ? 0 : shard.array_of_member[member];
  return number == 0 ? ArrayShape{} : shard.arrays[number - 1];
}

// An array without elements fits any.
bool Fits(const ArrayShape& array, const ArrayShape& wanted) {
  return array.dimensions > 0 && wanted.dimensions > 0 && (array.empty() || array.IsLike(wanted));
}

uint32_t CountOf(const ScannedShard::Extension& kind, uint64_t samples) {
  const bool same = kind.samples == samples && kind.least == kind.most && kind.most < kAnyCount;
  return same ? static_cast<uint32_t>(kind.most) : kAnyCount;
}

absl::Status CheckLabels(const ShardsToBuild& build, uint64_t labeled, uint64_t samples) {
  if (labeled == 0 || labeled == samples) return absl::OkStatus();
  for (const ScannedShard& shard : build.shards)
    if (!shard.example.empty())
      return absl::InvalidArgumentError(
          absl::StrCat("'", shard.example, "' has no label, and ", labeled, " of ", samples,
                       " samples have one; give all of them one, or say that none is wanted "
                       "(label: none)"));
  return absl::InternalError("a sample without a label is not to be found");
}

// Writes records contiguously.
class Writer {
 public:
  explicit Writer(std::byte* at) : at_(at) {}
  template <typename Record>
  void Put(const Record& record) {
    std::memcpy(at_, &record, sizeof record);
    at_ += sizeof record;
  }
  void Put(const std::string& text) {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }

 private:
  std::byte* at_;
};

class Builder {
 public:
  explicit Builder(ShardsToBuild build) : build_(std::move(build)) {}

  absl::StatusOr<ShardManifest> Build() {
    PENSTOCK_RETURN_IF_ERROR(Count());
    const size_t bytes = BytesOf();
    PENSTOCK_RETURN_IF_ERROR(CheckIndexMemory(bytes, build_.paths.front()));
    PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd memory,
                              posix::MakeMemory("penstock-manifest", bytes));
    PENSTOCK_ASSIGN_OR_RETURN(posix::Mapping mapping,
                              posix::Mapping::Map(memory, bytes, posix::Access::kReadWrite));
    Write(mapping.data() + sizeof header_);
    WriteChecked(header_, {mapping.data(), mapping.size()});
    return ShardManifest::FromMapping(std::move(mapping));
  }

 private:
  absl::Status Count() {
    std::memcpy(header_.magic, kShardMagic, sizeof header_.magic);
    header_.version = kShardVersion;
    header_.identity = build_.identity;
    header_.shards = build_.shards.size();
    uint64_t labeled = 0;
    std::vector<uint64_t> digests;
    for (const ScannedShard& shard : build_.shards) {
      PENSTOCK_RETURN_IF_ERROR(table_.Add(shard, header_.samples));
      header_.samples += shard.samples.size();
      header_.members += shard.members.size();
      header_.images += shard.images;
      labeled += shard.labeled;
      digests.push_back(shard.digest);
    }
    if (header_.samples == 0)
      return absl::InvalidArgumentError(absl::StrCat(
          "'", build_.paths.front(), "'", build_.paths.size() > 1 ? " and the other shards" : "",
          " hold no samples; give shards that do"));
    PENSTOCK_RETURN_IF_ERROR(CheckLabels(build_, labeled, header_.samples));
    header_.labeled = labeled > 0 ? 1 : 0;
    header_.digest = base::Hash(std::as_bytes(std::span(digests)));
    header_.extensions = table_.kinds().size();
    CountArrays();
    for (const std::string& path : build_.paths) header_.text_bytes += path.size();
    for (const auto& kind : table_.kinds()) header_.text_bytes += kind.name.size();
    if (header_.text_bytes > std::numeric_limits<uint32_t>::max())
      return absl::InvalidArgumentError("the paths of the shards have more than 4 GiB");
    return absl::OkStatus();
  }

  // Finds each array extension's first side, or that it varies.
  void CountArrays() {
    for (size_t i = 0; i < table_.kinds().size(); ++i)
      array_counts_.push_back(table_.ArrayOf(static_cast<uint32_t>(i)).sides[0]);
    for (const ScannedShard& shard : build_.shards) {
      const std::vector<uint32_t> numbers = table_.NumbersOf(shard);
      for (size_t i = 0; i < shard.members.size(); ++i) {
        const uint32_t number = numbers[shard.members[i].extension];
        const ArrayShape array = ArrayAt(shard, i);
        const bool varies = Fits(array, table_.ArrayOf(number)) &&
                            array.sides[0] != table_.ArrayOf(number).sides[0];
        if (varies) array_counts_[number] = kAnyCount;
      }
    }
  }

  size_t BytesOf() const {
    return sizeof header_ + header_.shards * sizeof(ShardRecord) +
           (header_.samples + 1) * sizeof(ShardSample) +
           header_.extensions * sizeof(ExtensionRecord) + header_.members * sizeof(ShardMember) +
           header_.text_bytes;
  }

  void Write(std::byte* at) {
    Writer writer(at);
    uint64_t sample = 0;
    uint32_t text = 0;
    for (size_t i = 0; i < build_.shards.size(); ++i) {
      const FileState& state = build_.shards[i].state;
      const auto path_bytes = static_cast<uint32_t>(build_.paths[i].size());
      writer.Put(ShardRecord{state, sample, text, path_bytes});
      sample += build_.shards[i].samples.size();
      text += path_bytes;
    }
    WriteSamples(writer);
    for (const ScannedShard::Extension& kind : table_.kinds()) {
      const auto name_bytes = static_cast<uint32_t>(kind.name.size());
      const uint32_t number = table_.NumberOf(kind.name);
      const ArrayShape& array = table_.ArrayOf(number);
      const uint32_t count =
          array.dimensions > 0 ? array_counts_[number] : CountOf(kind, header_.samples);
      writer.Put(ExtensionRecord{kind.first_sample, text, name_bytes, kind.kind, count, array});
      text += name_bytes;
    }
    WriteMembers(writer);
    for (const std::string& path : build_.paths) writer.Put(path);
    for (const auto& kind : table_.kinds()) writer.Put(kind.name);
  }

  // Converts shard-relative member indices to table indices. Byte offsets stay as they are.
  void WriteSamples(Writer& writer) const {
    uint64_t members = 0;
    for (const ScannedShard& shard : build_.shards) {
      for (ShardSample sample : shard.samples) {
        sample.place += members;
        writer.Put(sample);
      }
      members += shard.members.size();
    }
    writer.Put(ShardSample{.place = members});
  }

  // Converts the shard's extension indices to the table's. Frees each shard once it is written.
  void WriteMembers(Writer& writer) {
    for (ScannedShard& shard : build_.shards) {
      const std::vector<uint32_t> numbers = table_.NumbersOf(shard);
      for (size_t i = 0; i < shard.members.size(); ++i) {
        ShardMember member = shard.members[i];
        member.extension = numbers[member.extension] & kLastExtension;
        if (!Fits(ArrayAt(shard, i), table_.ArrayOf(member.extension))) member.array_header = 0;
        writer.Put(member);
      }
      shard = ScannedShard();
    }
  }

  ShardsToBuild build_;
  Table table_;
  std::vector<uint32_t> array_counts_;  // one for each extension, as ExtensionRecord::count
  ShardManifestHeader header_;
};

}  // namespace

absl::StatusOr<ShardManifest> BuildShardManifest(ShardsToBuild build) {
  return Builder(std::move(build)).Build();
}

}  // namespace penstock::source
