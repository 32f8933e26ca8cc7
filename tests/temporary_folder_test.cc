// Temporary folders: their ends, and those of killed processes.
#include "system/temporary_folder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "scratch.h"
#include "system/output_file.h"

namespace timerbench {
namespace {

class TemporaryFolderTest : public ::testing::Test {
 protected:
  TemporaryFolderTest() { setenv("TMPDIR", scratch_.path().c_str(), 1); }
  ~TemporaryFolderTest() override { unsetenv("TMPDIR"); }

  const Scratch scratch_;
};

TEST_F(TemporaryFolderTest, IsRemovedWithWhatIsInIt) {
  std::optional<TemporaryFolder> folder(std::in_place, "name");
  std::filesystem::create_directories(*folder / "a/b");
  EXPECT_EQ(scratch_.names().size(), 1U);
  folder.reset();
  EXPECT_TRUE(scratch_.names().empty());
}

TEST_F(TemporaryFolderTest, FilesThatAKilledWriterHasLeftAreRemovedAfterADay) {
  namespace fs = std::filesystem;
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(25);
  for (const char* name : {"a.npy.7.tmp", "b.npy"}) {
    scratch_.write(name, "");
    fs::last_write_time(scratch_.path(name), old);
  }
  scratch_.write("c.npy.8.tmp", "");
  remove_abandoned(scratch_.path());
  EXPECT_EQ(scratch_.names(), (std::set<std::string>{"b.npy", "c.npy.8.tmp"}));
  remove_abandoned(scratch_.path("missing"));
}

TEST_F(TemporaryFolderTest, RemovesWhatAKilledProcessHasLeft) {
  const TemporaryFolder of_a_living_process("name");
  std::filesystem::create_directory(scratch_.path("name"));
  scratch_.write("name-file", "");
  const pid_t process = fork();
  if (process == 0) {
    const TemporaryFolder folder("name");
    std::filesystem::create_directory(folder / "full");
    raise(SIGKILL);
  }
  waitpid(process, nullptr, 0);
  EXPECT_EQ(scratch_.names().size(), 4U);
  const TemporaryFolder other("other");
  EXPECT_EQ(scratch_.names().size(), 5U);
  {
    const TemporaryFolder next("name");
    EXPECT_EQ(scratch_.names().size(), 5U);  // instead of the one that was left
  }
  EXPECT_EQ(scratch_.names(),
            (std::set<std::string>{"name", "name-file", of_a_living_process.path().filename(),
                                   other.path().filename()}));
}

TEST_F(TemporaryFolderTest, SaysThatThereIsNoPlaceForIt) {
  setenv("TMPDIR", "/no/such/folder", 1);
  EXPECT_EQ(error_of([] { TemporaryFolder("name"); }),
            "TMPDIR is not a folder: No such file or directory");
}

}  // namespace
}  // namespace timerbench
