// A feed never delivers another dataset's bytes. The tests use pairs of datasets of every kind that
// differ only in content. Several users open them in random order, and tests rewrite them in place.
// Every row is compared with the requested dataset's bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <random>

#include "tests/support/files/specimens.h"
#include "tests/support/files/temp_folder.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr uid_t kStranger = 54321;
constexpr gid_t kGroup = 54322;
constexpr uint32_t kBatch = 4;

SessionOptions OptionsFor(const std::string& dataset, bool decoded) {
  SessionOptions options;
  options.dataset = dataset;
  options.batch_size = kBatch;
  options.seed = 7;
  options.epochs = 1;
  if (decoded)
    options.center_crop =
        ResizeCenterCrop{.resize = kSpecimenSide, .height = kSpecimenSide, .width = kSpecimenSide};
  return options;
}

// Returns "", or a description of the first row that differs from the specimen's.
std::string Compare(Session& session, const Specimen& specimen, uint64_t* rows = nullptr) {
  for (;;) {
    Result<Batch> batch = session.Next(std::chrono::seconds(30));
    if (!batch.ok())
      return batch.status().code() == Code::kEndOfEpoch ? "" : batch.status().ToString();
    for (uint32_t row = 0; row < batch->rows(); ++row) {
      const TensorView view = batch->tensor(0);
      const std::string& wanted = specimen.rows[batch->sample_ids()[row]];
      if (std::memcmp(view.data + row * view.row_stride, wanted.data(), wanted.size()) != 0)
        return "sample " + std::to_string(batch->sample_ids()[row]) + " has other bytes";
      if (rows != nullptr) ++*rows;
    }
  }
}

std::string Compare(const std::string& address, const std::string& dataset,
                    const Specimen& specimen) {
  Client client = Client::Connect({.address = address}).OrDie();
  Result<Session> session = client.Open(OptionsFor(dataset, specimen.decoded));
  if (!session.ok()) return session.status().ToString();
  uint64_t rows = 0;
  const std::string wrong = Compare(*session, specimen, &rows);
  if (wrong.empty() && rows != specimen.rows.size()) return "got " + std::to_string(rows) + " rows";
  return wrong;
}

// Does the same as another user, in a separate process.
std::string CompareAs(uid_t user, const std::string& address, const std::string& dataset,
                      const Specimen& specimen, const TempFolder& folder) {
  std::string rows;
  for (const std::string& row : specimen.rows) rows += row;
  folder.Write("wanted", rows);
  const Ended ended = RunProgram(
      "penstock-test-trainer",
      {address, dataset, (specimen.decoded ? "compare-images=" : "compare=") + folder.At("wanted")},
      {.user = user, .groups = {kGroup}});
  return ended.exit_code == 0 ? "" : ended.output;
}

// Two datasets of one kind, named "KIND-0" and "KIND-1".
struct Pair {
  std::string kind;
  Specimen specimens[2];
  uint32_t seeds = 2;  // seeds used so far

  std::string NameOf(int which) const { return kind + "-" + std::to_string(which); }
};

class IdentityTest : public ::testing::Test {
 protected:
  IdentityTest() {
    for (const std::string& kind : SpecimenKinds()) {
      Pair pair{.kind = kind, .specimens = {MakeSpecimen(kind, 0), MakeSpecimen(kind, 1)}};
      for (int which : {0, 1}) WriteSpecimen(pair.specimens[which], FolderOf(pair.NameOf(which)));
      pairs_.push_back(std::move(pair));
    }
    daemon_.emplace(DaemonProcess::Options{.workers = 2, .config = Config()});
  }

  std::string FolderOf(const std::string& name) const { return folder_.At("data/" + name); }

  std::string Config() const {
    std::string config = "server: {socket: SOCKET, group: '" + std::to_string(kGroup) +
                         "', state_dir: " + folder_.At("state") +
                         "}\npool: {max: 256MiB}\ndatasets:\n";
    for (const Pair& pair : pairs_)
      for (int which : {0, 1}) {
        std::string yaml = pair.specimens[which].yaml;
        for (size_t at; (at = yaml.find("FOLDER")) != std::string::npos;)
          yaml.replace(at, 6, FolderOf(pair.NameOf(which)));
        config += "- {name: " + pair.NameOf(which) + ", " + yaml + "}\n";
      }
    for (int which : {0, 1})
      config += "- {name: mixture-" + std::to_string(which) + ", mixture: {parts: [{dataset: png-" +
                std::to_string(which) + ", weight: 0.5}, {dataset: jpeg-" + std::to_string(which) +
                ", weight: 0.5}]}}\n";
    return config;
  }

