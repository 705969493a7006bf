//! The figures as plots: bars of the cost per try, and lines over the number of buyers.

use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::Result;
use crate::line::{BURST, HAND_OVERS};
use crate::managed::{CHANGES, SOLD_OUT};
use crate::page::Page;
use crate::table::{Row, figure};
use crate::tries::{DECIDED, GROWTH, SCRIPT, TRY};

const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(0x26, 0x2b, 0x33);
const GRID: RGBColor = RGBColor(0xe3, 0xe6, 0xea);
/// The contenders of a plot, in their order.
const COLORS: [RGBColor; 7] = [
    RGBColor(0xc8, 0x55, 0x3d),
    RGBColor(0x8f, 0x3f, 0x5c),
    RGBColor(0x1f, 0x6f, 0xb2),
    RGBColor(0x5b, 0xa3, 0xa0),
    RGBColor(0x2f, 0x7a, 0x72),
    RGBColor(0x7d, 0x87, 0x94),
    RGBColor(0x6d, 0xa9, 0xd8),
];
const BAR_WIDTH_MAX: f64 = 0.17;

type Panel<'a, X> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, RangedCoordf64>>;

/// Draws the plots of a page, as far as their figures were measured.
pub fn write(page: &Page, dir: &Path) -> Result<()> {
    let rows = |title| page.table(title).map(|table| table.rows.iter().collect::<Vec<_>>());
    if let Some(rows) = rows(DECIDED).filter(|_| page.file == "README.md") {
        let bars = Bars::of("Server CPU per try", "microseconds per try", &rows);
        bars.write(page, &dir.join("bars.svg"))?;
    }
    if let (Some(sold_out), Some(changes)) = (rows(SOLD_OUT), rows(CHANGES)) {
        // The disk adds the same cost to a script and a command.
        let changes = changes.into_iter().filter(|row| !row.names[0].contains("AOF"));
        let rows: Vec<&Row> = sold_out.into_iter().chain(changes).collect();
        let title = "Server CPU per command on a managed sale, sold out with so many orders, or \
                     changed";
        let bars = Bars::of(title, "microseconds per command", &rows);
        bars.write(page, &dir.join("managed.svg"))?;
    }
    if let Some(rows) = rows(BURST) {
        let title = format!("{BURST}: hand-overs per second");
        let mut bars = Bars::of(&title, HAND_OVERS, &rows);
        bars.contenders.truncate(1);
        bars.write(page, &dir.join("lock-line.svg"))?;
    }
    if let Some(rows) = rows(GROWTH) {
        growth(page, &rows, &dir.join("growth.svg"))?;
    }
    Ok(())
}

/// Bars in groups, side by side.
struct Bars<'a> {
    title: &'a str,
    unit: &'static str,
    groups: &'a [&'a Row],
    /// All contenders with a bar in some group, in the order of the legend.
    contenders: Vec<&'static str>,
}

