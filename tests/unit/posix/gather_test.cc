// Gathers rows and pieces from pages that may vanish.
#include "common/posix/gather.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/posix/fd.h"

namespace penstock::posix {
namespace {

constexpr size_t kPage = 4096;

// A mapped file of pages. Page i is filled with the letter 'a' + i.
class MappedFile {
 public:
  explicit MappedFile(size_t pages) : pages_(pages), file_(MakeFile()) {
    for (size_t page = 0; page < pages; ++page) {
      const std::string letters(kPage, static_cast<char>('a' + page));
      EXPECT_EQ(::write(file_.get(), letters.data(), kPage), static_cast<ssize_t>(kPage));
    }
    data_ = static_cast<std::byte*>(
        ::mmap(nullptr, pages * kPage, PROT_READ, MAP_SHARED, file_.get(), 0));
  }
  ~MappedFile() { ::munmap(data_, pages_ * kPage); }

  const std::byte* data() const { return data_; }
  void CutOff(size_t pages) {
    ASSERT_EQ(::ftruncate(file_.get(), static_cast<off_t>(pages * kPage)), 0);
  }

 private:
  static Fd MakeFile() {
    char name[] = "/tmp/penstock-gather-XXXXXX";
    Fd file(::mkstemp(name));
    ::unlink(name);
    return file;
  }
  const size_t pages_;
  Fd file_;
  std::byte* data_ = nullptr;
};

std::string Gathered(const MappedFile& file, const std::vector<uint64_t>& rows) {
  std::string into(rows.size() * kPage, '?');
  const bool read =
      GatherRows({file.data(), kPage, rows}, reinterpret_cast<std::byte*>(into.data()));
  if (!read) return "not read";
  std::string letters;
  for (size_t row = 0; row < rows.size(); ++row) letters += into[row * kPage];
  return letters;
}

TEST(GatherTest, ARowOfAFileThatWasCutOffIsAFailureAndTheOthersAreRead) {
  MappedFile file(4);
  file.CutOff(2);

  EXPECT_EQ(Gathered(file, {0, 3}), "not read");
  EXPECT_EQ(Gathered(file, {1, 0}), "ba");
  EXPECT_EQ(Gathered(file, {2}), "not read");
}

TEST(GatherTest, RowsComeInTheOrderThatIsAsked) {
  const MappedFile file(4);

  EXPECT_EQ(Gathered(file, {3, 0, 0, 2}), "daac");
  EXPECT_EQ(Gathered(file, {2, 3, 0, 1, 2, 2}), "cdabcc");
}

std::string Pieces(const MappedFile& file, const std::vector<std::pair<size_t, size_t>>& pieces) {
  std::string into(100, '?');
  std::vector<Piece> all;
  for (size_t at = 0; const auto& [from, bytes] : pieces) {
    all.push_back({file.data() + from, reinterpret_cast<std::byte*>(into.data() + at), bytes});
    at += bytes;
  }
  if (!GatherPieces(all)) return "not read";
  return into.substr(0, into.find('?'));
}

TEST(GatherTest, APieceOfAFileThatWasCutOffIsAFailureAndTheOthersAreRead) {
  MappedFile file(4);
  file.CutOff(2);

  EXPECT_EQ(Pieces(file, {{0, 2}, {2 * kPage, 1}}), "not read");
  EXPECT_EQ(Pieces(file, {{2 * kPage - 1, 2}}), "not read");
  EXPECT_EQ(Pieces(file, {{2 * kPage - 1, 1}}), "b");
}

TEST(GatherTest, PiecesOfAnySizeComeFromAnywhereInTheOrderThatIsAsked) {
  const MappedFile file(4);

  EXPECT_EQ(Pieces(file, {}), "");
  EXPECT_EQ(Pieces(file, {{0, 0}, {kPage - 1, 3}, {3 * kPage, 1}, {kPage - 2, 2}}), "abbdaa");
  EXPECT_EQ(Pieces(file, {{kPage - 1, 1}, {kPage, 2}, {kPage + 2, 1}}), "abbb");
}

TEST(GatherTest, PiecesThatLieTogetherInTheFileGoApartWhereTheyAreWanted) {
  const MappedFile file(2);
  std::string into = "????";
  auto* at = reinterpret_cast<std::byte*>(into.data());
  const Piece pieces[] = {{file.data() + kPage - 1, at + 3, 1}, {file.data() + kPage, at + 1, 1}};

  ASSERT_TRUE(GatherPieces(pieces));

  EXPECT_EQ(into, "?b?a");
}

// Bytes that identify their position, as far as one byte can.
std::string Letters(size_t count) {
  std::string letters(count, ' ');
  for (size_t i = 0; i < count; ++i) letters[i] = static_cast<char>(i * 7 + i / 251);
  return letters;
}

std::byte* BytesOf(std::string& text) { return reinterpret_cast<std::byte*>(text.data()); }

TEST(GatherTest, MuchAtOnceComesWholeWhereverItBeginsAndNothingBesideIt) {
  constexpr size_t kMuch = 300'000;
  std::string from = Letters(kMuch + 200);
  for (const size_t skipped : {0, 1, 63, 64, 130})
    for (const size_t at : {0, 1, 15, 16, 63, 100}) {
      std::string into(kMuch + 200, '?');
      const uint64_t rows[] = {0};
      ASSERT_TRUE(GatherRows({BytesOf(from) + skipped, kMuch, rows}, BytesOf(into) + at));

      EXPECT_TRUE(into.substr(at, kMuch) == from.substr(skipped, kMuch)) << skipped << " " << at;
      EXPECT_EQ(into[at + kMuch], '?');
      if (at > 0) {
        EXPECT_EQ(into[at - 1], '?');
      }
    }
}

// Pieces that overlap, like windows of tokens.
struct Windows {
  std::string from = Letters(700'000), into = std::string(700'000, '?'), wanted;
  std::vector<Piece> pieces;

