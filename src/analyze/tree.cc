// The view `tree`: who called what, merged by the path of names over all host tracks (or those of
// --track), heaviest first; from samples where its functions come from them. With --heaviest, only
// the one path that holds most of the time: at each level the heaviest child, as long as it has
// half of its parent's time.
#include "analyze/slice_filter.h"
#include "analyze/text_value.h"
#include "analyze/views.h"
#include "base/saturating.h"
#include "trace/call_tree.h"

#include <cstdint>
#include <string>
#include <vector>

namespace stepscope {
namespace {

constexpr int kDefaultDepth = 6;

// Columns of the tree and of its heaviest path.
class TreeTable {
 public:
  TreeTable(const CallTree& tree, Table& table)
      : tree_(tree),
        name_(table.add("name", ColumnType::kString)),
        depth_(table.add("depth", ColumnType::kInt)),
        calls_(table.add("calls", ColumnType::kInt, Unit::kCount)),
        total_(table.add("total_ns", ColumnType::kInt, Unit::kNs)),
        self_(table.add("self_ns", ColumnType::kInt, Unit::kNs)),
        fraction_(table.add("fraction", ColumnType::kDouble, Unit::kFraction)) {}

  void add(const CallTree::Node& node) {
    name_.push(tree_.function(node).text);
    depth_.push(int64_t{node.depth});
    calls_.push(static_cast<int64_t>(node.calls));
    total_.push(node.total_ns);
    self_.push(node.self_ns());
    if (tree_.total_ns() > 0) {
      fraction_.push(share(node.total_ns));
    } else {
      fraction_.push_null();
    }
  }

  double share(int64_t ns) const {
    return static_cast<double>(ns) / static_cast<double>(tree_.total_ns());
  }

 private:
  const CallTree& tree_;
  Column &name_, &depth_, &calls_, &total_, &self_, &fraction_;
};

void fill_heaviest(const CallTree& tree, Table& table) {
  TreeTable out(tree, table);
  Column& others = table.add("others_ns", ColumnType::kInt, Unit::kNs);
  const std::vector<CallTree::Node>& nodes = tree.nodes();
  std::vector<uint32_t> heaviest(nodes.size(), CallTree::kRoot);  // child, by parent
  for (uint32_t id = 1; id < nodes.size(); ++id) {
    uint32_t& child = heaviest[nodes[id].parent];
    if (child == CallTree::kRoot || nodes[id].total_ns > nodes[child].total_ns) child = id;
  }
  uint32_t at = heaviest[CallTree::kRoot];
  while (at != CallTree::kRoot) {
    const uint32_t child = heaviest[at];
    const int64_t child_ns = child != CallTree::kRoot ? nodes[child].total_ns : 0;
    const bool goes_on =
        child_ns > 0 && child_ns >= subtract_saturating(nodes[at].total_ns, child_ns);
    out.add(nodes[at]);
    others.push(subtract_saturating(nodes[at].children_ns, goes_on ? child_ns : 0));
    if (!goes_on) break;
    at = child;
  }
  if (at == CallTree::kRoot || tree.total_ns() <= 0) return;
  std::string note = "the path ends at " + tree.function(nodes[at]).text + ": it has " +
                     text_of_fraction(out.share(nodes[at].total_ns)) + " of the time, " +
                     text_of_fraction(out.share(nodes[at].self_ns())) + " itself";
  if (const uint32_t child = heaviest[at]; child != CallTree::kRoot) {
    note += "; of what it calls, " + tree.function(nodes[child]).text + " takes most, " +
            text_of_fraction(out.share(nodes[child].total_ns));
  }
  table.notes.push_back(std::move(note));
}

uint32_t max_levels_of(const TableOptions& options) {
  const int default_depth = options.heaviest ? 0 : kDefaultDepth;
  const int depth = options.depth < 0 ? default_depth : options.depth;
  return depth == 0 ? UINT32_MAX : static_cast<uint32_t>(depth);
}

}  // namespace

Result<Table> tree(const Trace& trace, const TableOptions& options) {
  Result<SliceFilter> filter = SliceFilter::make(trace, options);
  if (!filter) return filter.status();
  const CallTree calls = CallTree::build(trace, filter->scope(), max_levels_of(options));
  Table table("tree");
  if (calls.source() == CallTree::Source::kSamples) {
    std::string note = "from samples: a call is a sample that saw the function, times are ";
    note += calls.is_cpu_time() ? "estimates of CPU time (--weight wall counts waiting too)"
                                : "estimates";
    table.notes.push_back(std::move(note));
  }
  if (options.heaviest) {
    fill_heaviest(calls, table);
  } else {
    TreeTable out(calls, table);
    for (const uint32_t id : calls.heaviest_first()) out.add(calls.nodes()[id]);
  }
  if (calls.left_out_streams()) {
    table.notes.push_back(
        "device streams are left out (the view kernels has them, or --track stream)");
  }
  if (table.rows() == 0) {
    table.notes.push_back(
        trace.call_edges().callee.empty()
            ? "no slices or samples to make a tree of"
            : "this trace has calls without a timeline: the view functions has them");
  }
  return table;
}

}  // namespace stepscope
