#include "server/feed/core/row_ledger.h"

#include <gtest/gtest.h>

namespace penstock::feed {
namespace {

class RowLedgerTest : public ::testing::Test {
 protected:
  RowLedgerTest() { ledger_.Reset(2); }
  RowLedger ledger_;
};

using RowLedgerDeathTest = RowLedgerTest;

TEST_F(RowLedgerDeathTest, ARowIsAnsweredOnceAndOnlyWhileGiven) {
  EXPECT_DEATH(ledger_.Done(0), "from");
  const uint32_t row = ledger_.GiveFresh(1).first;
  ledger_.Done(row);

  EXPECT_DEATH(ledger_.Done(row), "from");
  EXPECT_DEATH(ledger_.Back(row), "from");
  EXPECT_DEATH(ledger_.GiveAgain(row), "from");
  EXPECT_DEATH(ledger_.Done(2), "rows_.size");
}

TEST_F(RowLedgerDeathTest, ASlotIsNotBegunAnewWhileARowIsWithAWorker) {
  ledger_.GiveFresh(1);

  EXPECT_DEATH(ledger_.Reset(2), "given_ == 0");
}

TEST_F(RowLedgerTest, FreshRowsComeInOrderEachOnce) {
  EXPECT_EQ(ledger_.GiveFresh(1).first, 0u);
  EXPECT_EQ(ledger_.GiveFresh(1).first, 1u);
  EXPECT_FALSE(ledger_.HasFresh());
  EXPECT_EQ(ledger_.given(), 2u);
}

TEST_F(RowLedgerTest, RunsAreAsFewAsMayBeAndNearlyOfOneSize) {
  const auto sizes = [](uint32_t rows, uint32_t most) {
    RowLedger ledger;
    ledger.Reset(rows);
    std::vector<uint32_t> sizes;
    while (ledger.HasFresh()) sizes.push_back(ledger.GiveFresh(most).count);
    return sizes;
  };

  EXPECT_EQ(sizes(512, 511), (std::vector<uint32_t>{256, 256}));
  EXPECT_EQ(sizes(10, 4), (std::vector<uint32_t>{4, 3, 3}));
  EXPECT_EQ(sizes(10, UINT32_MAX), (std::vector<uint32_t>{10}));
  EXPECT_EQ(sizes(3, 1), (std::vector<uint32_t>{1, 1, 1}));
}

TEST_F(RowLedgerTest, ARowThatCameBackIsGivenAgainAndTheSlotIsFullOnlyWithIt) {
  ledger_.GiveFresh(1);
  ledger_.Done(ledger_.GiveFresh(1).first);
  ledger_.Back(0);
  EXPECT_FALSE(ledger_.AllDone());
  EXPECT_EQ(ledger_.given(), 0u);

  ledger_.GiveAgain(0);
  ledger_.Done(0);

  EXPECT_TRUE(ledger_.AllDone());
}

}  // namespace
}  // namespace penstock::feed
