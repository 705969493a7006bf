//! The results of `lock_line`, as a page and a plot.

use std::fs;
use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::Result;
use crate::grid::thousands;
use crate::lock_killed::{self, Killed};
use crate::lock_line::{CONTENDERS, Contention, Latency, LockLine, Pairs};
use crate::lock_manner::{MANNERS, Manner};

const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(0x26, 0x2b, 0x33);
const GRID: RGBColor = RGBColor(0xe3, 0xe6, 0xea);
const OURS: RGBColor = RGBColor(0x1f, 0x6f, 0xb2);
const OTHERS: RGBColor = RGBColor(0xc8, 0x55, 0x3d);

/// Writes lock-line.json, lock-line.md and lock-line.svg.
pub fn write(line: &LockLine, dir: &Path) -> Result<()> {
    fs::write(dir.join("lock-line.json"), serde_json::to_string_pretty(line)? + "\n")?;
    fs::write(dir.join("lock-line.md"), page(line))?;
    plot(line, &dir.join("lock-line.svg"))
}

pub fn page(line: &LockLine) -> String {
    let Pairs { module, script } = line.pairs;
    let waiters = &line.waiters;
    let kilobytes = waiters.bytes_each / 1024.0;
    let latencies = [
        latency("nobody waits", &waiters.alone),
        latency("they wait", &waiters.with_waiters),
        latency("the lock is handed over before each PING", &waiters.with_hand_overs),
    ];
    [
        "# What a lock costs".to_owned(),
        "`make bench` writes this page, `lock-line.json` and the plot.".to_owned(),
        line.place.clone(),
        "## Without contention".to_owned(),
        ALONE.to_owned(),
        format!(
            "| LOCK.ACQUIRE, LOCK.RELEASE | SET NX PX, unlock script | ratio |\n\
             | ---: | ---: | ---: |\n\
             | {module:.2} | {script:.2} | {:.2} |",
            script / module
        ),
        format!("## {CONTENDERS} contenders for one lock"),
        MANNERS_EXPLAINED.to_owned(),
        BURST.to_owned(),
        contention(&line.burst),
        "![Hand-overs per second](lock-line.svg)".to_owned(),
        STEADY.to_owned(),
        contention(&line.steady),
        "## Holders that die".to_owned(),
        killed(&line.killed),
        format!("## {} clients in line", thousands(waiters.clients)),
        format!("A waiter needs {kilobytes:.1} KB beyond its connection. {BUFFERS}"),
        "PING of another client, in microseconds:".to_owned(),
        format!("|  | p50 | p99 |\n| --- | ---: | ---: |\n{}", latencies.join("\n")),
    ]
    .join("\n\n")
        + "\n"
}

const ALONE: &str = "\
Server CPU of an acquisition and its release together, pipelined, in microseconds.";

const MANNERS_EXPLAINED: &str = "\
Each contender has its own connection and does no work while it holds the lock, so only the lock
is measured:

- *LOCK.ACQUIRE .. BLOCK*: this module.
- *SET NX every 50 ms*, *every 1 ms*: polling, released by the usual unlock script.
- *SET NX, then BLPOP of a signal*: released by a script that also pushes to a list, as libraries
  do.
- *BLPOP of the one token*: the client that pops the only element of a list holds the lock. It
  has no owner and no lease: if a holder dies, all others wait forever.

A hand-over is an acquisition by a client other than the previous owner. The time in line is
that from the first request to the acquisition. Server CPU is that of the main thread, divided
by the hand-overs.";

const BURST: &str = "All clients ask at the same moment, each once:";

const STEADY: &str = "\
All clients ask again at once, for several seconds. With polling, the last owner often finds the
lock free while the others sleep: its next acquisition takes no time and is no hand-over, while
others starve:";

const BUFFERS: &str = "\
Nearly all of that is the reply buffers that the\nserver gives every client that a module blocks.";

fn contention(rows: &[Contention]) -> String {
    let head = [
        "manner",
        "hand-overs per second",
        "in line p50, ms",
        "p99, ms",
        "commands per acquisition",
        "server CPU per hand-over, us",
    ];
    let mut lines = vec![format!("| {} |", head.join(" | "))];
    lines.push("| --- | ---: | ---: | ---: | ---: | ---: |".to_owned());
    lines.extend(rows.iter().map(|row| {
        format!(
            "| {} | {} | {:.2} | {:.2} | {:.1} | {:.1} |",
            row.manner.label(),
            thousands(row.hand_overs_per_second.round() as usize),
            row.p50_ms,
            row.p99_ms,
            row.commands_each,
            row.cpu_each
        )
    }));
    lines.join("\n")
}

fn killed(row: &Killed) -> String {
    let Killed { kills, p50_ms, p99_ms, longest_ms } = row;
    format!(
        "Each of {} contenders sends `LOCK.ACQUIRE .. BLOCK .. SESSION`, and every holder's \
         connection is\nclosed as soon as it has the lock, {} times in all. Time from the close to \
         the answer of the next\nholder, in milliseconds:\n\n\
         | p50 | p99 | longest |\n| ---: | ---: | ---: |\n\
         | {p50_ms:.2} | {p99_ms:.2} | {longest_ms:.2} |",
        lock_killed::CONTENDERS,
        thousands(usize::try_from(*kills).unwrap_or(usize::MAX)),
    )
}

fn latency(when: &str, row: &Latency) -> String {
    format!("| {when} | {:.0} | {:.0} |", row.p50, row.p99)
}

/// Hand-overs per second if all ask at once, on a logarithmic scale.
fn plot(line: &LockLine, path: &Path) -> Result<()> {
    let area = SVGBackend::new(path, (1080, 440)).into_drawing_area();
    area.fill(&WHITE)?;
    let title = format!("{CONTENDERS} contenders for one lock: hand-overs per second");
    let area = area.margin(14, 0, 0, 0).titled(&title, (FONT, 24).into_font().color(&INK))?;
    let area = area.titled(&line.place, (FONT, 14).into_font().color(&INK))?;
    let last = MANNERS.len() as f64 - 0.5;
    let mut chart = ChartBuilder::on(&area)
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(74)
        .build_cartesian_2d(-0.5..last, (1.0..100_000.0).log_scale())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(MANNERS.len())
        .x_label_formatter(&|x| name_at(*x))
        .y_label_formatter(&|y| thousands(*y as usize))
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(INK)
        .label_style((FONT, 14).into_font().color(&INK))
        .draw()?;
    let style = (FONT, 14).into_font().color(&INK).pos(Pos::new(HPos::Center, VPos::Bottom));
    for (place, row) in line.burst.iter().enumerate() {
        let (x, top) = (place as f64, row.hand_overs_per_second);
        let fill = if row.manner == Manner::Line { OURS } else { OTHERS }.filled();
        chart.draw_series([Rectangle::new([(x - 0.3, 1.0), (x + 0.3, top)], fill)])?;
        let text = Text::new(thousands(top.round() as usize), (0, -3), style.clone());
        chart.draw_series([EmptyElement::at((x, top)) + text])?;
    }
    area.present()?;
    Ok(())
}

fn name_at(x: f64) -> String {
    let place = x.round();
    let is_there = place >= 0.0 && (x - place).abs() < 0.01;
    let manner = is_there.then(|| MANNERS.get(place as usize)).flatten();
    manner.map_or_else(String::new, |manner| manner.label().to_owned())
}
