#include "server/workers/given_items.h"

#include <gtest/gtest.h>

namespace penstock::workers {
namespace {

TEST(GivenItemsTest, WhoeverHasTheSampleInHandPays) {
  GivenItems items;
  items.Add(/*id=*/1, /*account=*/10);
  items.Add(2, 20);
  items.Add(3, 30);

  EXPECT_EQ(items.WhoPays(2), 20u);
}

TEST(GivenItemsTest, WithNothingInHandWhoeverGaveTheLastItemPays) {
  GivenItems items;
  items.Add(1, 10);
  items.Add(2, 20);
  items.Remove(std::vector<Outcome>{{.id = 1}, {.id = 2}});

  EXPECT_EQ(items.WhoPays(std::nullopt), 20u);
}

TEST(GivenItemsTest, AnItemThatEndedIsNoLongerInHand) {
  GivenItems items;
  items.Add(1, 10);
  items.Add(2, 20);
  items.Remove(std::vector<Outcome>{{.id = 1}});

  EXPECT_EQ(items.WhoPays(1), 20u);
}

TEST(GivenItemsTest, ANewWorkerThatWasGivenNothingIsNobodys) {
  GivenItems items;
  items.Add(1, 10);

  items.BeginAgain();

  EXPECT_EQ(items.last_account(), 0u);
  EXPECT_EQ(items.WhoPays(std::nullopt), 0u);
  EXPECT_EQ(items.WhoPays(1), 10u);  // its predecessor read it, and this worker decoded it
}

}  // namespace
}  // namespace penstock::workers
