// Grades the daemon, its socket, and its datasets.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/ctl/check/finding.h"

namespace penstock::ctl {
namespace {

Finding GradeConfig(const std::string& file, const absl::Status& status) {
  if (status.ok()) return {Grade::kOk, "configuration", absl::StrCat(file, " is valid"), ""};
  return {Grade::kProblem, "configuration", ToWords(status),
          absl::StrCat("correct it, then: penstockctl check --config ", file)};
}

Finding GradeDirectory(const std::string& directory, const absl::Status& status) {
  if (status.ok()) return {Grade::kOk, "socket directory", directory, ""};
  return {
      Grade::kProblem, "socket directory", absl::StrCat(directory, ": ", ToWords(status)),
      absl::StrCat("chown it to the daemon's user and chmod go-w ", directory, ", or remove it")};
}

// How a user who may not connect can get access.
std::string WayIn(const SocketFacts& socket) {
  const bool for_members = (socket.mode & 0010) != 0 || (socket.mode & 0060) == 0060;
  if (!for_members || socket.group == "root")
    return "only its owner may connect: set server.group to a group, or start a daemon of your own";
  if (socket.caller_is_member)
    return absl::StrCat("let that group enter every folder of the path to ", socket.path);
  return absl::StrCat("make the user a member: usermod -aG ", socket.group, " ", socket.caller_name,
                      ", then log in again");
}

Finding GradeSocket(const SocketFacts& socket, const absl::Status& connected) {
  const std::string found =
      absl::StrFormat("%s, %s:%s %04o", socket.path, socket.owner, socket.group, socket.mode);
  const std::string caller = absl::StrCat("user ", socket.caller_name);
  if (absl::IsPermissionDenied(connected)) {
    return {Grade::kProblem, "socket", absl::StrCat(found, ": ", caller, " may not connect"),
            WayIn(socket)};
  }
  if (!connected.ok())
    return {Grade::kOk, "socket", absl::StrCat(found, "; nobody listens there"), ""};
  if (socket.for_operators)
    return {Grade::kOk, "socket", found + "; for operators: the daemon checks who connects", ""};
  const char* const why = socket.caller.user == 0   ? ""
                          : socket.caller_is_owner  ? ", who owns it"
                          : socket.caller_is_member ? ", a member of that group"
                                                    : "";
  if ((socket.mode & 0002) != 0)
    return {Grade::kWarning, "socket", found + ": every user of this machine may connect",
            absl::StrCat("chmod o-rwx ", socket.path)};
  return {Grade::kOk, "socket", absl::StrCat(found, "; open to ", caller, why), ""};
}

Finding GradeServing(const absl::StatusOr<DaemonFacts>& daemon) {
  if (daemon.ok() && daemon->serving.ok())
    return {Grade::kOk, "daemon", absl::StrCat("serving at ", daemon->address), ""};
  if (daemon.ok()) {
    return {Grade::kProblem, "daemon",
            absl::StrCat("at ", daemon->address, ": ", ToWords(daemon->serving)),
            "see its log; penstockctl status has details"};
  }
  if (absl::IsNotFound(daemon.status())) {
    return {Grade::kWarning, "daemon", "none answers",
            "start it: systemctl start penstockd, or penstockd --config FILE; clients can start a "
            "private one themselves (penstockctl status shows where it looked)"};
  }
  return {Grade::kProblem, "daemon", ToWords(daemon.status()),
          "use an address to which you may connect"};
}

std::string MinorOf(const std::string& version) {
  const std::vector<std::string> parts = absl::StrSplit(version, '.');
  return parts.size() < 2 ? version : absl::StrCat(parts[0], ".", parts[1]);
}

Finding GradeVersion(const std::string& theirs, const std::string& ours) {
  if (theirs == ours)
    return {Grade::kOk, "version", absl::StrCat("daemon and tools are ", ours), ""};
  const std::string found = absl::StrCat("the daemon is ", theirs, ", this program is ", ours);
  if (MinorOf(theirs) == MinorOf(ours)) return {Grade::kOk, "version", found, ""};
  return {Grade::kWarning, "version", found,
          "a daemon serves clients of its own and of the previous minor version; restart it after "
          "an upgrade (systemctl restart penstockd: trainers continue where they were)"};
}

const char* NameOf(const std::string& name) {
  return name == "pid" ? "PID" : name == "user" ? "user" : name == "mnt" ? "mount" : "IPC";
}

// Daemon and trainers need the socket and pidfds, which work wherever a daemon answers. Only a user
// namespace changes what the daemon learns.
Finding GradeNamespaces(const ProcessFacts& ours, const std::optional<ProcessFacts>& daemon) {
  if (!daemon)
    return {
        Grade::kOk, "namespaces",
        "the daemon's process is not in our PID namespace; watching it by pidfd works nevertheless",
        ""};
  std::vector<std::string> others, same;
  for (const auto& [name, id] : ours.namespaces) {
    const auto theirs = daemon->namespaces.find(name);
    if (theirs == daemon->namespaces.end()) continue;
    (theirs->second == id ? same : others).push_back(NameOf(name));
  }
  if (daemon->whole_user_map == false)
    return {Grade::kWarning, "namespaces", "the daemon runs in a user namespace of its own",
            "all users that its namespace does not map look like one user to it, and share memory: "
            "run it without a user namespace (PrivateUsers=no; a container without --userns)"};
  if (same.empty() && others.empty())
    return {Grade::kOk, "namespaces", "only root can see the daemon's namespaces", ""};
  const std::string shared =
      same.empty() ? "" : absl::StrCat("shared: ", absl::StrJoin(same, ", "));
  if (others.empty()) return {Grade::kOk, "namespaces", shared, ""};
  return {Grade::kOk, "namespaces",
          absl::StrCat("the daemon has other ones: ", absl::StrJoin(others, ", "),
                       shared.empty() ? "" : "; ", shared, "; socket and pidfds work across them"),
          ""};
}

Finding GradeRoot(const Root& root) {
  const std::string what = absl::StrCat("dataset ", root.dataset);
  if (!root.as_daemon)
    return {Grade::kOk, what,
            absl::StrCat(root.place, "; not checked, because the daemon sees another file system"),
            ""};
  const bool remote = IsRemote(root.file_system);
  const std::string on = root.file_system.empty()
                             ? ""
                             : absl::StrCat(", ", root.file_system, remote ? " (network)" : "");
  if (root.walk.ok()) return {Grade::kOk, what, root.place + on, ""};
  const std::string found = absl::StrCat(ToWords(root.walk), remote ? on : "");
  if (absl::IsDeadlineExceeded(root.walk))
    return {Grade::kProblem, what, found,
            "the file server does not answer: check it and the network; feeds wait for "
            "source.retry_for"};
  if (absl::IsNotFound(root.walk))
    return {Grade::kProblem, what, found,
            remote ? "check that it is mounted, or correct the configuration"
                   : "mount it, or correct the configuration and penstockctl reload"};
  return {Grade::kWarning, what, found,
          "let the daemon's user enter every folder of the path and read the last one: setfacl -m "
          "u:penstock:rX, or a group"};
}

}  // namespace

std::vector<Finding> GradeDaemon(const Facts& facts) {
  std::vector<Finding> findings;
  if (facts.config) findings.push_back(GradeConfig(facts.config->first, facts.config->second));
  findings.push_back(GradeDirectory(facts.socket_directory, facts.directory));
  findings.push_back(GradeServing(facts.daemon));
  if (facts.socket) findings.push_back(GradeSocket(*facts.socket, facts.daemon.status()));
  if (!facts.daemon.ok()) return findings;
  findings.push_back(GradeNamespaces(facts.self, facts.daemon->process));
  if (!facts.daemon->version.empty())
    findings.push_back(GradeVersion(facts.daemon->version, facts.version));
  return findings;
}

std::vector<Finding> GradeRoots(const Facts& facts) {
  std::vector<Finding> findings;
  for (const Root& root : facts.roots)
    if (!root.place.empty()) findings.push_back(GradeRoot(root));
  return findings;
}

}  // namespace penstock::ctl
