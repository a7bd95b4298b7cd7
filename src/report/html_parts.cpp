#include "report/html_parts.h"

#include <algorithm>

#include "report/html_style.h"
#include "units/format.h"

namespace shardplan {
namespace {

/// "<div class="tier" id="x"", still open.
std::string opening(std::string_view tag, const Attributes& attributes) {
  const std::size_t dot = tag.find('.');
  std::string html = "<" + std::string(tag.substr(0, dot));
  if (dot != std::string_view::npos) html += " class=\"" + html_escaped(tag.substr(dot + 1)) + "\"";
  for (const auto& [name, value] : attributes)
    html += std::string(" ") + name + "=\"" + html_escaped(value) + "\"";
  return html;
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

Markup Markup::verbatim(std::string html) {
  Markup markup;
  markup.html_ = std::move(html);
  return markup;
}

Markup element(std::string_view tag, const Attributes& attributes, const Markup& content) {
  return Markup::verbatim(opening(tag, attributes) + ">" + content.html() + "</" +
                          std::string(tag.substr(0, tag.find('.'))) + ">");
}

Markup element(std::string_view tag, const Markup& content) { return element(tag, {}, content); }

Markup empty_element(std::string_view tag, const Attributes& attributes) {
  return Markup::verbatim(opening(tag, attributes) + "/>");
}

Markup breakable(const std::string& text) {
  static constexpr std::string_view kDot = "\u00b7";
  Markup markup;
  std::size_t from = 0;
  for (std::size_t at = text.find(kDot); at != std::string::npos; at = text.find(kDot, from)) {
    markup += Markup(text.substr(from, at + kDot.size() - from)) + empty_element("wbr", {});
    from = at + kDot.size();
  }
  return markup + text.substr(from);
}

Markup paragraph(const Markup& content) { return element("p", content); }

Markup list(const std::vector<Markup>& items) {
  Markup all;
  for (const Markup& item : items) all += element("li", item);
  return items.empty() ? Markup() : element("ul", all);
}

Markup sections(const std::vector<Section>& all) {
  Markup markup;
  for (const Section& s : all) {
    if (s.content.empty()) continue;
    const std::string heading_id = s.id + "-heading";
    markup += element("section", {{"id", s.id}, {"aria-labelledby", heading_id}},
                      element("h2", {{"id", heading_id}}, s.heading) + s.content) +
              Markup::verbatim("\n");
  }
  return markup;
}

Markup contents(const std::vector<Section>& all) {
  std::vector<Markup> links;
  for (const Section& s : all) {
    if (!s.content.empty()) links.push_back(element("a", {{"href", "#" + s.id}}, s.heading));
  }
  return element("nav", {{"aria-label", "Contents"}}, list(links));
}

Markup details(const Markup& summary, const Markup& content) {
  return element("details", element("summary", summary) + content);
}

const char* HtmlTable::cell_class(std::size_t column) const {
  switch (column < alignment_.size() ? alignment_[column] : 'l') {
    case 'r':
      return "number";
    case 'w':
      return "words";
    default:
      return "";
  }
}

bool HtmlTable::of_words() const {
  constexpr std::ptrdiff_t kManyColumns = 3;  // of words, which side by side have no room on a phone
  return std::count(alignment_.begin(), alignment_.end(), 'w') >= kManyColumns;
}

Markup HtmlTable::cells(const std::vector<Markup>& cells) const {
  Markup row;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    Attributes attributes;
    if (*cell_class(i) != '\0') attributes.emplace_back("class", cell_class(i));
    if (i == 0) attributes.emplace_back("scope", "row");
    if (of_words() && i < head_.size()) attributes.emplace_back("data-head", head_[i]);
    row += element(i == 0 ? "th" : "td", attributes, cells[i]);
  }
  return element("tr", row) + Markup::verbatim("\n");
}

void HtmlTable::row(const std::vector<Markup>& row) { rows_ += cells(row); }
void HtmlTable::last_row(const std::vector<Markup>& row) { foot_ = cells(row); }

Markup HtmlTable::markup() const {
  if (rows_.empty()) return {};
  Markup head;
  for (std::size_t i = 0; i < head_.size(); ++i) {
    Attributes attributes{{"scope", "col"}};
    if (*cell_class(i) != '\0') attributes.emplace_back("class", cell_class(i));
    // A column of marks has no name of its own.
    head += head_[i].empty() ? element("td", Markup()) : element("th", attributes, head_[i]);
  }
  Markup table =
      element("caption", caption_) + element("thead", element("tr", head)) + element("tbody", rows_);
  if (!foot_.empty()) table += element("tfoot", foot_);
  // Wide ones scroll by themselves; who has no pointer reaches them by the keyboard.
  return element("div.scroll", {{"role", "region"}, {"aria-label", caption_}, {"tabindex", "0"}},
                 element(of_words() ? "table.stacked" : "table", table)) +
         Markup::verbatim("\n");
}

std::string page(const std::string& title, std::string_view style, const Markup& body) {
  const Markup head =
      empty_element("meta", {{"charset", "utf-8"}}) +
      // Nothing may be fetched, whatever a name in the page looks like.
      empty_element("meta", {{"http-equiv", "Content-Security-Policy"},
                             {"content", "default-src 'none'; style-src 'unsafe-inline'"}}) +
      empty_element("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}}) +
      empty_element("meta", {{"name", "color-scheme"}, {"content", "light dark"}}) + element("title", title) +
      element("style", Markup::verbatim(std::string(style)));
  return "<!DOCTYPE html>\n" +
         element("html", {{"xmlns", "http://www.w3.org/1999/xhtml"}, {"lang", "en"}},
                 element("head", head) + element("body", body))
             .html() +
         "\n";
}

Markup headline_figure(const char* what, const Markup& value, const Markup& more) {
  return element("div", element("dt", what) + element("dd.figure", value) + element("dd.more", more));
}

std::string report_page(const char* command, const std::string& title, const std::vector<Section>& first,
                        const std::vector<Section>& rest) {
  const Markup head = element("p.kind", command) + element("h1", title);
  return page(
      title, kHtmlStyle,
      element("header", head) + element("main", sections(first) + contents(rest) + sections(rest)) +
          element("footer", paragraph("From models of the machine: nothing was run or measured. At full "
                                      "precision: --json, with --explain for the formulas.")));
}

}  // namespace shardplan
