#include "export/callgrind.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/saturating.h"
#include "export/json_text.h"
#include "export/output_file.h"
#include "export/stack_export.h"
#include "export/utf8_text.h"

namespace stepscope {
namespace {

struct Edge {
  uint32_t caller = 0;
  uint32_t callee = 0;
  uint64_t calls = 0;
  int64_t total_ns = 0;
  uint32_t open = 0;
};

// Functions with their own times, and the edges between them.
struct Graph {
  std::vector<CallTree::Function> functions;
  std::vector<int64_t> self_ns;  // by function
  std::vector<uint8_t> is_used;  // by function
  std::vector<Edge> edges;       // by caller
  std::unordered_map<uint64_t, uint32_t> edge_of;
  int64_t all_ns = 0;

  explicit Graph(std::vector<CallTree::Function> all)
      : functions(std::move(all)), self_ns(functions.size()), is_used(functions.size()) {}

  uint32_t edge(uint32_t caller, uint32_t callee) {
    const uint64_t key = uint64_t{caller} << 32 | callee;
    const auto [it, is_new] = edge_of.emplace(key, static_cast<uint32_t>(edges.size()));
    if (is_new) edges.push_back({caller, callee});
    return it->second;
  }

  void add_self(uint32_t function, int64_t ns) {
    is_used[function] = 1;
    self_ns[function] = add_saturating(self_ns[function], std::max<int64_t>(0, ns));
    all_ns = add_saturating(all_ns, std::max<int64_t>(0, ns));
  }
};

Graph make_graph(const CallTree& tree) {
  constexpr uint32_t kNoEdge = UINT32_MAX;
  Graph graph(tree.functions());
  std::vector<std::pair<uint32_t, uint32_t>> path;  // function, and the edge that led to it
  for (const uint32_t id : tree.heaviest_first()) {
    const CallTree::Node& node = tree.nodes()[id];
    while (path.size() > node.depth) {
      if (path.back().second != kNoEdge) --graph.edges[path.back().second].open;
      path.pop_back();
    }
    graph.add_self(node.function, node.self_ns());
    uint32_t edge_id = kNoEdge;
    if (!path.empty()) {
      edge_id = graph.edge(path.back().first, node.function);
      Edge& edge = graph.edges[edge_id];
      edge.calls += node.calls;
      if (edge.open++ == 0) edge.total_ns = add_saturating(edge.total_ns, node.total_ns);
    }
    path.emplace_back(node.function, edge_id);
  }
  return graph;
}

Graph make_graph_of_call_edges(const Trace& trace) {
  std::vector<CallTree::Function> functions;
  for (const Frame& frame : trace.frames()) {
    const std::string name(trace.string(frame.name));
    functions.push_back({name, name, std::string(trace.string(frame.file)), frame.line});
  }
  Graph graph(std::move(functions));
  const CallEdgeColumns& rows = trace.call_edges();
  const auto count = static_cast<uint32_t>(graph.functions.size());
  std::vector<uint8_t> has_own(count, 0);  // a row of its own, without a caller
  for (size_t i = 0; i < rows.callee.size(); ++i) {
    if (rows.caller[i] == kNoFrame && index(rows.callee[i]) < count) {
      has_own[index(rows.callee[i])] = 1;
    }
  }
  for (size_t i = 0; i < rows.callee.size(); ++i) {
    const uint32_t callee = index(rows.callee[i]);
    if (callee >= count) continue;
    const bool is_own = rows.caller[i] == kNoFrame;
    if (is_own || has_own[callee] == 0) graph.add_self(callee, rows.self_ns[i]);
    if (is_own || index(rows.caller[i]) >= count) continue;
    graph.is_used[index(rows.caller[i])] = 1;
    Edge& edge = graph.edges[graph.edge(index(rows.caller[i]), callee)];
    edge.calls += rows.calls[i];
    edge.total_ns = add_saturating(edge.total_ns, rows.total_ns[i]);
  }
  return graph;
}

class CallgrindWriter {
 public:
  CallgrindWriter(const Graph& graph, OutputFile& out) : graph_(graph), out_(out) {}

