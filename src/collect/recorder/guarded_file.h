// GuardedFile: a ByteSink that never writes into a file that is not its own, whatever the program
// around it does with descriptors.
//
// The drain thread has a table of descriptors of its own where the system grants it one
// (take_private_descriptors()): the program can neither see nor close what is in it. Where it does
// not, a program that closes all descriptors (a daemon) may reuse our number for a file of its own:
// then each write looks first whether the number still stands for our file, and opens it again by
// its name where it does not.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/byte_sink.h"

namespace stepscope {

// Gives the calling thread an empty table of descriptors, of which nothing is shared with the other
// threads: it holds no pipe or socket of the program open, and prints nowhere. False where the
// system refuses; then nothing has changed. Root and working directory become its own too, where
// the system lets them: the program's chroot() and chdir() move our paths no more.
bool take_private_descriptors();

class GuardedFile final : public ByteSink {
 public:
  // A new file; fails where there is one of that name ("exists" is then true).
  static Result<std::unique_ptr<GuardedFile>> create(int folder_descriptor,
                                                     const std::string& folder,
                                                     const std::string& name, bool is_private,
                                                     bool* exists);
  GuardedFile(const GuardedFile&) = delete;
  GuardedFile& operator=(const GuardedFile&) = delete;
  ~GuardedFile() override;

  Status append(std::span<const uint8_t> bytes) override;
  Status truncate(uint64_t size) override;
  uint64_t size() const override { return size_; }

  // Whether the file still has a name: false once it or its folder was removed.
  bool has_name() const;

 private:
  GuardedFile() = default;
  bool is_ours() const;
  Status check();
  Status fail(const char* what) const;

  std::string path_;
  int descriptor_ = -1;
  bool is_private_ = false;
  uint64_t size_ = 0;
  uint64_t device_ = 0;
  uint64_t inode_ = 0;
};

}  // namespace stepscope
