//! The frames: one as text, or one after the other in the terminal.

use std::io::{IsTerminal as _, Write as _};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::text::Span;
use ratatui::{DefaultTerminal, Terminal};

use crate::options::{Options, Size};
use crate::reading::Reading;
use crate::screen::{View, draw};
use crate::shown::shown;
use crate::source::Source;
use crate::svg::svg;

/// How long a key may wait for its effect.
const KEY_WAIT: Duration = Duration::from_millis(50);
const KEYS: &str = "q quits, arrows scroll the vouchers";

/// Prints one frame, after the readings that were asked for.
pub fn print_once(options: &Options) -> Result<()> {
    let mut source = Source::new(options)?;
    let mut view = View::default();
    for number in 0..options.readings {
        if number > 0 {
            std::thread::sleep(options.interval);
        }
        view.history.push(source.read()?);
    }
    let frame = frame(&view, options.size)?;
    std::io::stdout().write_all(text(&frame).as_bytes()).context("printing")?;
    if let Some(file) = &options.svg {
        std::fs::write(file, svg(&frame)).with_context(|| format!("--svg {}", file.display()))?;
    }
    Ok(())
}

/// A frame without a terminal.
pub fn frame(view: &View, size: Size) -> Result<Buffer> {
    let mut terminal = Terminal::new(TestBackend::new(size.columns, size.rows))?;
    terminal.draw(|frame| draw(frame, view))?;
    Ok(terminal.backend().buffer().clone())
}

/// A frame as lines, without blanks at their ends.
pub fn text(frame: &Buffer) -> String {
    let mut text = String::new();
    for row in 0..frame.area().height {
        let mut line = String::new();
        let mut column = 0;
        while column < frame.area().width {
            let symbol = frame[(column, row)].symbol();
            line += symbol;
            // Behind a wide letter is a cell that has none.
            column += u16::try_from(Span::raw(symbol).width()).unwrap_or(1).max(1);
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// Draws in the terminal until somebody presses q.
pub fn watch(options: &Options) -> Result<()> {
    let has_terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    ensure!(has_terminal, "no terminal to draw in; --once prints one frame");
    let source = Source::new(options)?;
    let readings = read_on(source, options.interval);
    let mut terminal = ratatui::try_init().context("the terminal")?;
    let watched = show(&mut terminal, &readings);
    ratatui::restore();
    watched
}

/// Reads again and again in a thread of its own, so that a slow server leaves the keys alone.
fn read_on(mut source: Source, interval: Duration) -> Receiver<Result<Reading, String>> {
    let (sender, readings) = sync_channel(1);
    std::thread::spawn(move || {
        loop {
            let reading = source.read().map_err(|error| shown(&format!("{error:#}")));
            if sender.send(reading).is_err() {
                return;
            }
            std::thread::sleep(interval);
        }
    });
    readings
}

fn show(
    terminal: &mut DefaultTerminal,
    readings: &Receiver<Result<Reading, String>>,
) -> Result<()> {
    let mut view = View { keys: KEYS, ..View::default() };
    let mut is_stale = true;
    loop {
        while let Ok(reading) = readings.try_recv() {
            is_stale = true;
            match reading {
                Ok(reading) => {
                    view.trouble = None;
                    view.history.push(reading);
                }
                Err(trouble) => view.trouble = Some(format!("{trouble}; trying again")),
            }
        }
        if is_stale {
            terminal.draw(|frame| draw(frame, &view))?;
            is_stale = false;
        }
        if !event::poll(KEY_WAIT)? {
            continue;
        }
        is_stale = true;
        let Event::Key(key) = event::read()? else { continue };
        let is_interrupt =
            key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            _ if key.kind == KeyEventKind::Release => {}
            KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
            _ if is_interrupt => return Ok(()),
            _ => scroll(&mut view, key.code),
        }
    }
}

fn scroll(view: &mut View, key: KeyCode) {
    let last = view.history.now().map_or(0, |now| now.vouchers.len().saturating_sub(1));
    view.scrolled = match key {
        KeyCode::Up => view.scrolled.saturating_sub(1),
        KeyCode::Down => view.scrolled + 1,
        KeyCode::PageUp => view.scrolled.saturating_sub(10),
        KeyCode::PageDown => view.scrolled + 10,
        KeyCode::Home => 0,
        KeyCode::End => last,
        _ => view.scrolled,
    }
    .min(last);
}
