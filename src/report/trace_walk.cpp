#include "report/trace_walk.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <unordered_map>

#include "formula/formula.h"

namespace shardplan {
namespace {

/// Equal numbers for nodes of equal history.
class Identities {
 public:
  int of(const TraceNode& node) {
    if (const auto known = by_address_.find(&node); known != by_address_.end()) return known->second;
    std::string key = std::to_string(static_cast<int>(node.op)) + '|' +
                      std::to_string(std::bit_cast<std::uint64_t>(node.value)) + '|' + node.name + '|' +
                      node.source;
    if (node.formula != nullptr) key += '|' + std::string(node.formula->id);
    for (const auto& operand : node.operands) key += '|' + std::to_string(of(*operand));
    const int identity = by_key_.try_emplace(key, static_cast<int>(by_key_.size())).first->second;
    by_address_.emplace(&node, identity);
    return identity;
  }

 private:
  std::unordered_map<const TraceNode*, int> by_address_;
  std::map<std::string, int> by_key_;
};

class Reader {
 public:
  void result(const std::string& name, const TraceNode& root) {
    // A result that a formula gave is that formula's block; it needs none of its own.
    if (root.op == TraceOp::kFormula) return call(root);
    TraceBlock block;
    block.title = name;
    block.result = &root;
    block.body = root.op == TraceOp::kNamed ? root.operands[0].get() : &root;
    const TraceNode& body = *block.body;
    reading_.blocks.push_back(std::move(block));
    calls_under(body);
  }

  static TraceBlock parts(const TraceNode& node) {
    TraceBlock block;
    block.title = node.name;
    block.formula = node.formula;
    block.result = &node;
    block.body = node.operands[0].get();
    collect(*block.body, block);
    return block;
  }

  TraceReading take() {
    std::sort(reading_.numbers.begin(), reading_.numbers.end());
    return std::move(reading_);
  }

 private:
  void call(const TraceNode& node) {
    const auto [known, fresh] =
        numbers_.try_emplace(identities_.of(node), static_cast<int>(numbers_.size()) + 1);
    if (seen_.try_emplace(&node, true).second) reading_.numbers.emplace_back(&node, known->second);
    if (!fresh) {
      // The same call at another address: its inputs are shown, but must be known by their own addresses too.
      if (!walked_.try_emplace(&node, true).second) return;
      return inputs_of(parts(node));
    }
    walked_.try_emplace(&node, true);
    TraceBlock block = parts(node);
    block.number = known->second;
    reading_.blocks.push_back(block);
    inputs_of(block);
  }

  /// The calls that a block rests on: those inside its body, then those that made its inputs.
  void inputs_of(const TraceBlock& block) {
    calls_inside(*block.body);
    for (const TraceNode* symbol : block.symbols) calls_under(binding_of(*symbol));
  }

  void calls_inside(const TraceNode& node) {
    if (node.op == TraceOp::kFormula) return call(node);
    if (node.op == TraceOp::kSymbol) return;
    for (const auto& operand : node.operands) calls_inside(*operand);
  }

  static void collect(const TraceNode& node, TraceBlock& block) {
    if (node.op == TraceOp::kFormula) {
      // A formula inside the body uses this one's symbols through its own.
      for (const TraceNode* inner : parts(node).symbols) collect(*inner->operands[0], block);
      return;
    }
    auto& list = node.op == TraceOp::kSymbol ? block.symbols : block.steps;
    if (node.op == TraceOp::kSymbol || node.op == TraceOp::kNamed) {
      const bool known = std::any_of(list.begin(), list.end(), [&](auto* n) { return n->name == node.name; });
      if (known) return;
      if (node.op == TraceOp::kSymbol) {
        list.push_back(&node);
        return;
      }
    }
    for (const auto& operand : node.operands) collect(*operand, block);
    if (node.op == TraceOp::kNamed) list.push_back(&node);
  }

  void calls_under(const TraceNode& node) {
    if (node.op == TraceOp::kFormula) return call(node);
    if (!passed_.try_emplace(&node, true).second) return;
    for (const auto& operand : node.operands) calls_under(*operand);
  }

  Identities identities_;
  std::unordered_map<int, int> numbers_;
  std::unordered_map<const TraceNode*, bool> seen_, walked_, passed_;
  TraceReading reading_;
};

}  // namespace

int TraceReading::number_of(const TraceNode& node) const {
  const auto at = std::lower_bound(numbers.begin(), numbers.end(), std::pair(&node, 0));
  return at != numbers.end() && at->first == &node ? at->second : 0;
}

TraceReading read_trace(const TraceRoots& roots) {
  Reader reader;
  for (const auto& [name, node] : roots) reader.result(name, *node);
  return reader.take();
}

std::vector<const TraceNode*> symbols_of(const TraceNode& result) { return Reader::parts(result).symbols; }

const TraceNode& binding_of(const TraceNode& symbol) {
  const TraceNode* at = symbol.operands[0].get();
  while (at->op == TraceOp::kSymbol) at = at->operands[0].get();
  return *at;
}

}  // namespace shardplan