impl<'a> Bars<'a> {
    fn of(title: &'a str, unit: &'static str, groups: &'a [&'a Row]) -> Self {
        let mut contenders = Vec::new();
        for (name, _) in groups.iter().flat_map(|row| &row.costs) {
            if !contenders.contains(name) {
                contenders.push(*name);
            }
        }
        Self { title, unit, groups, contenders }
    }

    fn shown(&self, row: &Row) -> Vec<(&'static str, f64)> {
        let is_shown = |(name, _): &&(&'static str, f64)| self.contenders.contains(name);
        row.costs.iter().filter(is_shown).copied().collect()
    }

    fn write(&self, page: &Page, path: &Path) -> Result<()> {
        let area = SVGBackend::new(path, (1080, 530)).into_drawing_area();
        area.fill(&WHITE)?;
        let area = titled(&area, self.title, page)?;
        let all = self.groups.iter().flat_map(|row| self.shown(row));
        let highest = all.map(|(_, cost)| cost).fold(0.0, f64::max);
        let span = -0.5..self.groups.len() as f64 - 0.5;
        let mut chart = ChartBuilder::on(&area)
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(72)
            .build_cartesian_2d(span, 0.0..highest * 1.1)?;
        let name = |x: f64| self.groups.get(x.round() as usize).map(|row| row.names[0].clone());
        let mut mesh = chart.configure_mesh();
        mesh.disable_x_mesh().x_labels(self.groups.len());
        mesh.x_label_formatter(&|x| name(*x).unwrap_or_default())
            .y_desc(self.unit)
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(INK)
            .label_style((FONT, 14).into_font().color(&INK))
            .axis_desc_style((FONT, 16).into_font().color(&INK))
            .draw()?;
        for place in 0..self.contenders.len() {
            self.draw(&mut chart, place)?;
        }
        legend(&mut chart)?;
        area.present()?;
        Ok(())
    }

    /// The bars of one contender, one in each group that it is in, with its figure above each.
    fn draw<'c>(&self, chart: &mut Panel<'c, RangedCoordf64>, contender: usize) -> Result<()> {
        let most = self.groups.iter().map(|row| self.shown(row).len()).max().unwrap_or(1);
        let width = (0.92 / most as f64).min(BAR_WIDTH_MAX);
        let name = self.contenders[contender];
        let tops: Vec<(f64, f64)> = self
            .groups
            .iter()
            .enumerate()
            .filter_map(|(group, row)| {
                let costs = self.shown(row);
                let place = costs.iter().position(|(who, _)| *who == name)?;
                let offset = place as f64 - (costs.len() - 1) as f64 / 2.0;
                Some((group as f64 + offset * width, costs[place].1))
            })
            .collect();
        let half = width * 0.44;
        let fill = COLORS[contender % COLORS.len()].filled();
        let bars =
            tops.iter().map(|&(x, top)| Rectangle::new([(x - half, 0.0), (x + half, top)], fill));
        chart
            .draw_series(bars)?
            .label(name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 6), (x + 14, y + 6)], fill));
        let style = (FONT, 12).into_font().color(&INK).pos(Pos::new(HPos::Center, VPos::Bottom));
        chart.draw_series(tops.iter().map(|&(x, top)| {
            EmptyElement::at((x, top)) + Text::new(figure(top), (0, -3), style.clone())
        }))?;
        Ok(())
    }
}

fn growth(page: &Page, rows: &[&Row], path: &Path) -> Result<()> {
    let area = SVGBackend::new(path, (1080, 480)).into_drawing_area();
    area.fill(&WHITE)?;
    let area = titled(&area, "Server CPU per try as the set of buyers grows", page)?;
    let panels = area.split_evenly((1, 2));
    for (panel, outcome) in panels.iter().zip(["duplicate", "accepted"]) {
        let points: Vec<&Row> =
            rows.iter().filter(|row| row.names[0] == outcome).copied().collect();
        growth_panel(panel, outcome, &points)?;
    }
    area.present()?;
    Ok(())
}

fn growth_panel(
    panel: &DrawingArea<SVGBackend<'_>, Shift>,
    outcome: &str,
    points: &[&Row],
) -> Result<()> {
    let highest = points.iter().filter_map(|row| row.cost(SCRIPT)).fold(0.0, f64::max);
    let mut chart = ChartBuilder::on(panel)
        .margin(12)
        .margin_right(44)
        .caption(outcome, (FONT, 18).into_font().color(&INK))
        .x_label_area_size(50)
        .y_label_area_size(62)
        .build_cartesian_2d(-0.2..points.len() as f64 - 0.8, 0.0..highest * 1.45)?;
    let name = |x: f64| points.get(x.round() as usize).map(|row| row.names[1].clone());
    let mut mesh = chart.configure_mesh();
    mesh.disable_x_mesh().x_labels(points.len());
    mesh.x_label_formatter(&|x| name(*x).unwrap_or_default())
        .x_desc("buyers in the set")
        .y_desc("microseconds per try")
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(INK)
        .label_style((FONT, 15).into_font().color(&INK))
        .axis_desc_style((FONT, 16).into_font().color(&INK))
        .draw()?;
    for (contender, color) in [(SCRIPT, COLORS[0]), (TRY, COLORS[2])] {
        let style = color.stroke_width(3);
        let costs = points.iter().enumerate();
        let line: Vec<(f64, f64)> =
            costs.filter_map(|(x, row)| Some((x as f64, row.cost(contender)?))).collect();
        chart
            .draw_series(LineSeries::new(line.iter().copied(), style))?
            .label(contender)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], style));
        chart.draw_series(line.iter().map(|&point| Circle::new(point, 4, color.filled())))?;
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
    page: &Page,
) -> Result<DrawingArea<SVGBackend<'a>, Shift>> {
    let place = page.place.split(". ").next().unwrap_or_default();
    let area = area.margin(14, 0, 0, 0).titled(title, (FONT, 24).into_font().color(&INK))?;
    Ok(area.titled(place, (FONT, 14).into_font().color(&COLORS[5]))?)
}