  void Rewrite(Pair& pair, int which) {
    pair.specimens[which] = MakeSpecimen(pair.kind, pair.seeds++);
    WriteSpecimen(pair.specimens[which], FolderOf(pair.NameOf(which)));
  }

  // The samples of both datasets, one dataset after the other.
  Specimen ToMixture(int which) const {
    Specimen both{.decoded = true};
    for (const char* kind : {"png", "jpeg"})
      for (const Pair& pair : pairs_)
        if (pair.kind == kind)
          both.rows.insert(both.rows.end(), pair.specimens[which].rows.begin(),
                           pair.specimens[which].rows.end());
    return both;
  }

  TempFolder folder_;
  std::vector<Pair> pairs_;
  std::optional<DaemonProcess> daemon_;
};

TEST_F(IdentityTest, WhateverComesFirstEveryRowIsOfTheDatasetThatWasAskedFor) {
  std::mt19937 random(20251);
  const bool two_users = geteuid() == 0;
  for (Pair& pair : pairs_) {
    std::vector<Session> held;  // stay open, with the slots they hold
    for (int step = 0; step < 12; ++step) {
      const int which = static_cast<int>(random() % 2);
      const Specimen& specimen = pair.specimens[which];
      const std::string name = pair.NameOf(which);
      std::string wrong;
      switch (random() % 4) {
        case 0:
          wrong = Compare(daemon_->address(), name, specimen);
          break;
        case 1:
          held.push_back(Client::Connect({.address = daemon_->address()})
                             .OrDie()
                             .Open(OptionsFor(name, specimen.decoded))
                             .OrDie());
          (void)held.back().Next();
          break;
        case 2:
          if (two_users) wrong = CompareAs(kStranger, daemon_->address(), name, specimen, folder_);
          break;
        case 3:
          Rewrite(pair, which);
          wrong = Compare(daemon_->address(), name, pair.specimens[which]);
          break;
      }
      EXPECT_EQ(wrong, "") << name << " at step " << step;
    }
  }
}

TEST_F(IdentityTest, AMixtureGivesTheBytesOfItsPartsAlsoAfterOneWasRewritten) {
  for (int which : {0, 1})
    EXPECT_EQ(Compare(daemon_->address(), "mixture-" + std::to_string(which), ToMixture(which)),
              "");

  for (Pair& pair : pairs_)
    if (pair.kind == "png") Rewrite(pair, 0);

  for (int which : {1, 0})
    EXPECT_EQ(Compare(daemon_->address(), "mixture-" + std::to_string(which), ToMixture(which)),
              "");
}

// A feed delivers old bytes until the next read notices the change. It then fails immediately with
// an error that names the file. New sessions get the new bytes.
TEST_F(IdentityTest, AFeedWhoseFilesChangeFailsWithTheirNameAndGivesNoOtherBytes) {
  for (Pair& pair : pairs_) {
    SCOPED_TRACE(pair.kind);
    const Specimen before = pair.specimens[0];
    SessionOptions options = OptionsFor(pair.NameOf(0), before.decoded);
    options.order = Order::kSequential;
    options.batch_size = options.window = 1;
    Client client = Client::Connect({.address = daemon_->address()}).OrDie();
    Session session = client.Open(options).OrDie();
    ASSERT_TRUE(session.Next().ok());

    Rewrite(pair, 0);

    const auto rewritten = std::chrono::steady_clock::now();
    const std::string ended = Compare(session, before);
    EXPECT_THAT(ended, AllOf(HasSubstr("data loss"), HasSubstr("changed since it was indexed"),
                             HasSubstr(FolderOf(pair.NameOf(0)))));
    EXPECT_LT(std::chrono::steady_clock::now() - rewritten, std::chrono::seconds(20))
        << "it was tried again";
    EXPECT_FALSE(session.Next().ok());
    EXPECT_EQ(Compare(daemon_->address(), pair.NameOf(0), pair.specimens[0]), "");
  }
  EXPECT_EQ(daemon_->Quarantine().entries_size(), 0) << "no sample is at fault";
}

