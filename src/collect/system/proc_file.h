// ProcFile: a file of /proc that is kept open and read again and again from its begin, which costs
// half of opening it each time, and works on where the program changes its root.
//
//   ProcFolder proc;
//   ProcFile stat(proc, "stat");
//   std::string_view text = stat.read(buffer);   // empty where it can not be read
//
// The recorder's thread has descriptors of its own where the system grants them. Where it does not,
// the program may close ours and take their numbers: so each use looks first whether the number
// still stands for our file, opens it again where it does not, and never closes another's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

// A descriptor, and what it stood for when it was opened.
class OwnDescriptor {
 public:
  OwnDescriptor() = default;
  OwnDescriptor(OwnDescriptor&& other) noexcept;
  OwnDescriptor& operator=(OwnDescriptor&& other) noexcept;
  ~OwnDescriptor() { close(); }

  // Takes it over; -1 is fine.
  void reset(int descriptor);
  void close();
  bool is_ours() const;
  int get() const { return descriptor_; }

 private:
  int descriptor_ = -1;
  uint64_t device_ = 0;
  uint64_t inode_ = 0;
};

class ProcFolder {
 public:
  ProcFolder();
  // -1: none. Paths are relative to /proc.
  int open(const char* path, int flags);
  // The text of a file that is not kept open.
  std::string_view read_once(const char* path, std::span<char> buffer);
  // Appends those names in a folder that are numbers: processes, or threads of one.
  bool list_numbers(const char* path, std::span<char> buffer, std::vector<int32_t>& numbers);

 private:
  OwnDescriptor folder_;
};

class ProcFile {
 public:
  ProcFile(ProcFolder& folder, std::string path);
  bool is_open() const { return file_.get() >= 0; }
  // Empty where it can not be read, as where its process is gone. What does not fit is cut off.
  std::string_view read(std::span<char> buffer);

 private:
  ProcFolder* folder_;
  std::string path_;
  OwnDescriptor file_;
};

}  // namespace stepscope
