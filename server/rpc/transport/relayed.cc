#include "server/rpc/transport/relayed.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "server/rpc/transport/cut_off.h"

namespace penstock::rpc {
namespace {

constexpr size_t kAtOnce = 16 << 10;  // per read
constexpr size_t kMostUp = 16 << 10;  // buffer limit
constexpr base::Duration kReadsWithin = std::chrono::seconds(60);

absl::Status Over() { return absl::CancelledError("the connection has ended"); }

// The number of bytes, 0 at the end of the stream, nullopt if none are available now.
std::optional<size_t> Read(const posix::Fd& socket, char* bytes, size_t most) {
  ssize_t got;
  do {
    got = ::recv(socket.get(), bytes, most, MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return std::nullopt;
  return got < 0 ? 0 : static_cast<size_t>(got);
}

// How many of the next bytes came without a descriptor, at most `most`. A peek keeps the message's
// descriptors, so it never waits for a file to be closed.
absl::StatusOr<size_t> WithoutDescriptors(const posix::Fd& socket, size_t most) {
  char piece[kAtOnce];
  iovec data{.iov_base = piece, .iov_len = most};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  const ssize_t got = ::recvmsg(socket.get(), &header, MSG_PEEK | MSG_DONTWAIT);
  if (got >= 0 && (header.msg_flags & MSG_CTRUNC) != 0)
    return CutOffFor(CutOff::kDescriptors,
                     absl::InvalidArgumentError("it passes a descriptor, but calls need none"));
  return got > 0 ? static_cast<size_t>(got) : most;
}

// The number of bytes accepted; nullopt if the peer has closed.
std::optional<size_t> Write(const posix::Fd& socket, const char* bytes, size_t count) {
  ssize_t sent;
  do {
    sent = ::send(socket.get(), bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return static_cast<size_t>(sent);
  if (errno == EAGAIN) return 0;
  return std::nullopt;
}

// Removes `count` bytes from the front; frees the memory when all are gone.
void Drop(std::string& bytes, size_t count) {
  if (count == bytes.size()) {
    std::string().swap(bytes);
  } else {
    bytes.erase(0, count);
  }
}

}  // namespace

absl::Status Relayed::Move(base::TimePoint now, bool hung_up) {
  again_.reset();
  PENSTOCK_RETURN_IF_ERROR(MoveDown(now));
  if (hung_up) {  // its last data
    (void)MoveUp(now);
    return Over();
  }
  if (down_.empty() && !grpc_ended_) PENSTOCK_RETURN_IF_ERROR(MoveUp(now));
  if (down_.empty() && grpc_ended_) return Over();
  return absl::OkStatus();
}

absl::Status Relayed::MoveDown(base::TimePoint now) {
  char piece[kAtOnce];
  if (down_.empty() && !grpc_ended_) {
    const std::optional<size_t> got = Read(grpc_, piece, sizeof(piece));
    if (!got) return absl::OkStatus();
    if (*got == 0) {
      grpc_ended_ = true;
      return absl::OkStatus();
    }
    if (traffic_) traffic_->FromServer(std::as_bytes(std::span(piece, *got)));
    const std::optional<size_t> sent = Write(*client_, piece, *got);
    if (!sent) return Over();
    down_.assign(piece + *sent, *got - *sent);
  } else if (!down_.empty()) {
    const std::optional<size_t> sent = Write(*client_, down_.data(), down_.size());
    if (!sent) return Over();
    if (*sent > 0) unread_since_.reset();
    Drop(down_, *sent);
  }
  if (down_.empty()) {
    unread_since_.reset();
    return absl::OkStatus();
  }
  if (!unread_since_) unread_since_ = now;
  if (now - *unread_since_ >= kReadsWithin)
    return CutOffFor(CutOff::kUnread,
                     absl::DeadlineExceededError("it has not read its data for a minute"));
  again_ = *unread_since_ + kReadsWithin;
  return absl::OkStatus();
}

absl::Status Relayed::MoveUp(base::TimePoint now) {
  PENSTOCK_RETURN_IF_ERROR(ReadClient());
  PENSTOCK_RETURN_IF_ERROR(WriteGrpc());
  if (passed_ > 0) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(const Traffic::Allowed allowed, Judge(now));
  passed_ = allowed.pass;
  untaken_.insert(untaken_.end(), allowed.untaken.begin(), allowed.untaken.end());
  if (allowed.wait > base::Duration::zero()) again_ = now + allowed.wait;
  PENSTOCK_RETURN_IF_ERROR(WriteGrpc());
  if (client_ended_ && passed_ == 0 && !again_ && !end_sent_) {
    ::shutdown(grpc_.get(), SHUT_WR);
    end_sent_ = true;
  }
  return absl::OkStatus();
}

absl::StatusOr<Traffic::Allowed> Relayed::Judge(base::TimePoint now) {
  if (!traffic_) return Traffic::Allowed{.pass = up_.size(), .wait = base::Duration::zero()};
  return traffic_->FromClient(std::as_bytes(std::span(up_)), now);
}

absl::Status Relayed::ReadClient() {
  if (client_ended_ || up_.size() >= kMostUp) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(const size_t most, WithoutDescriptors(*client_, kMostUp - up_.size()));
  char piece[kAtOnce];
  const std::optional<size_t> got = Read(*client_, piece, most);
  if (!got) return absl::OkStatus();
  client_ended_ = *got == 0;
  up_.append(piece, *got);
  return absl::OkStatus();
}

absl::Status Relayed::WriteGrpc() {
  if (passed_ == 0) return absl::OkStatus();
  const std::optional<size_t> sent = Write(grpc_, up_.data(), passed_);
  if (!sent) {  // read its possible explanation first
    passed_ = 0;
    Drop(up_, up_.size());
    client_ended_ = true;
    return absl::OkStatus();
  }
  passed_ -= *sent;
  Drop(up_, *sent);
  return absl::OkStatus();
}

uint32_t Relayed::ClientEvents() const {
  if (!down_.empty()) return EPOLLOUT;
  return !client_ended_ && up_.size() < kMostUp ? EPOLLIN : 0u;
}

uint32_t Relayed::GrpcEvents() const {
  if (grpc_ended_ || !down_.empty()) return 0;
  return EPOLLIN | (passed_ > 0 ? EPOLLOUT : 0u);
}

}  // namespace penstock::rpc
