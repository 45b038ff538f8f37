// penstock-test-flooder ADDRESS KIND: floods the daemon until SIGTERM, then prints its counters.
// KIND is one of:
//   flood        calls, connections and oversized messages together
//   connections  only the connections
//   handshakes   two threads connect to the doorway and send nothing
//   burn         two threads run a busy loop, to compare with a run without a flood
#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "penstock/v1/admin.grpc.pb.h"

namespace {

namespace v1 = penstock::v1;
using std::chrono::milliseconds;

// Nearly as many calls as the daemon answers at once, on connections that each make more than the
// daemon allows per connection.
constexpr int kChannels = 60, kCallsAtOnce = 32;        // per channel
constexpr int kCallsASecond = 10'000;                   // in total, if they are answered
constexpr int kIdle = 820, kSilent = 50, kCutOff = 50;  // connections
constexpr size_t kLong = 8 << 20;                       // bytes; the limit is 1 MiB
constexpr int kBurners = 2;
constexpr int kGivesWay = 10;  // nice value: a tenth of the feed's CPU share

std::atomic<bool> stopping = false;
std::atomic<uint64_t> answered = 0, refused = 0, connected = 0, long_refused = 0;
// Connections that the daemon closed after it had sent something: those that speak HTTP/2 fully,
// and those that do not. A connection refused on arrival receives nothing, so neither counts it.
std::atomic<uint64_t> dropped = 0, half_open_dropped = 0;

std::unique_ptr<v1::AdminService::Stub> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt("grpc.use_local_subchannel_pool", 1);
  return v1::AdminService::NewStub(
      grpc::CreateCustomChannel("unix:" + address, grpc::InsecureChannelCredentials(), arguments));
}

// Makes one call after the other. The object is never destroyed: the process exits with calls in
// progress.
template <typename Request, typename Response>
class Caller {
 public:
  using Start = void (*)(v1::AdminService::Stub&, grpc::ClientContext*, const Request*, Response*,
                         std::function<void(grpc::Status)>);
  Caller(v1::AdminService::Stub& stub, Start start) : stub_(stub), start_(start) { AwaitTurn(); }

 private:
  // Spaces out the callers' starts. A caller that was delayed restarts its schedule from now.
  void AwaitTurn() {
    using Clock = std::chrono::system_clock;
    constexpr auto kTurn =
        std::chrono::microseconds(std::chrono::seconds(kChannels * kCallsAtOnce)) / kCallsASecond;
    next_ = std::max(next_ + kTurn, Clock::now());
    alarm_.Set(next_, [this](bool) {
      if (!stopping) Call();
    });
  }

  void Call() {
    context_ = std::make_unique<grpc::ClientContext>();
    context_->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
    start_(stub_, context_.get(), &request_, &response_, [this](const grpc::Status& status) {
      ++(status.ok() ? answered : refused);
      AwaitTurn();
    });
  }

  v1::AdminService::Stub& stub_;
  const Start start_;
  std::chrono::system_clock::time_point next_{};
  grpc::Alarm alarm_;
  std::unique_ptr<grpc::ClientContext> context_;
  const Request request_;
  Response response_;
};

void CallsOf(v1::AdminService::Stub& stub) {
  for (int i = 0; i < kCallsAtOnce; i += 2) {
    new Caller<v1::GetStatusRequest, v1::GetStatusResponse>(
        stub, [](auto& stub, auto* context, auto* request, auto* response, auto done) {
          stub.async()->GetStatus(context, request, response, std::move(done));
        });
    new Caller<v1::ListSessionsRequest, v1::ListSessionsResponse>(
        stub, [](auto& stub, auto* context, auto* request, auto* response, auto done) {
          stub.async()->ListSessions(context, request, response, std::move(done));
        });
  }
}

