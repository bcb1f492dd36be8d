// stepscope ranks: all ranks of a job together.
#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <memory>
#include <string>

#include "advise/job_view.h"
#include "cli/commands.h"
#include "cli/job_views.h"
#include "cli/row_options.h"

namespace stepscope::cli {
namespace {

constexpr const char* kRanksCommand = "ranks";

constexpr const char* kRanksDescription =
    R"(Print what the ranks of a distributed training say together: who is slow and why, who waits for
whom, what the collectives cost. Each trace is reduced to a summary and freed: memory does not
grow with the number of ranks. Clocks are aligned by collectives.

Examples:
  stepscope ranks traces/                                  a folder with a trace of each rank
  stepscope ranks rank0.json.gz rank1.sscope               any mix of formats
  stepscope ranks traces/ --view findings                  what is wrong, and what it costs
  stepscope ranks traces/ --sort -wait_ns --limit 10       who waits most
  stepscope ranks traces/ --view collectives --by rank -f csv > collectives.csv
  stepscope ranks abfs://traces/job7 --cluster dask://scheduler:8786   on a cluster, any store)";

constexpr const char* kRanksFooter = R"(Views:
  ranks        a row per rank: computing, communicating, overlap, waiting, idle; straggler, cause
  collectives  by type, group and size: calls, waiting, skew, bus bandwidth (--by rank)
  groups       process groups: data, tensor, pipeline parallel, where the traces tell
  findings     straggler-rank, load-imbalance, communication-bound, poor-overlap

The rank of a trace is what it says itself (distributedInfo), else the number after "rank" in the
name of its file.)";

}  // namespace

void add_ranks(CLI::App& app, Action& action, const std::string& called_as) {
  const auto request = std::make_shared<JobRequest>();
  request->command = kRanksCommand;
  request->called_as = called_as;
  CLI::App* command =
      app.add_subcommand(kRanksCommand, "Print what all ranks of a job say together");
  command->description(kRanksDescription);
  command
      ->add_option("PATH", request->paths,
                   "Traces of ranks, or folders with them; with --cluster also URLs")
      ->required()
      ->type_name("");
  command
      ->add_option("--view", request->views,
                   "What to print, see below; ranks if not given; may be given several times")
      ->check(CLI::IsMember(job_view_names()))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME");
  add_row_options(*command, request->table, "50");
  command->add_option("--by", request->table.by, "How to group: rank (collectives)")
      ->check(CLI::IsMember({std::string(kByRank)}))
      ->type_name("WHAT");
  command
      ->add_option("--world-size", request->world_size,
                   "How many ranks the job has; as the traces tell if not given")
      ->check(CLI::Range(1, 10'000'000))
      ->type_name("N");
  command
      ->add_option("--workers", request->workers,
                   "Traces that are read at the same time; one per core if not given")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command
      ->add_option("--cluster", request->cluster,
                   "Read the traces on the workers of this Dask cluster (stepscope[dask])")
      ->type_name("dask://HOST:PORT");
  command
      ->add_option("--python", request->python,
                   "The Python that speaks to the cluster; the one beside this command if not "
                   "given")
      ->type_name("PYTHON");
  add_table_output_options(*command, request->output);
  command->footer(kRanksFooter);
  command->callback([request, &action] {
    action = [request] {
      if (request->views.empty()) request->views.emplace_back("ranks");
      return print_job_views(*request);
    };
  });
}

}  // namespace stepscope::cli
