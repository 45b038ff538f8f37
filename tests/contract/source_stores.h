// The stores of the sources' contract: they create and damage datasets.
#pragma once

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "server/source/core/dataset.h"
#include "server/source/images/folder.h"
#include "server/source/lists/list.h"
#include "server/source/parse/directly.h"
#include "server/source/tar/tar.h"
#include "server/source/tfrecord/tfrecord.h"
#include "tests/support/files/record_maker.h"
#include "tests/support/files/store_in_folder.h"
#include "tests/support/files/tar_maker.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::source {

namespace fs = std::filesystem;

// Holds a source's datasets. Samples are named "class/name".
class Store {
 public:
  virtual ~Store() = default;
  virtual void Put(const std::string& sample, const std::string& bytes) = 0;
  virtual void Remove(const std::string& sample) = 0;
  // Overwrites in place and restores the file's modification time.
  void Overwrite(const std::string& sample, const std::string& bytes) {
    const std::string path = FileOf(sample);
    const fs::file_time_type time = fs::last_write_time(path);
    Put(sample, bytes);
    fs::last_write_time(path, time);
  }
  virtual std::string FileOf(const std::string& sample) const = 0;
  virtual absl::StatusOr<std::unique_ptr<Dataset>> Open() = 0;
};

class FolderStore final : public Store {
 public:
  explicit FolderStore(Tree::Confinement confinement) : confinement_(confinement) {}

  void Put(const std::string& sample, const std::string& bytes) override {
    temp_.Write("data/" + sample, bytes);
  }
  void Remove(const std::string& sample) override {
    std::filesystem::remove(temp_.At("data/" + sample));
  }
  std::string FileOf(const std::string& sample) const override {
    return temp_.At("data/" + sample);
  }
  absl::StatusOr<std::unique_ptr<Dataset>> Open() override {
    FolderOptions options;
    options.path = temp_.At("data");
    options.state_dir = temp_.At("state");
    options.confinement = confinement_;
    PENSTOCK_ASSIGN_OR_RETURN(OpenedFolder opened, OpenFolder(options));
    return std::move(opened.dataset);
  }

 private:
  const Tree::Confinement confinement_;
  penstock::testing::TempFolder temp_;
};

// A list in the samples' order, which names each sample's class.
class ListStore final : public Store {
 public:
  explicit ListStore(Tree::Confinement confinement) : confinement_(confinement) {}

  void Put(const std::string& sample, const std::string& bytes) override {
    temp_.Write("data/" + sample, bytes);
    samples_.insert(sample);
  }
  void Remove(const std::string& sample) override {
    std::filesystem::remove(temp_.At("data/" + sample));
  }
  std::string FileOf(const std::string& sample) const override {
    return temp_.At("data/" + sample);
  }
  absl::StatusOr<std::unique_ptr<Dataset>> Open() override {
    std::string rows;
    for (const std::string& sample : samples_)
      absl::StrAppend(&rows, sample, ",", sample.substr(0, sample.find('/')), "\n");
    if (!samples_.empty()) temp_.Write("data/list.csv", rows);
    PENSTOCK_ASSIGN_OR_RETURN(
        OpenedList opened,
        OpenList(
            {.spec = {.file = temp_.At("data/list.csv"), .label = "1", .labels = LabelsAs::kTexts},
             .roots = {temp_.At("data")},
             .confinement = confinement_},
            *DirectParsers()));
    return std::move(opened.dataset);
  }

 private:
  const Tree::Confinement confinement_;
  penstock::testing::TempFolder temp_;
  std::set<std::string> samples_;
};

// One shard per sample, in the samples' order. Each shard stores its class as a number.
class ShardStore : public Store {
 public:
  explicit ShardStore(Tree::Confinement confinement) : confinement_(confinement) {}

  void Put(const std::string& sample, const std::string& bytes) override {
    samples_[sample] = bytes;
    Write(sample);
  }
  void Remove(const std::string& sample) override {
    std::filesystem::remove(temp_.At(ShardOf(sample)));
  }
  std::string FileOf(const std::string& sample) const override { return temp_.At(ShardOf(sample)); }
  absl::StatusOr<std::unique_ptr<Dataset>> Open() override {
    ShardOptions options;
    options.state_dir = temp_.At("state");
    options.confinement = confinement_;
    options.remote = &remote_;
    if (samples_.empty()) options.spec.shards = {NameOf(temp_.At("none"))};
    for (const auto& [sample, bytes] : samples_) {
      Write(sample);  // another class may have changed the numbers
      options.spec.shards.push_back(NameOf(temp_.At(ShardOf(sample))));
    }
    PENSTOCK_ASSIGN_OR_RETURN(OpenedShards opened, OpenShards(options));
    return std::move(opened.dataset);
  }

 protected:
  virtual absl::StatusOr<OpenedShards> OpenShards(const ShardOptions& options) = 0;
  virtual std::string MakeShard(const std::string& sample, size_t label) = 0;
  // How the shard at a path is named.
  virtual std::string NameOf(const std::string& path) const { return path; }
  const std::string& BytesOf(const std::string& sample) const { return samples_.at(sample); }

 private:
  static std::string ClassOf(const std::string& sample) {
    return sample.substr(0, sample.find('/'));
  }
  static std::string ShardOf(const std::string& sample) { return "data/" + sample + ".shard"; }
  size_t NumberOf(const std::string& name) const {
    std::set<std::string> classes;
    for (const auto& [sample, bytes] : samples_) classes.insert(ClassOf(sample));
    return static_cast<size_t>(std::distance(classes.begin(), classes.find(name)));
  }
  void Write(const std::string& sample) {
    const std::string shard = MakeShard(sample, NumberOf(ClassOf(sample)));
    if (temp_.Read(ShardOf(sample)) != shard) temp_.Write(ShardOf(sample), shard);
  }

  const Tree::Confinement confinement_;
  penstock::testing::TempFolder temp_;
  penstock::testing::StoreInFolder remote_;
  std::map<std::string, std::string> samples_;
};

class TarStore : public ShardStore {
 public:
  using ShardStore::ShardStore;

 private:
  absl::StatusOr<OpenedShards> OpenShards(const ShardOptions& options) override {
    return OpenTar(options, DirectParsers());
  }
  std::string MakeShard(const std::string& sample, size_t label) override {
    const std::string key = sample.substr(0, sample.find('.'));
    return penstock::testing::TarFile(sample, BytesOf(sample)) +
           penstock::testing::TarFile(key + ".cls", absl::StrCat(label)) +
           penstock::testing::TarEnd();
  }
};

class RecordStore : public ShardStore {
 public:
  using ShardStore::ShardStore;

 private:
  absl::StatusOr<OpenedShards> OpenShards(const ShardOptions& options) override {
    return OpenRecords(options, DirectParsers());
  }
  std::string MakeShard(const std::string& sample, size_t label) override {
    return penstock::testing::ImageRecord(BytesOf(sample), static_cast<int64_t>(label));
  }
};

// The same shards in an object store.
template <typename SomeStore>
class RemoteStore final : public SomeStore {
 public:
  using SomeStore::SomeStore;

 private:
  std::string NameOf(const std::string& path) const override {
    return penstock::testing::StoreInFolder::UrlOf(path);
  }
};

}  // namespace penstock::source
