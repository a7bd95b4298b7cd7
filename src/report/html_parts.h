// Pieces of a page: markup that cannot hold an unescaped text, elements that cannot be left open.
//
//   Markup cell = element("td.number", "a < b");          // <td class="number">a &lt; b</td>
//   page(title, style, element("main", sections({{"Time", "time", table.markup()}})))
//
// A text becomes markup by being escaped; what is made is well-formed XML as well as HTML. Not here: what a
// page says (html_report.h), how it looks (html_style.h).
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardplan {

/// For content and for attributes in double quotes; control characters as printable() shows them.
std::string html_escaped(std::string_view text);

class Markup {
 public:
  Markup() = default;
  // Implicit, so that a text can stand wherever markup can and is escaped there.
  Markup(const char* text) : html_(html_escaped(text)) {}
  Markup(const std::string& text) : html_(html_escaped(text)) {}
  /// What is markup already: drawings.
  static Markup verbatim(std::string html);

  Markup& operator+=(const Markup& more) {
    html_ += more.html_;
    return *this;
  }
  friend Markup operator+(Markup a, const Markup& b) { return a += b; }
  bool empty() const { return html_.empty(); }
  const std::string& html() const { return html_; }

 private:
  std::string html_;
};

using Attributes = std::vector<std::pair<const char*, std::string>>;

/// `tag` may name a class: "div.tier".
Markup element(std::string_view tag, const Attributes& attributes, const Markup& content);
Markup element(std::string_view tag, const Markup& content);
/// One without content: <meta charset="utf-8"/>.
Markup empty_element(std::string_view tag, const Attributes& attributes);

/// May break after the dots of a plan's name; narrow screens need it.
Markup breakable(const std::string& text);
Markup paragraph(const Markup& content);
Markup list(const std::vector<Markup>& items);

/// A part of a page that can be linked to.
struct Section {
  std::string heading, id;
  Markup content;  // one without is left out
};
Markup sections(const std::vector<Section>& all);
/// Links to them.
Markup contents(const std::vector<Section>& all);

/// Closed until its line is opened.
Markup details(const Markup& summary, const Markup& content);

/// A table whose first column heads its rows.
class HtmlTable {
 public:
  /// `alignment` has an l, an r or a w (words, which may break anywhere) for each column.
  HtmlTable(std::string caption, std::string alignment, std::vector<std::string> head)
      : caption_(std::move(caption)), alignment_(std::move(alignment)), head_(std::move(head)) {}
  void row(const std::vector<Markup>& cells);
  void last_row(const std::vector<Markup>& cells);  // a total
  /// Nothing where there is no row.
  Markup markup() const;

 private:
  Markup cells(const std::vector<Markup>& cells) const;
  const char* cell_class(std::size_t column) const;
  /// Its cells stand below each other on a narrow page.
  bool of_words() const;

  std::string caption_, alignment_;
  std::vector<std::string> head_;
  Markup rows_, foot_;
};

/// One of the numbers that a page opens with; for a list "dl.figures".
Markup headline_figure(const char* what, const Markup& value, const Markup& more);

/// A whole document that loads nothing.
std::string page(const std::string& title, std::string_view style, const Markup& body);
/// The answer of a command: what comes first, links to the rest, the rest.
std::string report_page(const char* command, const std::string& title, const std::vector<Section>& first,
                        const std::vector<Section>& rest);

}  // namespace shardplan
