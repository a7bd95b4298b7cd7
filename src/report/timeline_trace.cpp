#include "report/timeline_trace.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "report/json_values.h"

namespace shardplan {
namespace {

constexpr std::size_t kPart = 1 << 16;  // bytes handed on at a time
// The format counts in microseconds; events are cut to whole nanoseconds, so that those that touch still do.
constexpr double kNanoseconds = 1e9, kPerMicrosecond = 1e3;

std::string quoted(const std::string& text) { return Json(text).dump(); }

/// Collects lines and hands them on in parts.
class Parts {
 public:
  explicit Parts(const TextSink& sink) : sink_(sink) {}
  std::string& text() { return text_; }
  void pass_on(std::size_t at_least = kPart) {
    if (text_.size() < at_least) return;
    good_ = good_ && sink_(text_);
    text_.clear();
  }
  bool finish() {
    pass_on(1);
    return good_;
  }

 private:
  const TextSink& sink_;
  std::string text_;
  bool good_ = true;
};

std::string event_name(const StepEvent& e) {
  std::string text =
      e.work == StepWork::kCollectives ? std::string(name(e.stream)) + " collectives" : name(e.work);
  if (e.micro_batch >= 0) text += " " + std::to_string(e.micro_batch);
  return text;
}

double whole_nanoseconds(Seconds<> time) { return std::round(time.raw() * kNanoseconds); }

void write_event(const StepEvent& e, std::string& out) {
  const double start = whole_nanoseconds(e.start), end = whole_nanoseconds(e.end);
  fmt::format_to(
      std::back_inserter(out),
      ",\n{{\"name\":\"{}\",\"cat\":\"{}\",\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f}",
      event_name(e), name(e.work), e.rank, static_cast<int>(e.stream), start / kPerMicrosecond,
      (end - start) / kPerMicrosecond);
  out += ",\"args\":{";
  const char* separator = "";
  const auto argument = [&](const char* key, std::int64_t value) {
    fmt::format_to(std::back_inserter(out), "{}\"{}\":{}", separator, key, value);
    separator = ",";
  };
  if (e.micro_batch >= 0) argument("micro_batch", e.micro_batch);
  if (e.chunk >= 0) argument("chunk", e.chunk);
  if (e.bytes > bytes(0)) argument("bytes", std::llround(e.bytes.raw()));
  out += "}}";
}

/// Names of the processes and of the streams that carry something.
void write_names(const StepTimeline& line, std::string& out) {
  std::array<bool, kStreamCount> used{};
  line.for_each([&](const StepEvent& e) { used[static_cast<std::size_t>(e.stream)] = true; });
  const auto meta = [&](const char* what, int rank, std::size_t stream, const std::string& value) {
    fmt::format_to(std::back_inserter(out),
                   ",\n{{\"name\":\"{}\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}}", what,
                   rank, stream, quoted(value));
  };
  for (int rank = 0; rank < line.plan.pp; ++rank) {
    meta("process_name", rank, 0, "pipeline stage " + std::to_string(rank));
    for (std::size_t s = 0; s < kStreamCount; ++s) {
      if (used[s]) meta("thread_name", rank, s, name(static_cast<Stream>(s)));
    }
  }
}

}  // namespace

double estimated_trace_bytes(const StepTimeline& line) {
  constexpr double kSampled = 1000;
  double events = 0, sampled = 0;
  std::string text;
  line.for_each([&](const StepEvent& e) {
    if (++events > kSampled) return;
    write_event(e, text);
    ++sampled;
  });
  return sampled > 0 ? static_cast<double>(text.size()) * events / sampled : 0;
}

bool write_trace(const StepTimeline& line, const std::string& title, const TextSink& sink) {
  Parts parts(sink);
  fmt::format_to(
      std::back_inserter(parts.text()),
      "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"title\":{},\"plan\":{},\"simulated_step_s\":{},"
      "\"estimated_step_s\":{}}},\n\"traceEvents\":[\n"
      "{{\"name\":\"process_labels\",\"ph\":\"M\",\"pid\":0,\"tid\":0,\"args\":{{\"labels\":{}}}}}",
      quoted(title), quoted(canonical(line.plan)), line.simulated.raw(), line.estimated.raw(), quoted(title));
  write_names(line, parts.text());
  line.for_each([&](const StepEvent& e) {
    write_event(e, parts.text());
    parts.pass_on();
  });
  parts.text() += "\n]}\n";
  return parts.finish();
}

}  // namespace shardplan
