#include "collect/recorder/guarded_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <string_view>
#include <thread>

#include "collect/recorder/recording_for_tests.h"

namespace stepscope {
namespace {

std::span<const uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::unique_ptr<GuardedFile> make_file(const TemporaryFolder& folder, const std::string& name) {
  bool exists = true;
  Result<std::unique_ptr<GuardedFile>> file =
      GuardedFile::create(-1, folder.path(), name, false, &exists);
  EXPECT_TRUE(file.ok()) << file.status().message();
  EXPECT_FALSE(exists);
  return file ? std::move(*file) : nullptr;
}

// The descriptor of the file at `path` in this process, or -1.
int find_descriptor(const std::string& path) {
  struct stat wanted {};
  if (::stat(path.c_str(), &wanted) != 0) return -1;
  for (int i = 0; i < 1024; ++i) {
    struct stat info {};
    if (::fstat(i, &info) == 0 && info.st_dev == wanted.st_dev && info.st_ino == wanted.st_ino) {
      return i;
    }
  }
  return -1;
}

TEST(GuardedFile, AppendsAndCutsBack) {
  const TemporaryFolder folder;
  const auto file = make_file(folder, "a");
  EXPECT_TRUE(file->append(as_bytes("hello ")).ok());
  EXPECT_TRUE(file->append(as_bytes("world")).ok());
  EXPECT_EQ(file->size(), 11u);
  EXPECT_TRUE(file->truncate(100).ok()) << "nothing to cut";
  EXPECT_EQ(file->size(), 11u);
  EXPECT_TRUE(file->truncate(5).ok());
  EXPECT_EQ(file->size(), 5u);
  EXPECT_TRUE(file->append(as_bytes("!")).ok());
  EXPECT_EQ(read(folder.path() + "/a"), "hello!");
}

TEST(GuardedFile, DoesNotTakeAFileThatIsThere) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/a") << "mine";
  bool exists = false;
  EXPECT_FALSE(GuardedFile::create(-1, folder.path(), "a", false, &exists).ok());
  EXPECT_TRUE(exists);
  EXPECT_EQ(read(folder.path() + "/a"), "mine");
  EXPECT_FALSE(GuardedFile::create(-1, folder.path() + "/none", "a", false, &exists).ok());
  EXPECT_FALSE(exists);
}

TEST(GuardedFile, WritesOnWhenItsDescriptorWasClosed) {
  const TemporaryFolder folder;
  const auto file = make_file(folder, "a");
  EXPECT_TRUE(file->append(as_bytes("one ")).ok());
  ASSERT_EQ(::close(find_descriptor(folder.path() + "/a")), 0);
  EXPECT_TRUE(file->append(as_bytes("two ")).ok());
  ASSERT_EQ(::close(find_descriptor(folder.path() + "/a")), 0);
  EXPECT_TRUE(file->truncate(6).ok());
  EXPECT_EQ(read(folder.path() + "/a"), "one tw");
  EXPECT_TRUE(file->has_name());
}

TEST(GuardedFile, NeverWritesIntoAFileThatGotItsDescriptor) {
  const TemporaryFolder folder;
  const std::string other = folder.path() + "/other";
  auto file = make_file(folder, "a");
  EXPECT_TRUE(file->append(as_bytes("one ")).ok());
  const int number = find_descriptor(folder.path() + "/a");
  const int opened = ::open(other.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(::dup2(opened, number), number);
  ::close(opened);
  ASSERT_EQ(::write(number, "theirs", 6), 6);
  EXPECT_TRUE(file->append(as_bytes("two")).ok());
  EXPECT_TRUE(file->truncate(5).ok());
  EXPECT_EQ(read(other), "theirs");
  EXPECT_EQ(read(folder.path() + "/a"), "one t");

  // Nor closes it: here it still has the number when the file goes.
  const int reopened = find_descriptor(folder.path() + "/a");
  ASSERT_EQ(::dup2(number, reopened), reopened);
  file.reset();
  EXPECT_EQ(::fcntl(reopened, F_GETFD), 0) << "is open still";
  ::close(reopened);
  ::close(number);
}

TEST(GuardedFile, AFileThatTookItsNameIsAnError) {
  const TemporaryFolder folder;
  const auto file = make_file(folder, "a");
  ::close(find_descriptor(folder.path() + "/a"));
  // The old one is kept by another name, so that the system can not give its number to the new.
  std::filesystem::rename(folder.path() + "/a", folder.path() + "/b");
  std::ofstream(folder.path() + "/a") << "another";
  const Status status = file->append(as_bytes("x"));
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("another file"), std::string::npos) << status.message();
  EXPECT_FALSE(file->append(as_bytes("x")).ok()) << "and stays one";
  EXPECT_EQ(read(folder.path() + "/a"), "another");
  std::filesystem::remove(folder.path() + "/a");
  EXPECT_FALSE(file->append(as_bytes("x")).ok());
  std::filesystem::rename(folder.path() + "/b", folder.path() + "/a");
  EXPECT_TRUE(file->append(as_bytes("x")).ok()) << "it is back";
  EXPECT_EQ(read(folder.path() + "/a"), "x");
}

TEST(GuardedFile, KnowsWhenItHasNoNameAnyMore) {
  const TemporaryFolder folder;
  const auto file = make_file(folder, "a");
  EXPECT_TRUE(file->has_name());
  std::filesystem::remove(folder.path() + "/a");
  EXPECT_FALSE(file->has_name());
  EXPECT_TRUE(file->append(as_bytes("x")).ok()) << "the descriptor is good still";
}

// What a thread with descriptors of its own found.
struct Found {
  bool is_private = false, sees_pipe = true;
  int first_descriptor = -1;
  std::string written;
};

Found look_from_private_thread(const std::string& folder, int descriptor_of_program) {
  Found found;
  found.is_private = take_private_descriptors();
  if (!found.is_private) return found;
  found.sees_pipe = ::fcntl(descriptor_of_program, F_GETFD) >= 0;
  found.first_descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  bool exists = false;
  const auto file = GuardedFile::create(found.first_descriptor, "/not/used", "a", true, &exists);
  if (file && (*file)->append(as_bytes("private")).ok()) found.written = read(folder + "/a");
  return found;
}

TEST(PrivateDescriptors, OfOneThreadAreNoOneElses) {
  const TemporaryFolder folder;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::promise<Found> looked;
  std::promise<void> is_over;
  std::thread thread([&] {
    looked.set_value(look_from_private_thread(folder.path(), ends[1]));
    is_over.get_future().wait();
  });
  const Found found = looked.get_future().get();
  // The main thread's are untouched ...
  EXPECT_EQ(::write(ends[1], "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), 1);
  // ... and the other thread, which was there when they were made, does not hold them open.
  ::close(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  const ssize_t at_end = ::read(ends[0], &byte, 1);
  is_over.set_value();
  thread.join();
  ::close(ends[0]);
  if (!found.is_private) GTEST_SKIP() << "the system has no private descriptors";
  EXPECT_EQ(at_end, 0) << "the end of the pipe, not: nothing there yet";
  EXPECT_FALSE(found.sees_pipe);
  EXPECT_EQ(found.written, "private");
}

TEST(PrivateDescriptors, WhatIsPrintedThereReachesNoFileOfTheRecording) {
  const TemporaryFolder folder;
  Found found;
  bool prints = false;
  std::thread([&] {
    found = look_from_private_thread(folder.path(), 0);
    for (const int standard : {0, 1, 2}) prints |= ::write(standard, "x", 1) >= 0;
  }).join();
  if (!found.is_private) GTEST_SKIP() << "the system has no private descriptors";
  EXPECT_GT(found.first_descriptor, 2);
  EXPECT_FALSE(prints);
  EXPECT_EQ(read(folder.path() + "/a"), "private");
}

}  // namespace
}  // namespace stepscope
