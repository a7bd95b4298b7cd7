#include "import/oom_text.h"

#include <gtest/gtest.h>

#include <cmath>

namespace shardplan {
namespace {

constexpr double kMiB = 1048576.0, kGiB = 1073741824.0;

OutOfMemory read(const std::string& text) {
  const Result<OutOfMemory> oom = read_out_of_memory(text, "log");
  EXPECT_TRUE(oom) << text;
  return oom ? *oom : OutOfMemory{};
}

double mib(const std::optional<Bytes<>>& size) { return size ? size->raw() / kMiB : -1; }

TEST(OomText, Release13SaysWhatIsCached) {
  const OutOfMemory oom = read(
      "RuntimeError: CUDA out of memory. Tried to allocate 32.00 MiB (GPU 0; 7.79 GiB total capacity; 6.64 GiB "
      "already allocated; 21.00 MiB free; 150.86 MiB cached)");
  EXPECT_DOUBLE_EQ(mib(oom.requested), 32);
  EXPECT_DOUBLE_EQ(mib(oom.capacity), 7.79 * 1024);
  EXPECT_DOUBLE_EQ(mib(oom.free), 21);
  EXPECT_DOUBLE_EQ(mib(oom.allocated), 6.64 * 1024);
  EXPECT_DOUBLE_EQ(mib(oom.unallocated), 150.86);
  EXPECT_TRUE(oom.fragmentation());
}

TEST(OomText, Release20SaysWhatIsReserved) {
  const OutOfMemory oom = read(
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.39 GiB (GPU 3; 6.00 GiB total "
      "capacity; 4.04 GiB already allocated; 478.00 MiB free; 4.15 GiB reserved in total by PyTorch) If "
      "reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.");
  EXPECT_DOUBLE_EQ(mib(oom.requested), 1.39 * 1024);
  EXPECT_NEAR(mib(oom.unallocated), 0.11 * 1024, 1e-6);
  EXPECT_NEAR(mib(oom.shortage()), 1.39 * 1024 - 478, 1e-6);
  EXPECT_FALSE(oom.fragmentation());
  EXPECT_FALSE(oom.enough_in_pieces());
}

TEST(OomText, Release21Misspells) {
  const OutOfMemory oom = read(
      "CUDA out of memory. Tried to allocate 1.70 GiB. GPU 0 has a total capacty of 6.00 GiB of which 0 bytes "
      "is free. Of the allocated memory 2.93 GiB is allocated by PyTorch, and 2.30 GiB is reserved by PyTorch "
      "but unallocated. If reserved but unallocated memory is large");
  EXPECT_DOUBLE_EQ(mib(oom.capacity), 6 * 1024);
  EXPECT_DOUBLE_EQ(mib(oom.free), 0);
  EXPECT_DOUBLE_EQ(mib(oom.allocated), 2.93 * 1024);
  EXPECT_DOUBLE_EQ(mib(oom.unallocated), 2.30 * 1024);
  EXPECT_TRUE(oom.fragmentation());
}

TEST(OomText, Release25WithOtherProcesses) {
  const OutOfMemory oom = read(
      "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 572.00 MiB. GPU 0 has a total "
      "capacity of 39.49 GiB of which 321.31 MiB is free. Process 3721648 has 414.00 MiB memory in use. "
      "Including non-PyTorch memory, this process has 37.46 GiB memory in use. Process 1374765 has "
      "17179869184.00 GiB memory in use. Of the allocated memory 36.04 GiB is allocated by PyTorch, with 17.00 "
      "MiB allocated in private pools (e.g., CUDA Graphs), and 321.37 MiB is reserved by PyTorch but "
      "unallocated.");
  EXPECT_DOUBLE_EQ(mib(oom.free), 321.31);
  EXPECT_DOUBLE_EQ(mib(oom.in_use), 37.46 * 1024);
  EXPECT_DOUBLE_EQ(mib(oom.allocated), 36.04 * 1024);
  EXPECT_DOUBLE_EQ(mib(oom.unallocated), 321.37);
  EXPECT_NEAR(mib(oom.outside()), 2.8223 * 1024, 1);
  EXPECT_FALSE(oom.fragmentation());
  EXPECT_TRUE(oom.enough_in_pieces());
}

TEST(OomText, HipUnderALimit) {
  const OutOfMemory oom = read(
      "HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 255.98 GiB of which 244.65 "
      "GiB is free. 1.05 GiB allowed; Of the allocated memory 1017.01 MiB is allocated by PyTorch, and 54.99 "
      "MiB is reserved by PyTorch but unallocated.");
  EXPECT_DOUBLE_EQ(mib(oom.free), 244.65 * 1024);
  EXPECT_DOUBLE_EQ(mib(oom.allocated), 1017.01);
  EXPECT_TRUE(oom.limited());
  EXPECT_FALSE(oom.shortage());
  EXPECT_FALSE(oom.fragmentation());
}

TEST(OomText, XpuDoesNotSayWhatIsFree) {
  const OutOfMemory oom = read(
      "XPU out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 48.00 GiB. Of the allocated "
      "memory 45.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.");
  EXPECT_DOUBLE_EQ(mib(oom.capacity), 48 * 1024);
  EXPECT_FALSE(oom.free);
  EXPECT_FALSE(oom.shortage());
  EXPECT_FALSE(oom.limited());
}

TEST(OomText, LastOfALogAndBrokenLines) {
  const OutOfMemory oom = read(
      "CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 31.75 GiB total capacity; 1.00 GiB already "
      "allocated; 2.00 MiB free; 3.00 GiB reserved in total by PyTorch)\nretrying\n"
      "RuntimeError: CUDA out of memory. Tried to allocate 786.00\n  MiB (GPU 0; 31.75 GiB total\n capacity)\n");
  EXPECT_DOUBLE_EQ(mib(oom.requested), 786);
  EXPECT_DOUBLE_EQ(mib(oom.capacity), 31.75 * 1024);
  EXPECT_FALSE(oom.free);
  EXPECT_FALSE(oom.allocated);
}

TEST(OomText, DriverThatLendsMoreThanThereIs) {
  const OutOfMemory oom = read(
      "Tried to allocate 10.73 GiB (GPU 0; 8.00 GiB total capacity; 17.20 GiB already allocated; 0 bytes free; "
      "19.15 GiB reserved in total by PyTorch)");
  EXPECT_DOUBLE_EQ(oom.allocated->raw(), 17.20 * kGiB);
  EXPECT_FALSE(oom.outside());
}

TEST(OomText, NoMessage) {
  EXPECT_EQ(read_out_of_memory("all is well", "log").error().code, "not_an_oom");
  EXPECT_EQ(read_out_of_memory("", "log").error().where, "log");
  EXPECT_EQ(read_out_of_memory("Tried to allocate nothing", "log").error().code, "bad_value");
  EXPECT_EQ(read_out_of_memory("Tried to allocate -2.00 GiB", "log").error().code, "bad_value");
  EXPECT_EQ(read_out_of_memory("Tried to allocate 1e300 GiB", "log").error().code, "bad_value");
  EXPECT_EQ(read_out_of_memory("Tried to allocate ", "log").error().code, "bad_value");
}

}  // namespace
}  // namespace shardplan
