#include "tests/system/failpoints/disturbed_run.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/support/files/tar_maker.h"
#include "tests/support/programs/process_cost.h"
#include "tests/system/failpoints/counts_file.h"
#include "tests/system/failpoints/trainee.h"

namespace penstock::testing {
namespace fs = std::filesystem;
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kImages = 60;
constexpr auto kMostARun = std::chrono::seconds(100);
constexpr auto kMostEnding = std::chrono::seconds(5);

constexpr gid_t kGroup = 54342;
bool WeAreRoot() { return geteuid() == 0; }
Identity User(uid_t number) {
  return WeAreRoot() ? Identity{.user = number, .groups = {kGroup}} : Identity{};
}
Identity DaemonUser() { return User(54340); }

std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void GiveTo(const Identity& user, const std::string& path) {
  if (user.IsOurs()) return;
  EXPECT_EQ(chown(path.c_str(), user.user, user.user), 0) << path;
}

// Asks each of them, because asking also takes note of the end.
bool HaveEnded(std::initializer_list<Trainee*> trainees) {
  return std::count_if(trainees.begin(), trainees.end(), [](Trainee* trainee) {
           return trainee->HasEnded();
         }) == static_cast<ptrdiff_t>(trainees.size());
}

}  // namespace

std::vector<std::string> AllFailpoints() {
  setenv("PENSTOCK_FAILPOINTS", "list", 1);
  std::set<std::string> names;
  for (const char* program : {"penstockd", "penstock-worker", "penstock-indexer"}) {
    std::istringstream lines(RunProgram(program, {}).output);
    for (std::string line; std::getline(lines, line);) names.insert(line);
  }
  unsetenv("PENSTOCK_FAILPOINTS");
  return {names.begin(), names.end()};
}

// The daemon, and what operators and a visitor do to it while it runs.
class Node {
 public:
  Node(DaemonProcess::Options options, const Disturbance& disturbance, const TempFolder& folder,
       const std::string& trainee)
      : folder_(folder),
        trainee_(trainee),
        lives_left_(disturbance.lives),
        counts_(folder.At("counts"), DaemonUser().user) {
    setenv("PENSTOCK_FAILPOINTS", disturbance.failpoints.c_str(), 1);
    daemon_ = std::make_unique<DaemonProcess>(std::move(options));
  }
  ~Node() { BeLeftAlone(); }

  DaemonProcess& daemon() { return *daemon_; }
  void BeLeftAlone() { unsetenv("PENSTOCK_FAILPOINTS"); }

  // Starts it again if it is gone; else does what is due once both trainers have this many batches.
  void Step(uint64_t batches) {
    if (daemon_->HasEnded()) return StartAgain();
    const uint64_t due = done_ + 1;
    if (is_done() || batches < due || (visitor_ && !visitor_->HasEnded())) return;
    ++done_;
    if (due == 1) KillWorkers();
    if (due == 2) daemon_->Signal(SIGHUP);
    if (due == 3) daemon_->Ctl({"quarantine", "clear", "photographs"});
    if (due == 3) LetVisit();
    if (due == 4) daemon_->Signal(SIGTERM);
  }
  bool is_done() const { return done_ == 4; }  // all has happened that will
  void StartAgain() {
    daemon_->Kill(0);
    if (--lives_left_ <= 0) BeLeftAlone();
    counts_.BeginTermsAnew();
    daemon_->Start();
  }
  std::map<std::string, int> Acted() const { return counts_.Acted(); }

 private:
  void KillWorkers() {
    for (const pid_t child : ChildrenOf(daemon_->pid()))
      if (ContentOf(absl::StrCat("/proc/", child, "/comm")) == "penstock-worker\n")
        kill(child, SIGKILL);
  }

  void LetVisit() {
    visitor_.emplace(Trainee::Task{trainee_, daemon_->address(), "photographs", "visit"},
                     Trainee::Files{folder_.At("visitor"), ""}, User(54344));
  }

  const TempFolder& folder_;
  const std::string& trainee_;
  int lives_left_;
  uint64_t done_ = 0;
  CountsFile counts_;
  std::unique_ptr<DaemonProcess> daemon_;
  std::optional<Trainee> visitor_;
};

