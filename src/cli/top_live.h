// The two ways in which `stepscope top` shows a session: on a terminal, until a key ends it, and as
// plain text, one snapshot after the other.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "cli/top_session.h"
#include "cli/top_settings.h"

namespace stepscope::cli {

// Until the user quits, asks us to stop, or sampling has ended. The terminal is as before then.
Status show_live(TopSession& session, TopSettings settings, int64_t interval_ns);

// A snapshot each interval, on standard output; only one where `is_once`.
Status print_snapshots(TopSession& session, TopSettings settings, int64_t interval_ns,
                       bool is_once);

// What the session knows by now.
Status print_snapshot(const TopSession& session, TopSettings settings);

}  // namespace stepscope::cli
