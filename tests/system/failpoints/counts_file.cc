#include "tests/system/failpoints/counts_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace penstock::testing {

CountsFile::CountsFile(const std::string& path, uid_t owner) {
  ::unlink(path.c_str());
  const posix::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  EXPECT_EQ(::ftruncate(file.get(), sizeof(posix::FailpointCounts)), 0) << path;
  if (owner != 0) {
    EXPECT_EQ(::fchown(file.get(), owner, owner), 0) << path;
  }
  mapping_ =
      posix::Mapping::Map(file, sizeof(posix::FailpointCounts), posix::Access::kReadWrite).value();
  ::setenv("PENSTOCK_FAILPOINTS_COUNTS", path.c_str(), 1);
}

CountsFile::~CountsFile() { ::unsetenv("PENSTOCK_FAILPOINTS_COUNTS"); }

std::map<std::string, int> CountsFile::Acted() const {
  std::map<std::string, int> acted;
  for (const posix::FailpointCount& count : counts())
    if (count.acted > 0) acted[count.name] = static_cast<int>(count.acted);
  return acted;
}

void CountsFile::BeginTermsAnew() {
  for (posix::FailpointCount& count : counts()) count.reached = 0;
}

}  // namespace penstock::testing
