#include "suites/cost_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <string_view>

#include "suites/median.h"

namespace timerbench {
namespace {

constexpr std::size_t kColumns = 80;

// In the order of the table, where those that are not ranked follow.
constexpr std::string_view kRanked[] = {"exact",         "granular",         "relative",
                                        "exact library", "granular library", "relative library"};

// 1 234 567, with narrow no-break spaces.
std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t left = text.size(); left > 3;) {
    left -= 3;
    text.insert(left, "\u202f");
  }
  return text;
}

// 10⁵, 3·10⁴ or 1 234.
std::string power(std::uint64_t size) {
  static constexpr const char* kSuperscripts[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::size_t exponent = 0;
  std::uint64_t factor = size;
  for (; factor >= 10 && factor % 10 == 0; factor /= 10) ++exponent;
  if (exponent < 3 || factor >= 10) return grouped(size);
  std::string text = factor == 1 ? "10" : fmt::format("{}·10", factor);
  for (const char digit : std::to_string(exponent)) text += kSuperscripts[digit - '0'];
  return text;
}

// Three digits, or two below 1: 0.015, 0.51, 12.3, 456, 15 539.
std::string digits(double cost) {
  if (cost >= 999.5) return grouped(static_cast<std::uint64_t>(std::llround(cost)));
  if (cost <= 0) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(cost) + 1e-9));
  return fmt::format("{:.{}f}", cost, magnitude >= 0 ? 2 - magnitude : 1 - magnitude);
}

// "2.4 times", or "12 %" below 1.5 times: how much cheaper something is.
std::string by_how_much(double ratio) {
  if (ratio < 1.5) return fmt::format("{:.0f} %", (1 - 1 / ratio) * 100);
  return (ratio < 100 ? fmt::format("{:.1f}", ratio) : digits(ratio)) + " times";
}

// "a, b and c"; of more than three, the first two and how many others.
std::string enumerated(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 2;
  if (names.size() > kMost + 1) {
    return fmt::format("{}, {} and {} others", names[0], names[1], names.size() - kMost);
  }
  const std::span all_but_last(names.begin(), names.end() - 1);
  return names.size() == 1 ? names[0]
                           : fmt::format("{} and {}", fmt::join(all_but_last, ", "), names.back());
}

// Breaks lines between words, from `column` on; further lines are indented by four blanks.
std::string wrapped(std::string_view text, std::size_t column) {
  constexpr std::size_t kIndent = 4;
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto is_character = [](char c) { return (c & 0xC0) != 0x80; };  // of UTF-8
    const auto width = static_cast<std::size_t>(std::ranges::count_if(word, is_character));
    if (!lines.empty() && column + 1 + width > kColumns) {
      lines += '\n' + std::string(kIndent, ' ');
      column = kIndent;
    } else if (!lines.empty()) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += width;
  }
  return lines;
}

bool is_measured(const CostCell& cell) { return !cell.rounds.empty(); }

// Orders by ranking, then cost; cells without a figure come last in their ranking.
bool comes_before(const CostCell& a, const CostCell& b) {
  const auto place = [](const CostCell& cell) { return std::ranges::find(kRanked, cell.ranking); };
  if (place(a) != place(b)) return place(a) < place(b);
  if (a.ranking != b.ranking) return a.ranking < b.ranking;
  if (is_measured(a) != is_measured(b)) return is_measured(a);
  return is_measured(a) && a.median() < b.median();
}

std::string input_name(const CostCell& cell) {
  return fmt::format("{}, {} timers", cell.workload, power(cell.size));
}

// `width`: of the column of rankings.
std::string row(const CostCell& cell, std::size_t width) {
  const std::string name = fmt::format("  {:<{}} {:<21}", cell.ranking, width, cell.backend);
  if (!is_measured(cell)) return name + ' ' + wrapped(cell.failure, name.size() + 1);
  const std::string range =
      cell.rounds.size() < 2 ? ""
                             : fmt::format("  ({:.2f} to {:.2f})", cell.least(), cell.greatest());
  return fmt::format("{} {:>11.2f}{}", name, cell.median(), range);
}

// Ranks cells that have figures and one ranking. `of`: how many there are, also without a figure.
// REQUIRES: cheapest first.
std::string verdict(const std::vector<CostCell>& ranked, std::size_t of) {
  const CostCell& best = ranked.front();
  const auto clearly_dearer = std::ranges::find_if(
      ranked, [&](const CostCell& cell) { return cell.least() > best.greatest(); });
  std::string text = fmt::format("{} {} ns", best.backend, digits(best.median()));
  if (ranked.size() == 1) return text + ", the only one" + (of > 1 ? " with a figure" : "");
  std::vector<std::string> tied;
  for (auto cell = ranked.begin() + 1; cell != clearly_dearer; ++cell) {
    tied.push_back(cell->backend);
  }
  if (!tied.empty()) text += ", tied with " + enumerated(tied);
  if (clearly_dearer == ranked.end()) return text;
  return fmt::format("{}, {} cheaper than {}", text,
                     by_how_much(clearly_dearer->median() / best.median()),
                     clearly_dearer->backend);
}

}  // namespace

double CostCell::median() const { return timerbench::median(rounds); }

double CostCell::least() const { return std::ranges::min(rounds); }
double CostCell::greatest() const { return std::ranges::max(rounds); }

std::string cost_table(std::vector<CostCell> cells) {
  std::ranges::stable_sort(cells, comes_before);
  const auto measured = std::ranges::find_if(cells, is_measured);
  std::string text = input_name(cells.front());
  if (measured != cells.end()) text += fmt::format(", ns per {}", measured->item);
  text += '\n';
  std::size_t width = 9;
  for (const CostCell& cell : cells) width = std::max(width, cell.ranking.size());
  for (const CostCell& cell : cells) text += row(cell, width) + '\n';
  return text;
}

std::string cheapest(const std::vector<CostCell>& cells) {
  std::string text;
  for (const std::string_view ranking : kRanked) {
    std::vector<CostCell> alike, ranked;
    std::ranges::copy_if(cells, std::back_inserter(alike),
                         [&](const CostCell& cell) { return cell.ranking == ranking; });
    if (alike.empty()) continue;
    std::ranges::copy_if(alike, std::back_inserter(ranked), is_measured);
    std::ranges::stable_sort(ranked, comes_before);
    const std::string sentence =
        fmt::format("{}, {}: {}", input_name(alike.front()), ranking,
                    ranked.empty() ? "no backend has a figure" : verdict(ranked, alike.size()));
    text += wrapped(sentence, 0) + '\n';
  }
  return text;
}

}  // namespace timerbench