  void write(std::string_view source, WeightUnit unit) {
    text_ = "# callgrind format\nversion: 1\ncreator: stepscope " STEPSCOPE_VERSION "\ncmd: ";
    append_line(text_, source);
    text_ += "\npositions: line\nevents: ";
    text_ += unit == WeightUnit::kNs ? "ns" : unit == WeightUnit::kBytes ? "bytes" : "weight";
    text_ += "\nsummary: ";
    json::append_int(text_, graph_.all_ns);
    text_ += '\n';
    number_files();
    is_named_.resize(graph_.functions.size());
    std::vector<uint32_t> by_caller(graph_.edges.size());
    for (uint32_t i = 0; i < by_caller.size(); ++i) by_caller[i] = i;
    std::stable_sort(by_caller.begin(), by_caller.end(), [&](uint32_t a, uint32_t b) {
      return graph_.edges[a].caller < graph_.edges[b].caller;
    });
    size_t next = 0;
    for (uint32_t i = 0; i < graph_.functions.size() && out_.ok(); ++i) {
      if (graph_.is_used[i] == 0) continue;
      text_ += '\n';
      name("fl", "fn", i);
      cost_line(i, graph_.self_ns[i]);
      for (; next < by_caller.size() && graph_.edges[by_caller[next]].caller == i; ++next) {
        write_edge(graph_.edges[by_caller[next]]);
      }
      flush_if_full();
    }
    text_ += "\ntotals: ";
    json::append_int(text_, graph_.all_ns);
    text_ += '\n';
    out_.append(text_);
  }

 private:
  void number_files() {
    for (const CallTree::Function& function : graph_.functions) {
      const auto number = static_cast<uint32_t>(file_numbers_.size());
      file_of_.push_back(file_numbers_.emplace(function.file, number).first->second);
    }
    is_file_named_.resize(file_numbers_.size());
  }

  // "fl=(1) a.py" and "fn=(2) f", the names only where they have not been written before.
  void name(std::string_view file_key, std::string_view function_key, uint32_t function) {
    const uint32_t file = file_of_[function];
    const std::string_view path = graph_.functions[function].file;
    compressed(file_key, file, path.empty() ? "~" : path, is_file_named_);
    compressed(function_key, function, graph_.functions[function].name, is_named_);
  }

  void compressed(std::string_view key, uint32_t number, std::string_view text,
                  std::vector<bool>& is_named) {
    text_ += key;
    text_ += "=(";
    json::append_uint(text_, number + 1);
    text_ += ')';
    if (!is_named[number]) {
      text_ += ' ';
      append_line(text_, text);
    }
    text_ += '\n';
    is_named[number] = true;
  }

  void cost_line(uint32_t function, int64_t ns) {
    json::append_int(text_, std::max<int64_t>(0, graph_.functions[function].line));
    text_ += ' ';
    json::append_int(text_, ns);
    text_ += '\n';
  }

  void write_edge(const Edge& edge) {
    name("cfl", "cfn", edge.callee);
    text_ += "calls=";
    json::append_uint(text_, std::max<uint64_t>(1, edge.calls));
    text_ += ' ';
    json::append_int(text_, std::max<int64_t>(0, graph_.functions[edge.callee].line));
    text_ += '\n';
    cost_line(edge.caller, std::max<int64_t>(0, edge.total_ns));
  }

  void flush_if_full() {
    constexpr size_t kFlushBytes = 256 << 10;
    if (text_.size() <= kFlushBytes) return;
    out_.append(text_);
    text_.clear();
  }

  const Graph& graph_;
  OutputFile& out_;
  std::string text_;
  std::unordered_map<std::string_view, uint32_t> file_numbers_;
  std::vector<uint32_t> file_of_;  // by function
  std::vector<bool> is_file_named_;
  std::vector<bool> is_named_;
};

}  // namespace

Result<std::vector<std::string>> write_callgrind(const Trace& trace, const std::string& path,
                                                 const ExportOptions& options) {
  Result<CallTree> tree = build_stacks(trace, options);
  const bool is_tree = tree.ok();
  if (!is_tree && trace.call_edges().callee.empty()) return tree.status();
  const Graph graph = is_tree ? make_graph(*tree) : make_graph_of_call_edges(trace);
  auto out = OutputFile::create(path);
  if (!out) return out.status();
  const CallTree::Source from = is_tree ? tree->source() : CallTree::Source::kNothing;
  CallgrindWriter(graph, **out).write(trace.source(), weight_unit(trace, from));
  if (Status status = (*out)->finish(); !status) return status;
  if (!is_tree) return std::vector<std::string>{};
  return describe_left_out(trace, *tree);
}

}  // namespace stepscope
