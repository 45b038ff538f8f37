#include "tests/system/python/maker_processes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

#include "common/shm/python_slot.h"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kNumbers = 9;  // before the ids

// What fills the rest of a batch.
int FillOf(uint64_t first_id, uint64_t epoch) {
  return static_cast<int>((first_id * 37 + epoch * 11 + 1) % 256);
}

uint64_t BytesBeforeFill(size_t ids) {
  return sizeof(shm::PythonSlotHeader) + 8 * (kNumbers + ids);
}

void WriteMade(std::byte* slot, const BatchToMake& batch, PlaceStart at, bool raised,
               uint64_t bytes) {
  const std::array<uint64_t, kNumbers> numbers = {raised,
                                                  batch.epoch,
                                                  batch.seed,
                                                  batch.key_first,
                                                  batch.key_step,
                                                  at.place,
                                                  at.start,
                                                  static_cast<uint64_t>(::getpid()),
                                                  static_cast<uint64_t>(::getppid())};
  std::byte* into = slot + sizeof(shm::PythonSlotHeader);
  std::memcpy(into, numbers.data(), sizeof(numbers));
  std::memcpy(into + sizeof(numbers), batch.ids.data(), batch.ids.size_bytes());
  const uint64_t before = BytesBeforeFill(batch.ids.size());
  std::memset(slot + before, FillOf(batch.ids.front(), batch.epoch), bytes - before);
  shm::PythonSlotHeader header = {};
  header.magic = shm::kPythonSlotMagic;
  header.version = shm::kPythonSlotVersion;
  header.total_bytes = header.tail_offset = bytes;
  std::memcpy(slot, &header, sizeof(header));
}

// Makes one batch. Returns whether the worker can go on.
bool Make(MakerWorker& worker, const BatchToMake& batch, PlaceStart at, Script& script) {
  bool raised = false;
  uint32_t row = 0;
  for (; row < batch.ids.size() && !raised; ++row) {
    const uint64_t id = batch.ids[row];
    worker.SetRow(row);
    if (id < Script::kSamples) ++script.made[id];
    std::this_thread::sleep_for(milliseconds(script.sample_ms.load()));
    uint64_t expected = id;
    if (script.kill_at.compare_exchange_strong(expected, Script::kNever) ||
        script.kill_always == id)
      ::raise(SIGKILL);
    raised = script.raise_at == id;
  }
  const uint64_t least = BytesBeforeFill(batch.ids.size());
  const uint64_t more = script.extra_bytes + script.extra_bytes_by_id * batch.ids.front();
  uint64_t bytes = raised ? least : least + more;
  auto room = worker.AskForRoom(bytes, seconds(10));
  if (room.status().code() == Code::kResourceExhausted) {
    raised = true;
    bytes = least;
    room = worker.AskForRoom(bytes, seconds(10));
  }
  if (!room.ok()) return false;
  WriteMade(room->data(), batch, at, raised, bytes);
  return (raised ? worker.Raised(row - 1, bytes) : worker.Done(bytes)).ok();
}

int RunWorker(const std::string& address, const std::string& token, PlaceStart at, pid_t host,
              Script& script) {
  if (!EndWithHost(host).ok()) return 10;
  auto worker = MakerWorker::Enter(address, token, at, seconds(10));
  if (!worker.ok()) return 11;
  worker->Ready();
  for (;;) {
    const auto batch = worker->Next(seconds(60));
    if (batch.status().code() == Code::kDeadlineExceeded) continue;
    if (!batch.ok() || !Make(*worker, *batch, at, script)) return 12;
  }
}

int RunHost(const std::string& address, const std::string& token, pid_t trainer, int life,
            Script& script) {
  auto host = MakerHost::Enter({.address = address,
                                .token = token,
                                .client = "test 1.0",
                                .trainer = static_cast<int>(::syscall(SYS_pidfd_open, trainer, 0)),
                                .life = life});
  if (!host.ok()) return 20;
  if (!host->CloseInherited().ok()) return 21;
  for (;;) {
    const auto wanted = host->Next(seconds(60));
    if (!wanted.ok()) return 0;
    for (const PlaceStart at : *wanted) {
      const pid_t self = ::getpid();
      if (!host->MakeWords(at.place).ok()) return 22;
      const pid_t worker = ::fork();
      if (worker == 0) {
        host->LeaveInWorker(at.place);
        ::_exit(RunWorker(address, token, at, self, script));
      }
      if (!host->NoteForked(at, worker).ok()) return 23;
    }
  }
}

}  // namespace

