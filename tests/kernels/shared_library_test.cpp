// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/shared_library.h"

#include <string>

#include <gtest/gtest.h>

#include "kernels/contract/machine.h"
#include "tests/expect.h"

namespace quern {
namespace {

TEST(SharedLibrary, IsTheFirstThatThereIs) {
  const SharedLibrary found = open_first({"libquern_no_such_thing.so.9", "libm.so.6", "libc.so.6"},
                                         platform::Symbols::local);
  ASSERT_NE(found.handle, nullptr) << found.why_not.data();
  EXPECT_STREQ(found.name.data(), "libm.so.6");
  EXPECT_CONTAINS(std::string(found.path.data()), "/libm.so.6");
  EXPECT_STREQ(found.why_not.data(), "");
  EXPECT_NE(found.find("cos"), nullptr);
  EXPECT_EQ(found.find("quern_no_such_function"), nullptr);
}

TEST(SharedLibrary, SaysOfEachWhyItIsNotOpen) {
  SharedLibrary none = open_first(
      {"libquern_no_such_thing.so.9", "libquern_no_such_thing.so.9", "libquern_nor_this.so"},
      platform::Symbols::local);
  EXPECT_EQ(none.handle, nullptr);
  EXPECT_EQ(none.find("cos"), nullptr);
  const std::string why = none.why_not.data();
  EXPECT_CONTAINS(why, "libquern_nor_this.so: cannot open");
  const std::string first = "libquern_no_such_thing.so.9";
  ASSERT_NE(why.find(first), why.npos);
  EXPECT_EQ(why.find(first, why.find(first) + 1), why.npos) << why;  // tried once
}

TEST(SharedLibrary, IsNoneOnceItIsRefused) {
  SharedLibrary library = open_first({"libm.so.6"}, platform::Symbols::local);
  ASSERT_NE(library.handle, nullptr);
  refuse(library, "it is of another generation");
  EXPECT_EQ(library.handle, nullptr);
  EXPECT_STREQ(library.why_not.data(), "libm.so.6: it is of another generation");
}

TEST(SharedLibrary, ThisProgramMayOpenSome) {
  EXPECT_FALSE(platform::is_static_program());
}

TEST(KernelMachine, NamesTheFileOfOneDnnOrSaysWhyThereIsNone) {
  const KernelMachine machine = kernel_machine();
  EXPECT_EQ(machine.onednn_file.empty(), machine.onednn == "none");
  EXPECT_NE(machine.onednn_file.empty(), machine.onednn_absence.empty());
}

}  // namespace
}  // namespace quern
