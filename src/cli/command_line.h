// The command `stepscope`: finds the subcommand, prints help and usage errors. Each subcommand is
// one file, listed in commands.h.
//
// Exit codes: 0 fine; 1 the input or the system is at fault, said in one line
// `stepscope: <what>: <why>`; 2 wrong usage.
#pragma once

namespace stepscope::cli {

int run_command_line(int argc, char** argv);

}  // namespace stepscope::cli
