#include "server/app/service/connected_clients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::app {
namespace {

doorway::Peer PeerWith(uint64_t id, uint8_t ticket) {
  doorway::Peer peer;
  peer.id = doorway::PeerId(id);
  peer.ticket.bytes[15] = ticket;
  return peer;
}

TEST(ConnectedClientsTest, ATicketThatNobodyHoldsIsNobodys) {
  ConnectedClients peers;
  peers.Add(PeerWith(1, 1));

  const auto found = peers.Find(PeerWith(0, 2).ticket);

  EXPECT_EQ(found.status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(found.status().message()), ::testing::HasSubstr("doorway"));
}

TEST(ConnectedClientsTest, WhoLeftIsNotFoundAndTheOthersAre) {
  ConnectedClients peers;
  peers.Add(PeerWith(1, 1));
  peers.Add(PeerWith(2, 2));

  peers.Remove(doorway::PeerId(1));

  EXPECT_FALSE(peers.Find(PeerWith(0, 1).ticket).ok());
  EXPECT_EQ(peers.Find(PeerWith(0, 2).ticket)->id.value(), 2u);
  EXPECT_EQ(peers.size(), 1u);
}

TEST(ConnectedClientsTest, ATicketIsGoodOnConnectionsOfItsHolderAlone) {
  doorway::Peer holder = PeerWith(1, 1);
  holder.uid = 1000;
  holder.pid = 42;
  ConnectedClients peers;
  peers.Add(holder);
  const auto on = [&](rpc::Origin origin) {
    rpc::Ticket ticket = holder.ticket;
    ticket.origin = origin;
    return peers.Find(ticket).status().code();
  };

  EXPECT_EQ(on({.user = 1000, .pid = 42}), absl::StatusCode::kOk);
  EXPECT_EQ(on({.user = 1001, .pid = 42}), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(on({.user = 0, .pid = 42}), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(on({.user = 1000, .pid = 43}), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(on({.user = 1000, .pid = 0}), absl::StatusCode::kOk);  // from another PID namespace
}

TEST(ConnectedClientsTest, WhoWasNeverHereMayLeave) {
  ConnectedClients peers;

  peers.Remove(doorway::PeerId(7));

  EXPECT_EQ(peers.size(), 0u);
}

}  // namespace
}  // namespace penstock::app