Script& Script::Shared() {
  void* memory =
      ::mmap(nullptr, sizeof(Script), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *new (memory) Script();
}

MadeContent Read(const Batch& batch) {
  const std::span<const std::byte> slot = batch.made();
  shm::PythonSlotHeader header = {};
  EXPECT_GE(slot.size(), sizeof(header));
  std::memcpy(&header, slot.data(), sizeof(header));
  EXPECT_TRUE(shm::CheckPythonSlot(header, slot.size()).ok());
  std::array<uint64_t, kNumbers> numbers;
  std::memcpy(numbers.data(), slot.data() + sizeof(header), sizeof(numbers));
  MadeContent content = {.raised = numbers[0],
                         .epoch = numbers[1],
                         .seed = numbers[2],
                         .key_first = numbers[3],
                         .key_step = numbers[4],
                         .place = numbers[5],
                         .start = numbers[6],
                         .pid = numbers[7],
                         .host_pid = numbers[8],
                         .bytes = header.total_bytes};
  content.ids.resize(batch.rows());
  std::memcpy(content.ids.data(), slot.data() + sizeof(header) + sizeof(numbers),
              8 * content.ids.size());
  const std::vector<uint64_t> planned(batch.sample_ids().begin(), batch.sample_ids().end());
  EXPECT_EQ(content.ids, planned);
  const auto fill = static_cast<std::byte>(FillOf(planned.front(), content.epoch));
  const std::span<const std::byte> rest =
      slot.first(header.total_bytes).subspan(BytesBeforeFill(planned.size()));
  EXPECT_EQ(std::count(rest.begin(), rest.end(), fill), static_cast<int64_t>(rest.size()));
  return content;
}

PythonTrainer::PythonTrainer(const std::string& address, Script& script)
    : address_(address), script_(script) {}

PythonTrainer::~PythonTrainer() { EndHosts(); }

void PythonTrainer::EndHosts() {
  for (ForkedHost& host : hosts_) {
    if (host.pid < 0) continue;
    ::shutdown(host.life, SHUT_RDWR);
    ::close(host.life);
    ::waitpid(host.pid, nullptr, 0);
    host.pid = -1;
  }
}

SessionOptions PythonTrainer::Options(uint32_t batch_size, uint32_t workers) const {
  SessionOptions options;
  options.dataset = Dataset();
  options.batch_size = batch_size;
  options.order = Order::kSequential;
  options.seed = 7;
  options.epochs = 1;
  options.python = PythonFeed{.workers = workers, .digest = 5};
  return options;
}

Session PythonTrainer::Open(const SessionOptions& options) { return TryOpen(options).OrDie(); }

Result<Session> PythonTrainer::TryOpen(const SessionOptions& options) {
  if (!client_) {
    Result<Client> client = Client::Connect({.address = address_});
    if (!client.ok()) return client.status();
    client_ = *std::move(client);
  }
  return client_->Open(options);
}

void PythonTrainer::ForkHost(const std::string& token) {
  int life[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, life), 0);
  const pid_t trainer = ::getpid();
  const pid_t host = ::fork();
  if (host == 0) {
    ::close(life[0]);
    ::_exit(RunHost(address_, token, trainer, life[1], script_));
  }
  ::close(life[1]);
  hosts_.push_back({.pid = host, .life = life[0]});
}

Result<Batch> PythonTrainer::Next(Session& session, milliseconds timeout) {
  for (;;) {
    Result<Batch> batch = session.Next(timeout);
    if (batch.status().code() != Code::kHostWanted) return batch;
    ForkHost(session.host_token());
    EXPECT_TRUE(session.NoteHostForked().ok());
  }
}

std::vector<MadeContent> PythonTrainer::Drain(Session& session) {
  std::vector<MadeContent> all;
  for (;;) {
    const Result<Batch> batch = Next(session);
    if (batch.ok()) {
      all.push_back(Read(*batch));
    } else if (batch.status().code() != Code::kEndOfEpoch) {
      EXPECT_EQ(batch.status().code(), Code::kEndOfData) << batch.status().ToString();
      return all;
    }
  }
}

}  // namespace penstock::testing
