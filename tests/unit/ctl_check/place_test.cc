#include <gtest/gtest.h>

#include "common/dataset/dataset_place.h"

namespace penstock::dataset {
namespace {

TEST(DatasetPlaceTest, ItIsItsFolderItsFirstFileOrItsPatternsFolder) {
  EXPECT_EQ(PlaceOfDataset("folder", "/data/of, /mine {1}"), "/data/of, /mine {1}");
  EXPECT_EQ(PlaceOfDataset("list", "list:/data/x.csv,label=1,root=/images"), "/data/x.csv");
  EXPECT_EQ(PlaceOfDataset("folder", "folder:/data/x,label=(a)"), "/data/x");
  EXPECT_EQ(PlaceOfDataset("cifar", "cifar:/data/c,split=test"), "/data/c");
  EXPECT_EQ(PlaceOfDataset("pairs", "pairs:images=/data/i,masks=/data/m"), "/data/i");
  EXPECT_EQ(PlaceOfDataset("coco", "coco:annotations=/data/a.json,images=/data/i"), "/data/a.json");
  EXPECT_EQ(PlaceOfDataset("voc", "voc:/data/VOC2012,split=train"), "/data/VOC2012");
  EXPECT_EQ(PlaceOfDataset("yolo", "yolo:images=/data/images/train"), "/data/images/train");
  EXPECT_EQ(PlaceOfDataset("", "/data/photos"), "/data/photos");
  EXPECT_EQ(PlaceOfDataset("tar", "/data/a-{000..146}.tar, /data/b.tar image=png"), "/data");
  EXPECT_EQ(PlaceOfDataset("", "/{0..9}.tar"), "/");
  EXPECT_EQ(PlaceOfDataset("tfrecord", "/data/a, /data/b label=none"), "/data/a");
  EXPECT_EQ(PlaceOfDataset("npy", "npy:image=/data/x.npy,label=/data/y.npy"), "/data/x.npy");
  EXPECT_EQ(PlaceOfDataset("", "tokens:/t/f_{1..9}.bin,length=8"), "/t");
  EXPECT_EQ(PlaceOfDataset("synthetic", "synthetic:224x224x3,samples=9"), "");
  EXPECT_EQ(PlaceOfDataset("mixture", "mixture:both"), "");
  EXPECT_EQ(PlaceOfDataset("", ""), "");
  EXPECT_EQ(PlaceOfDataset("npy", "npy:"), "");
}

}  // namespace
}  // namespace penstock::dataset
