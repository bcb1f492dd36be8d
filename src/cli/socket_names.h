// What a socket of another process is connected to, as the kernel's tables have it.
//
//   describe_socket(pid, 4711)     // "TCP 10.0.0.2:40112 to 10.0.0.1:29500"; "socket:[4711]"
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace stepscope::cli {

// `number` is the one in "socket:[4711]", which is also given where the tables do not have it. They
// are those of the process's own network, in a container too.
std::string describe_socket(pid_t pid, uint64_t number);

}  // namespace stepscope::cli