TEST_F(IdentityTest, SessionsOfTheSameFilesShareWhatIsDecodedByWhateverName) {
  const Pair& pair = pairs_[1];
  folder_.Link("link", FolderOf(pair.NameOf(0)));
  DaemonProcess daemon({.workers = 1});
  const auto decoded = [&] { return daemon.Status().samples_decoded(); };
  const std::string path = FolderOf(pair.NameOf(0));

  ASSERT_EQ(Compare(daemon.address(), path, pair.specimens[0]), "");
  ASSERT_EQ(decoded(), kSpecimenSamples);
  ASSERT_EQ(Compare(daemon.address(), path, pair.specimens[0]), "");
  ASSERT_EQ(Compare(daemon.address(), folder_.At("link"), pair.specimens[0]), "");

  EXPECT_EQ(decoded(), kSpecimenSamples);
}

TEST_F(IdentityTest, TheContentDigestTellsLookalikesApartAndNotCopies) {
  Client client = Client::Connect({.address = daemon_->address()}).OrDie();
  for (Pair& pair : pairs_) {
    SCOPED_TRACE(pair.kind);
    const std::string zero = client.ContentDigest(pair.NameOf(0)).OrDie();
    EXPECT_EQ(zero.size(), 64u);
    EXPECT_NE(client.ContentDigest(pair.NameOf(1)).OrDie(), zero);

    WriteSpecimen(pair.specimens[0], FolderOf(pair.NameOf(1)));

    EXPECT_EQ(client.ContentDigest(pair.NameOf(1)).OrDie(), zero);
  }
}

// Reading must neither wait for a FIFO's writer nor retry a socket.
TEST_F(IdentityTest, WhatIsNoRegularFileIsABadSampleAndHoldsUpNobody) {
  const std::string folder = FolderOf("png-0");
  ASSERT_EQ(::mknod((folder + "/a/fifo.jpg").c_str(), S_IFIFO | 0600, 0), 0);
  ASSERT_EQ(::mknod((folder + "/b/socket.jpg").c_str(), S_IFSOCK | 0600, 0), 0);

  const Delivered got = OneEpoch(daemon_->address(), OptionsFor("png-0", true));

  EXPECT_EQ(got.rows.size(), kSpecimenSamples + 2);
  EXPECT_EQ(daemon_->Quarantine().entries_size(), 2);
}

// The daemon's caches on disk must not bring back old bytes, labels or sizes.
TEST_F(IdentityTest, WhatWasRewrittenWhileNoDaemonRanIsReadAnew) {
  for (const Pair& pair : pairs_)
    ASSERT_EQ(Compare(daemon_->address(), pair.NameOf(0), pair.specimens[0]), "") << pair.kind;
  daemon_->Kill(SIGTERM);
  for (Pair& pair : pairs_) Rewrite(pair, 0);

  daemon_->Start();

  for (const Pair& pair : pairs_)
    EXPECT_EQ(Compare(daemon_->address(), pair.NameOf(0), pair.specimens[0]), "") << pair.kind;
}

// An epoch interrupted by a restart continues only with the files that it began with.
TEST_F(IdentityTest, AnEpochDoesNotGoOnInFilesThatChangedWhileNoDaemonRan) {
  std::vector<Session> sessions, undisturbed;
  for (const Pair& pair : pairs_)
    for (const int which : {0, 1}) {
      Client client = Client::Connect({.address = daemon_->address()}).OrDie();
      SessionOptions options = OptionsFor(pair.NameOf(which), pair.specimens[which].decoded);
      options.batch_size = options.window = 1;
      Session session = client.Open(options).OrDie();
      ASSERT_TRUE(session.Next().ok());
      (which == 0 ? sessions : undisturbed).push_back(std::move(session));
    }
  daemon_->Kill(SIGKILL);
  std::vector<Specimen> before;
  for (Pair& pair : pairs_) {
    before.push_back(pair.specimens[0]);
    Rewrite(pair, 0);
  }

  daemon_->Start();

  for (size_t i = 0; i < pairs_.size(); ++i) {
    SCOPED_TRACE(pairs_[i].kind);
    std::string ended;
    while ((ended = Compare(sessions[i], before[i])).find("unavailable") != std::string::npos) {
    }
    // For some kinds, the fingerprint already differs.
    EXPECT_THAT(ended, AnyOf(AllOf(HasSubstr("data loss"), HasSubstr(pairs_[i].NameOf(0)),
                                   HasSubstr("changed while the daemon was gone")),
                             HasSubstr("the state belongs to another feed")));
    while ((ended = Compare(undisturbed[i], pairs_[i].specimens[1])).find("unavailable") !=
           std::string::npos) {
    }
    EXPECT_EQ(ended, "");
  }
}

}  // namespace
}  // namespace penstock::testing
