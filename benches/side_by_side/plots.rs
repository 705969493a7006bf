//! The results as plots: bars of the cost per try, and lines over the number of buyers.

use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::Result;
use crate::contender::{Contender, Outcome, SELLING};
use crate::figures::{Figure, cost_of};
use crate::grid::thousands;
use crate::growth::Growth;
use crate::managed::sold_out;
use crate::results::Results;

const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(0x26, 0x2b, 0x33);
const GRID: RGBColor = RGBColor(0xe3, 0xe6, 0xea);
const BAR_WIDTH_MAX: f64 = 0.17;

/// The contenders for a try for which a plot has room.
const IN_BARS: &[Contender] = &[
    Contender::Script,
    Contender::RmCall,
    Contender::Native,
    Contender::Seckill,
    Contender::Get,
    Contender::Noop,
];

type Panel<'a, X> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, RangedCoordf64>>;

/// Writes bars.svg, growth.svg and managed.svg, as far as their figures were measured.
pub fn write(results: &Results, dir: &Path) -> Result<()> {
    if !results.decisions.is_empty() {
        let is_shown = |figure: &&Figure| IN_BARS.contains(&figure.contender);
        let groups = results
            .decisions
            .iter()
            .map(|decision| (decision.name(), decision.costs.iter().filter(is_shown).collect()));
        let plot = Bars { what: "a try", groups: groups.collect(), contenders: IN_BARS };
        plot.write(results, &dir.join("bars.svg"))?;
    }
    if !results.growth.is_empty() {
        growth(results, &dir.join("growth.svg"))?;
    }
    if !results.managed.deeds.is_empty() {
        managed_bars(results, &dir.join("managed.svg"))?;
    }
    Ok(())
}

fn color(contender: Contender) -> RGBColor {
    match contender {
        Contender::Script
        | Contender::OneLine
        | Contender::DeclaredScript
        | Contender::UnlockScript
        | Contender::StockScript => RGBColor(0xc8, 0x55, 0x3d),
        Contender::ManagedScript | Contender::BatchScript => RGBColor(0x8f, 0x3f, 0x5c),
        Contender::RmCall => RGBColor(0xe3, 0xa4, 0x57),
        Contender::Seckill
        | Contender::TryKeys
        | Contender::Mtry
        | Contender::LockRelease
        | Contender::Deduct => RGBColor(0x1f, 0x6f, 0xb2),
        Contender::Native => RGBColor(0x6d, 0xa9, 0xd8),
        Contender::Managed => RGBColor(0x5b, 0xa3, 0xa0),
        Contender::ManagedHold | Contender::ManagedCommand => RGBColor(0x2f, 0x7a, 0x72),
        Contender::Get
        | Contender::GetWithScripts
        | Contender::Delex
        | Contender::Delifeq
        | Contender::Increx => RGBColor(0x7d, 0x87, 0x94),
        Contender::Noop => RGBColor(0xbc, 0xc3, 0xcc),
    }
}

/// Without AOF: the disk adds the same cost to a script and a command.
fn managed_bars(results: &Results, path: &Path) -> Result<()> {
    let managed = &results.managed;
    let sold_out = managed.sold_out.iter().map(|sale| {
        (format!("sold out ({})", thousands(sale.orders)), sale.costs.iter().collect())
    });
    let mut groups: Vec<_> = sold_out.collect();
    let deeds = managed.deeds.iter().filter(|deed| !deed.aof);
    groups.extend(deeds.map(|deed| (deed.name(), deed.costs.iter().collect())));
    let contenders: Vec<Contender> =
        sold_out::CONTENDERS.iter().copied().chain([Contender::ManagedCommand]).collect();
    let plot = Bars { what: "a command on a managed sale", groups, contenders: &contenders };
    plot.write(results, path)
}

/// Bars in groups, side by side.
struct Bars<'a> {
    what: &'static str,
    groups: Vec<(String, Vec<&'a Figure>)>,
    /// All contenders with a bar in some group, in the order of the legend.
    contenders: &'a [Contender],
}