  explicit Windows(size_t bytes) {
    for (size_t begin = 3; begin + bytes <= 600'000; begin += bytes - 2) {
      pieces.push_back({BytesOf(from) + begin, BytesOf(into) + wanted.size() + 5, bytes});
      wanted += from.substr(begin, bytes);
      if (wanted.size() > 600'000) break;
    }
  }
};

TEST(GatherTest, PiecesThatOverlapInTheirSourceComeWholeHoweverManyTheyAre) {
  for (const size_t bytes : {17, 2050, 70'001}) {
    Windows windows(bytes);

    ASSERT_TRUE(GatherPieces(windows.pieces));

    EXPECT_TRUE(windows.into.substr(5, windows.wanted.size()) == windows.wanted) << bytes;
    EXPECT_EQ(windows.into[windows.wanted.size() + 5], '?');
  }
}

TEST(GatherTest, WhoLooksSeesEveryByteOnceWithItsPlaceAndItArrivesAllTheSame) {
  for (const size_t bytes : {17, 2050, 70'001}) {
    Windows windows(bytes);
    std::string seen(windows.into.size(), '?');
    size_t looks = 0, most = 0;
    const Look look = [&](std::span<const std::byte> part, const std::byte* into) {
      std::memcpy(seen.data() + (into - BytesOf(windows.into)), part.data(), part.size());
      looks += part.size();
      most = std::max(most, part.size());
    };

    ASSERT_TRUE(GatherPieces(windows.pieces, look));

    EXPECT_TRUE(windows.into.substr(5, windows.wanted.size()) == windows.wanted) << bytes;
    EXPECT_TRUE(seen == windows.into);
    EXPECT_EQ(looks, windows.wanted.size());
    EXPECT_LE(most, kSeenAtOnce);
  }
}

TEST(GatherTest, WhoLooksSeesNothingOfAPageThatIsGone) {
  MappedFile file(2);
  file.CutOff(1);
  std::string into(2 * kPage, '?');
  const Piece pieces[] = {{file.data() + kPage, BytesOf(into), kPage}};

  EXPECT_FALSE(GatherPieces(pieces, [](auto, auto) { FAIL() << "there is nothing to see"; }));
}

TEST(GatherTest, EachThreadHasFailuresOfItsOwn) {
  MappedFile cut(2);
  cut.CutOff(1);
  const MappedFile whole(2);
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(Gathered(cut, {1}), "not read");
  });

  for (int i = 0; i < 1000; ++i) ASSERT_EQ(Gathered(whole, {1}), "b");

  other.join();
}

using GatherDeathTest = ::testing::Test;

// Ended by the signal, or by exit code under AddressSanitizer, which reports it first.
bool EndedByBusError(int status) {
#ifdef PENSTOCK_ASAN
  return WIFEXITED(status) && WEXITSTATUS(status) == 1;
#else
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS;
#endif
}

TEST(GatherDeathTest, ABusErrorOfAnybodyElseStillEndsTheProcess) {
  const auto touch = [] {
    MappedFile file(2);
    (void)Gathered(file, {0});
    file.CutOff(1);
    volatile const std::byte* gone = file.data() + kPage;
    const std::byte read = *gone;
    std::exit(read == std::byte{0} ? 0 : 2);
  };

  EXPECT_EXIT(touch(), EndedByBusError, "");
}

TEST(GatherDeathTest, ASignalThatSomebodySendsIsNotTakenForAFailure) {
  const auto send = [] {
    const MappedFile file(1);
    (void)Gathered(file, {0});
    ::kill(::getpid(), SIGBUS);
    std::exit(0);
  };

  EXPECT_EXIT(send(), EndedByBusError, "");
}

}  // namespace
}  // namespace penstock::posix
