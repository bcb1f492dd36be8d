#include <malloc.h>

#include "cli/command_line.h"

int main(int argc, char** argv) {
  // Columns of megabytes come and go while a trace is loaded: memory that was touched once is kept
  // for the next, since fresh pages cost the kernel more than the work on them does.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 16 << 20);
  return stepscope::cli::run_command_line(argc, argv);
}