void LongMessages(v1::AdminService::Stub& stub) {
  v1::ListQuarantineRequest request;
  request.set_dataset(std::string(kLong, 'x'));
  while (!stopping) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
    v1::ListQuarantineResponse response;
    if (!stub.ListQuarantine(&context, request, &response).ok()) ++long_refused;
  }
}

// HTTP/2's preface and an empty SETTINGS frame.
constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr char kSettings[] = {0, 0, 0, 4, 0, 0, 0, 0, 0};

// Opens connection `number` and sends as much of the greeting as its kind does. Returns -1 if it
// cannot connect or send.
int Open(const std::string& address, int number) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(name.sun_path, address.c_str(), sizeof name.sun_path - 1);
  std::string words;
  if (number >= kSilent) words += kPreface;
  if (number >= kSilent + kCutOff) words.append(kSettings, sizeof kSettings);
  if (connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof name) != 0 ||
      send(fd, words.data(), words.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(words.size())) {
    close(fd);
    return -1;
  }
  ++connected;
  return fd;
}

// Reads what the peer has sent and sets `heard` if there was something. Returns false if the peer
// closed the connection.
bool IsOpen(int fd, bool& heard) {
  char bytes[4096];
  for (;;) {
    const ssize_t count = recv(fd, bytes, sizeof bytes, 0);
    if (count <= 0) return count < 0 && errno == EAGAIN;
    heard = true;
  }
}

void Connections(const std::string& address) {
  std::vector<pollfd> all(kIdle + kSilent + kCutOff,
                          pollfd{.fd = -1, .events = POLLIN, .revents = 0});
  std::array<bool, kIdle + kSilent + kCutOff> heard{};
  while (!stopping) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].fd >= 0) continue;
      all[i].fd = Open(address, static_cast<int>(i));
      heard[i] = false;
    }
    poll(all.data(), all.size(), 20);
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].fd < 0 || all[i].revents == 0 || IsOpen(all[i].fd, heard[i])) continue;
      close(all[i].fd);
      all[i].fd = -1;
      if (heard[i]) ++(i < kSilent + kCutOff ? half_open_dropped : dropped);
    }
    std::this_thread::sleep_for(milliseconds(5));
  }
}

// Connects as fast as the doorway accepts. The last sixty connections stay open, so that the daemon
// always has one to wait for and one to refuse.
void Handshakes(const std::string& address) {
  sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(name.sun_path, (address + ".door").c_str(), sizeof name.sun_path - 1);
  std::array<int, 60> last;
  last.fill(-1);
  for (size_t i = 0; !stopping; i = (i + 1) % last.size()) {
    if (last[i] >= 0) close(last[i]);
    last[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (connect(last[i], reinterpret_cast<sockaddr*>(&name), sizeof name) == 0) ++connected;
  }
}

void Burn() {
  for (int i = 0; i < kBurners; ++i)
    std::thread([] {
      for (std::atomic<uint64_t> turns = 0;;) ++turns;
    }).detach();
}

void Calls(const std::string& address) {
  static std::vector<std::unique_ptr<v1::AdminService::Stub>> stubs;
  for (int i = 0; i < kChannels; ++i) CallsOf(*stubs.emplace_back(Connect(address)));
  std::thread([address] { LongMessages(*Connect(address)); }).detach();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  if (nice(kGivesWay) == -1) return 3;
  const std::string kind = argv[2], address = argv[1];
  if (kind == "burn") {
    Burn();
  } else if (kind == "handshakes") {
    for (int i = 0; i < kBurners; ++i) std::thread([address] { Handshakes(address); }).detach();
  } else {
    std::thread([address] { Connections(address); }).detach();
    if (kind == "flood") Calls(address);
  }
  int signal = 0;
  sigwait(&signals, &signal);
  std::printf("answered %lu refused %lu connected %lu dropped %lu half_open_dropped %lu long %lu\n",
              answered.load(), refused.load(), connected.load(), dropped.load(),
              half_open_dropped.load(), long_refused.load());
  std::fflush(stdout);
  _exit(0);  // calls are still in progress
}
