#include "tests/bench/photographs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_format.h"
#include "client/examples/photograph_files.h"
#include "common/posix/machine.h"
#include "server/source/files/roots.h"
#include "server/source/images/folder.h"

namespace penstock::bench {
namespace {

constexpr uint32_t kGenerated = 200;
constexpr uint32_t kGeneratedSmall = 24;

}  // namespace

absl::StatusOr<Photographs> Photographs::Open(const Arguments& arguments) {
  Photographs photographs;
  photographs.folder_ = arguments.data;
  if (arguments.data.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(photographs.scratch_, ScratchFolder::Make());
    photographs.folder_ = photographs.scratch_->path();
    const std::string trouble = examples::WritePhotographs(
        {.directory = photographs.folder_,
         .images = arguments.extent == Extent::kSmall ? kGeneratedSmall : kGenerated});
    if (!trouble.empty()) return absl::DataLossError(trouble);
  }
  PENSTOCK_RETURN_IF_ERROR(photographs.OpenDataset());
  const uint64_t samples = photographs.dataset_->samples();
  photographs.description_ =
      arguments.data.empty() ? absl::StrCat(samples, " generated photographs (no --data was given)")
                             : absl::StrCat(samples, " photographs in ", photographs.folder_);
  if (samples > kMost) PENSTOCK_RETURN_IF_ERROR(photographs.TakeSome());
  return photographs;
}

absl::Status Photographs::OpenDataset() {
  const absl::StatusOr<std::string> real = source::RealPath(folder_);
  if (!real.ok()) return absl::InvalidArgumentError(real.status().message());
  folder_ = *real;
  roots_.push_back(folder_);
  absl::StatusOr<source::OpenedFolder> opened = source::OpenFolder(
      {.path = folder_, .roots = roots_, .state_dir = "", .threads = posix::ReadMachine().Cores()});
  if (!opened.ok()) return absl::InvalidArgumentError(opened.status().message());
  dataset_ = std::move(opened->dataset);
  return absl::OkStatus();
}

// Links kMost of them, evenly spaced, in one class of a new folder.
absl::Status Photographs::TakeSome() {
  PENSTOCK_ASSIGN_OR_RETURN(scratch_, ScratchFolder::Make());
  const std::string links = scratch_->path() + "/links";
  std::error_code error;
  std::filesystem::create_directory(links, error);
  for (uint64_t i = 0; i < kMost && !error; ++i) {
    const uint64_t sample = i * (dataset_->samples() / kMost);
    std::filesystem::create_symlink(dataset_->path(sample),
                                    absl::StrFormat("%s/%04d.jpg", links, i), error);
  }
  if (error) return base::ErrnoStatus(error.value(), absl::StrCat("creating links in ", links));
  description_ = absl::StrCat(kMost, " of ", description_);
  folder_ = scratch_->path();
  return OpenDataset();
}

absl::StatusOr<std::vector<std::vector<std::byte>>> Photographs::Load(size_t at_most) const {
  std::vector<std::vector<std::byte>> files(std::min<uint64_t>(at_most, dataset_->samples()));
  const std::unique_ptr<source::Dataset::Reader> reader = dataset_->NewReader();
  for (size_t sample = 0; sample < files.size(); ++sample) {
    PENSTOCK_ASSIGN_OR_RETURN(const auto opened, reader->Open(sample));
    if (opened.fault != base::Fault::kNone) continue;  // stays empty, and so fails to decode
    files[sample].resize(opened.bytes);
    PENSTOCK_RETURN_IF_ERROR(reader->Read(files[sample]));
  }
  return files;
}

}  // namespace penstock::bench