DisturbedRuns::DisturbedRuns(Where where)
    : where_(where),
      trainee_(where == Where::kOnGpu      ? "penstock-gpu-trainee"
               : where == Where::kInPython ? "penstock-test-python-trainee"
                                           : "penstock-test-trainee") {
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans of daemons that were killed become our children
  if (where == Where::kInPython) return;
  fs::copy(Photographs(kImages), folder_.At("photographs"), fs::copy_options::recursive);
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder_.At("photographs")))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  fs::resize_file(files[7], 200);
  std::string shard;
  for (size_t i = 0; i < files.size(); ++i)
    shard += TarFile(absl::StrCat(10'000 + i, ".jpg"), ContentOf(files[i])) +
             TarFile(absl::StrCat(10'000 + i, ".cls"), "0");
  folder_.Write("shard.tar", shard + TarEnd());
}

DaemonProcess::Options DisturbedRuns::Options() const {
  if (where_ == Where::kInPython) return {.serves = false, .may_die = true};
  const std::string group = WeAreRoot() ? absl::StrCat(kGroup) : "";
  return {.workers = 2,
          .config = absl::StrCat(
              "server: {socket: SOCKET, group: '", group, "', state_dir: '", folder_.At("state"),
              "', drain_for: 20s}\nlimits: {max_quarantined: 50%}\npool: {max: 16MiB}\ndatasets:\n"
              "  - {name: photographs, folder: '",
              folder_.At("photographs"), "'}\n  - {name: shards, tar: {shards: ['",
              folder_.At("shard.tar"), "']}}\n"),
          .serves = false,
          .may_die = true,
          .user = DaemonUser()};
}

void DisturbedRuns::PrepareState() {
  fs::remove_all(folder_.At("state"));
  fs::remove(folder_.At("gate"));
  folder_.MakeFolder("state");
  fs::permissions(folder_.At("state"), fs::perms::owner_all);
  GiveTo(DaemonUser(), folder_.At("state"));
}

DisturbedRuns::Got DisturbedRuns::Run(const Disturbance& disturbance) {
  PrepareState();
  Node node(Options(), disturbance, folder_, trainee_);
  Got got;
  where_ == Where::kInPython ? WatchInPython(node, got) : WatchUntilTheirEnds(node, got);
  SeeToLeftovers(node, got);
  got.acted = node.Acted();
  got.log = node.daemon().log();
  return got;
}

void DisturbedRuns::WatchUntilTheirEnds(Node& node, Got& got) {
  const std::string address = node.daemon().address(), gate = folder_.At("gate");
  Trainee first({trainee_, address, "photographs", "state"}, {folder_.At("first"), gate},
                User(54341));
  Trainee second({trainee_, address, "shards", "order"}, {folder_.At("second"), gate}, User(54343));
  const auto until = steady_clock::now() + kMostARun;
  while (!HaveEnded({&first, &second}) && steady_clock::now() < until) {
    node.Step(std::min(first.Got().batches, second.Got().batches));
    if (node.is_done()) folder_.Write("gate", "");
    std::this_thread::sleep_for(milliseconds(5));
  }
  got.by_state = first.Got();
  got.in_order = second.Got();
  got.ended = first.ended_well() && second.ended_well();
}

void DisturbedRuns::WatchInPython(Node& node, Got& got) {
  const std::string address = node.daemon().address();
  const auto task = [&](const char* how) {
    return Trainee::Task{trainee_, address, "python", how};
  };
  Trainee first(task("state"), {folder_.At("first"), ""}, Identity{});
  Trainee second(task("order"), {folder_.At("second"), ""}, Identity{});
  Trainee third(task("streams"), {folder_.At("third"), ""}, Identity{});
  const auto until = steady_clock::now() + kMostARun;
  while (!HaveEnded({&first, &second, &third}) && steady_clock::now() < until) {
    if (node.daemon().HasEnded()) node.StartAgain();
    std::this_thread::sleep_for(milliseconds(5));
  }
  got.by_state = first.Got();
  got.in_order = second.Got();
  got.in_streams = third.Got();
  for (const Trainee* trainee : {&first, &second, &third})
    for (std::string& error : trainee->Errors()) got.errors.push_back(std::move(error));
  got.ended = first.ended_well() && second.ended_well() && third.ended_well();
}

// What a kill left is seen to, at the latest, when a daemon opens the datasets again.
void DisturbedRuns::SeeToLeftovers(Node& node, Got& got) {
  DaemonProcess& daemon = node.daemon();
  const bool killed = daemon.Kill(SIGTERM) == -SIGKILL;
  node.BeLeftAlone();
  if (killed || !FilesLeftIn(daemon.directory()).empty()) {
    daemon.Start();
    if (where_ != Where::kInPython) {
      OneEpoch(daemon.address(), SmallRows("photographs", 8));
      OneEpoch(daemon.address(), SmallRows("shards", 5));
    }
    daemon.Kill(SIGTERM);
  }
  got.left = Leftovers(daemon.directory());
}

// A daemon that is still ending removes files meanwhile. So an error only ends the search of that
// folder, and counts as something left.
std::string DisturbedRuns::FilesLeftIn(const std::string& directory) const {
  std::string left;
  for (const std::string& folder : {folder_.At("state"), directory}) {
    std::error_code error;
    for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      const std::string path = entry->path().string();
      std::error_code gone;
      if (path.find(".new") != std::string::npos || path.ends_with(".lock") ||
          entry->is_socket(gone))
        absl::StrAppend(&left, path, " ");
    }
    if (error) absl::StrAppend(&left, folder, ": ", error.message(), " ");
  }
  return left;
}

std::string DisturbedRuns::Leftovers(const std::string& directory) const {
  std::string left;
  for (const auto until = steady_clock::now() + kMostEnding; steady_clock::now() < until;) {
    while (waitpid(-1, nullptr, WNOHANG) > 0) continue;
    left = FilesLeftIn(directory);
    for (const pid_t pid : ChildrenOf(getpid()))
      left += ContentOf(absl::StrCat("/proc/", pid, "/comm"));
    if (left.empty()) break;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return left;
}

}  // namespace penstock::testing