impl Bars<'_> {
    fn write(&self, results: &Results, path: &Path) -> Result<()> {
        let area = SVGBackend::new(path, (1080, 530)).into_drawing_area();
        area.fill(&WHITE)?;
        let title = format!("Server CPU {} (lower is better)", self.what);
        let area = titled(&area, &title, results)?;
        let highest = highest(self.groups.iter().flat_map(|(_, costs)| costs.iter().copied()));
        let span = -0.5..self.groups.len() as f64 - 0.5;
        let mut chart = ChartBuilder::on(&area)
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(62)
            .build_cartesian_2d(span, 0.0..highest * 1.1)?;
        let name = |x: f64| self.groups.get(x.round() as usize).map(|(name, _)| name.clone());
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(self.groups.len())
            .x_label_formatter(&|x| name(*x).unwrap_or_default())
            .y_desc(format!("microseconds {}", self.what))
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(INK)
            .label_style((FONT, 15).into_font().color(&INK))
            .axis_desc_style((FONT, 16).into_font().color(&INK))
            .draw()?;
        for &contender in self.contenders {
            self.draw(&mut chart, contender)?;
        }
        legend(&mut chart)?;
        area.present()?;
        Ok(())
    }

    /// The bars of one contender, one in each group that it is in, with its figure above each.
    fn draw<'c>(&self, chart: &mut Panel<'c, RangedCoordf64>, contender: Contender) -> Result<()> {
        let most = self.groups.iter().map(|(_, costs)| costs.len()).max().unwrap_or(1);
        let width = (0.92 / most as f64).min(BAR_WIDTH_MAX);
        let tops: Vec<(f64, f64)> = self
            .groups
            .iter()
            .enumerate()
            .filter_map(|(group, (_, costs))| {
                let place = costs.iter().position(|figure| figure.contender == contender)?;
                let offset = place as f64 - (costs.len() - 1) as f64 / 2.0;
                Some((group as f64 + offset * width, costs[place].cost))
            })
            .collect();
        let half = width * 0.44;
        let fill = color(contender).filled();
        let bars =
            tops.iter().map(|&(x, top)| Rectangle::new([(x - half, 0.0), (x + half, top)], fill));
        chart
            .draw_series(bars)?
            .label(contender.label())
            .legend(move |(x, y)| Rectangle::new([(x, y - 6), (x + 14, y + 6)], fill));
        let style = (FONT, 12).into_font().color(&INK).pos(Pos::new(HPos::Center, VPos::Bottom));
        chart.draw_series(tops.iter().map(|&(x, top)| {
            EmptyElement::at((x, top)) + Text::new(format!("{top:.2}"), (0, -3), style.clone())
        }))?;
        Ok(())
    }
}

fn growth(results: &Results, path: &Path) -> Result<()> {
    let area = SVGBackend::new(path, (1080, 480)).into_drawing_area();
    area.fill(&WHITE)?;
    let area = titled(&area, "Server CPU per try as the set of buyers grows", results)?;
    let panels = area.split_evenly((1, 2));
    for (panel, outcome) in panels.iter().zip([Outcome::Duplicate, Outcome::Accepted]) {
        let points: Vec<&Growth> =
            results.growth.iter().filter(|point| point.outcome == outcome).collect();
        growth_panel(panel, outcome, &points)?;
    }
    area.present()?;
    Ok(())
}

fn growth_panel(
    panel: &DrawingArea<SVGBackend<'_>, Shift>,
    outcome: Outcome,
    points: &[&Growth],
) -> Result<()> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Ok(()) };
    let highest = highest(points.iter().flat_map(|point| &point.costs));
    let span = first.buyers as f64 * 0.8..last.buyers as f64 * 1.25;
    let mut chart = ChartBuilder::on(panel)
        .margin(12)
        .margin_right(44)
        .caption(outcome.label(), (FONT, 18).into_font().color(&INK))
        .x_label_area_size(50)
        .y_label_area_size(62)
        .build_cartesian_2d(span.log_scale(), 0.0..highest * 1.45)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(points.len())
        .x_label_formatter(&|x| thousands(x.round() as usize))
        .x_desc("buyers in the set")
        .y_desc("microseconds a try")
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(INK)
        .label_style((FONT, 15).into_font().color(&INK))
        .axis_desc_style((FONT, 16).into_font().color(&INK))
        .draw()?;
    for &contender in SELLING {
        let style = color(contender).stroke_width(3);
        let line: Vec<(f64, f64)> = points
            .iter()
            .filter_map(|p| Some((p.buyers as f64, cost_of(&p.costs, contender)?)))
            .collect();
        chart
            .draw_series(LineSeries::new(line.iter().copied(), style))?
            .label(contender.label())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], style));
        chart.draw_series(
            line.iter().map(|&point| Circle::new(point, 4, color(contender).filled())),
        )?;
    }
    legend(&mut chart)
}

fn legend<X: Ranged<ValueType = f64>>(chart: &mut Panel<'_, X>) -> Result<()> {
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .margin(12)
        .background_style(WHITE.mix(0.85))
        .border_style(GRID)
        .label_font((FONT, 15).into_font().color(&INK))
        .draw()?;
    Ok(())
}

/// Draws the title and, under it, where and when the figures were measured.
fn titled<'a>(
    area: &DrawingArea<SVGBackend<'a>, Shift>,
    title: &str,
    results: &Results,
) -> Result<DrawingArea<SVGBackend<'a>, Shift>> {
    let Results { server, cpu, date, .. } = results;
    let place = format!("{server}, {cpu}, {date}");
    let area = area.margin(14, 0, 0, 0).titled(title, (FONT, 24).into_font().color(&INK))?;
    Ok(area.titled(&place, (FONT, 14).into_font().color(&color(Contender::Get)))?)
}

fn highest<'a>(figures: impl Iterator<Item = &'a Figure>) -> f64 {
    figures.map(|figure| figure.cost).fold(0.0, f64::max)
}
