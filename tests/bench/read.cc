// read: samples through the source, compared with bare open, fstat and pread of the same files.
// After the first pass everything is in the page cache, so this measures the source itself.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "common/posix/fd.h"
#include "tests/bench/harness/measure.h"
#include "tests/bench/photographs.h"
#include "tests/bench/suite.h"

namespace penstock::bench {
namespace {

struct Extents {
  int rounds;
  uint64_t passes;  // over the files, in one run
};
Extents ExtentsOf(Extent extent) {
  return extent == Extent::kFull ? Extents{15, 20} : Extents{5, 5};
}

// Reads samples into one buffer, which grows to the largest sample.
class SourceLoop {
 public:
  explicit SourceLoop(const source::Dataset& dataset) : reader_(dataset.NewReader()) {}

  absl::StatusOr<uint64_t> Read(uint64_t sample) {
    PENSTOCK_ASSIGN_OR_RETURN(const auto opened, reader_->Open(sample));
    if (opened.fault != base::Fault::kNone) return 0;
    if (buffer_.size() < opened.bytes) buffer_.resize(opened.bytes);
    PENSTOCK_RETURN_IF_ERROR(reader_->Read(std::span(buffer_).first(opened.bytes)));
    return opened.bytes;
  }

 private:
  const std::unique_ptr<source::Dataset::Reader> reader_;
  std::vector<std::byte> buffer_;
};

class BareLoop {
 public:
  explicit BareLoop(const source::Dataset& dataset) {
    for (uint64_t sample = 0; sample < dataset.samples(); ++sample)
      paths_.push_back(dataset.path(sample));
  }

  absl::StatusOr<uint64_t> Read(uint64_t sample) {
    const posix::Fd file(::open(paths_[sample].c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status;
    if (!file.valid() || ::fstat(file.get(), &status) != 0) {
      return base::ErrnoStatus(errno, paths_[sample]);
    }
    const auto bytes = static_cast<size_t>(status.st_size);
    if (buffer_.size() < bytes) buffer_.resize(bytes);
    for (size_t done = 0; done < bytes;) {
      const ssize_t got =
          ::pread(file.get(), buffer_.data() + done, bytes - done, static_cast<off_t>(done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return base::ErrnoStatus(got < 0 ? errno : EIO, paths_[sample]);
      done += static_cast<size_t>(got);
    }
    return bytes;
  }

 private:
  std::vector<std::string> paths_;
  std::vector<std::byte> buffer_;
};

// Returns MiB per second.
template <typename Loop>
absl::StatusOr<double> Measure(Loop& loop, uint64_t files, uint64_t passes) {
  const Stopwatch watch(Time::kThread);
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < files * passes; ++i) {
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t got, loop.Read(i % files));
    bytes += got;
  }
  return static_cast<double>(bytes) / (1 << 20) / watch.Seconds();
}

}  // namespace

absl::StatusOr<Result> RunRead(const Arguments& arguments) {
  PENSTOCK_ASSIGN_OR_RETURN(const Photographs photographs, Photographs::Open(arguments));
  const source::Dataset& dataset = photographs.dataset();
  const uint64_t files = dataset.samples();
  const Extents extents = ExtentsOf(arguments.extent);
  SourceLoop source(dataset);
  BareLoop bare(dataset);
  PENSTOCK_ASSIGN_OR_RETURN(
      const std::vector<double> medians,
      AlternatingMedians({[&] { return Measure(source, files, extents.passes); },
                          [&] { return Measure(bare, files, extents.passes); }},
                         extents.rounds));
  Result result{.suite = "read", .data = photographs.description(), .rounds = extents.rounds};
  result.comparisons.push_back({.name = "the folder source, one thread, page cache warm",
                                .against = "bare open, fstat, pread, close",
                                .unit = "MiB/s of a core",
                                .figure = medians[0],
                                .reference = medians[1]});
  return result;
}

}  // namespace penstock::bench
