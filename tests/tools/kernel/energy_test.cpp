// SPDX-License-Identifier: Apache-2.0
// Counters of energy as a folder has them, and what of them is believed.
#include "tools/kernel/energy.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "engine/vocabulary/platform/process.h"
#include "tools/kernel/measure.h"

namespace quern::tools::lab {
namespace {

namespace fs = std::filesystem;

// A folder such as /sys/class/powercap.
class KernelEnergy : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = platform::make_private_folder((fs::temp_directory_path() / "quern-energy-").string());
    ASSERT_FALSE(folder_.empty());
  }
  void TearDown() override { fs::remove_all(folder_); }

  void zone(const std::string& zone, const std::string& name, const std::string& uj,
            const std::string& range = "1000000") const {
    fs::create_directories(folder_ / zone);
    write(zone, "name", name);
    write(zone, "energy_uj", uj);
    write(zone, "max_energy_range_uj", range);
  }
  void write(const std::string& zone, const char* file, const std::string& text) const {
    std::ofstream(folder_ / zone / file) << text << "\n";
  }
  bool can_read() const { return EnergyMeter(folder_.string()).can_read(); }

  fs::path folder_;
};

TEST_F(KernelEnergy, AllPackagesCountAndTheirPartsDoNot) {
  zone("intel-rapl:0", "package-0", "100");
  zone("intel-rapl:1", "package-1", "900000");
  zone("intel-rapl:0:0", "core", "50");
  zone("intel-rapl:2", "psys", "77");
  zone("intel-rapl-mmio:0", "package-0", "100");
  const EnergyMeter meter(folder_.string());
  ASSERT_TRUE(meter.can_read());
  const std::vector<double> before = meter.read();
  ASSERT_EQ(before.size(), 2U);
  write("intel-rapl:0", "energy_uj", "600");
  write("intel-rapl:1", "energy_uj", "20000");  // past the end of its range
  EXPECT_EQ(meter.between(before, meter.read()), 500 + 120000);
}

TEST_F(KernelEnergy, WhatDoesNotMoveOrCannotBeReadTellsNothing) {
  zone("intel-rapl:0", "package-0", "100");
  const EnergyMeter meter(folder_.string());
  const std::vector<double> before = meter.read();
  EXPECT_EQ(meter.between(before, meter.read()), std::nullopt);
  write("intel-rapl:0", "energy_uj", "1000001");  // above the range
  EXPECT_TRUE(meter.read().empty());
  write("intel-rapl:0", "energy_uj", "many");
  EXPECT_EQ(meter.between(before, meter.read()), std::nullopt);
}

TEST_F(KernelEnergy, APartOfThePackagesIsNotTakenForAll) {
  EXPECT_FALSE(can_read());
  zone("intel-rapl:0", "package-0", "100");
  EXPECT_TRUE(can_read());
  zone("intel-rapl:1", "package-1", "-5");
  EXPECT_FALSE(can_read());
  for (const char* range : {"0", "-1", "nan", "inf", "1e99", ""}) {
    zone("intel-rapl:1", "package-1", "0", range);
    EXPECT_FALSE(can_read()) << range;
  }
  zone("intel-rapl:1", "package-1", "0", "1");
  EXPECT_TRUE(can_read());
  EXPECT_FALSE(EnergyMeter((folder_ / "none").string()).can_read());
}

// Each of its calls takes a hundred microjoules.
class Glowing final : public Contender {
 public:
  Glowing(const fs::path& counter, bool is_on_host) : counter_(counter) {
    info_.is_on_host = is_on_host;
  }
  Result<Sample> call() override { return Sample{5, 5}; }
  Result<std::int64_t> repeat(double) override {
    std::ofstream(counter_) << 100 * calls << "\n";
    if (fails) return Status(Code::internal, "wrong answer");
    return calls;
  }
  Status check_idle() override { return {}; }

  static constexpr std::int64_t calls = 7;
  bool fails = false;

 private:
  fs::path counter_;
};

TEST_F(KernelEnergy, IsThatOfACall) {
  zone("intel-rapl:0", "package-0", "0");
  const EnergyMeter meter(folder_.string());
  const auto measured = [&](bool is_on_host, bool fails) {
    write("intel-rapl:0", "energy_uj", "0");
    auto glowing = std::make_unique<Glowing>(folder_ / "intel-rapl:0" / "energy_uj", is_on_host);
    glowing->fails = fails;
    std::vector<std::unique_ptr<Contender>> contenders;
    contenders.push_back(std::move(glowing));
    return measure(contenders, {.time_s = 0.01, .energy = &meter})[0];
  };
  EXPECT_EQ(measured(true, false).energy_uj, 100);
  EXPECT_EQ(measured(false, false).energy_uj, std::nullopt);
  const Measured wrong = measured(true, true);
  EXPECT_EQ(wrong.energy_uj, std::nullopt);
  EXPECT_EQ(wrong.refused, "wrong answer");
}

}  // namespace
}  // namespace quern::tools::lab
