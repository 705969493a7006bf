//! The frames: one as text, or one after the other in the terminal.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, TrySendError, sync_channel};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::text::Span;
use ratatui::{DefaultTerminal, Terminal};
use seckill_tools::server_errors::with_causes;
use seckill_tools::signals::asked_to_end;

use crate::options::{Options, Size};
use crate::reading::Reading;
use crate::screen::{Panel, View, draw, scrolled_rows};
use crate::source::Source;

/// How long a key may wait for its effect.
const KEY_WAIT: Duration = Duration::from_millis(50);

/// Prints one frame, after the readings that were asked for.
pub async fn print_once(options: &Options) -> Result<()> {
    let mut source = Source::new(options)?;
    let mut view = View::default();
    for number in 0..options.readings {
        if number > 0 {
            tokio::time::sleep(options.interval).await;
        }
        view.history.push(source.read().await?);
    }
    let frame = frame(&view, options.size)?;
    std::io::stdout().write_all(text(&frame).as_bytes()).context("printing")?;
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

/// Draws in the terminal until somebody presses q, or asks the program to end.
pub async fn watch(options: &Options) -> Result<()> {
    let has_terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    ensure!(has_terminal, "no terminal to draw in; --once prints one frame");
    let ends = asked_to_end()?;
    let readings = read_on(Source::new(options)?, options.interval);
    let must_end = Arc::new(AtomicBool::new(false));
    let must_end_too = Arc::clone(&must_end);
    tokio::spawn(async move {
        ends.await;
        must_end_too.store(true, Relaxed);
    });
    let mut terminal = ratatui::try_init().context("the terminal")?;
    // Keys are waited for by a thread that does nothing else.
    let watched = tokio::task::block_in_place(|| show(&mut terminal, &readings, &must_end));
    ratatui::restore();
    watched
}

/// Reads again and again in a task of its own, so that a slow server leaves the keys alone.
fn read_on(mut source: Source, interval: Duration) -> Receiver<Result<Reading, String>> {
    let (sender, readings) = sync_channel(1);
    tokio::spawn(async move {
        loop {
            let reading = source.read().await.map_err(|error| with_causes(&error));
            // There is room as long as the frames are drawn; else the latest is let go.
            if let Err(TrySendError::Disconnected(_)) = sender.try_send(reading) {
                return;
            }
            tokio::time::sleep(interval).await;
        }
    });
    readings
}

fn show(
    terminal: &mut DefaultTerminal,
    readings: &Receiver<Result<Reading, String>>,
    must_end: &AtomicBool,
) -> Result<()> {
    let mut view = View { has_keys: true, ..View::default() };
    let mut is_stale = true;
    while !must_end.load(Relaxed) {
        while let Ok(reading) = readings.try_recv() {
            is_stale = true;
            match reading {
                Ok(reading) => {
                    view.trouble = None;
                    view.history.push(reading);
                }
                Err(trouble) => view.trouble = Some(format!("trying again: {trouble}")),
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
    Ok(())
}

fn scroll(view: &mut View, key: KeyCode) {
    if matches!(key, KeyCode::Tab | KeyCode::BackTab) {
        view.focus = match view.focus {
            Panel::Vouchers => Panel::Streams,
            Panel::Streams => Panel::Vouchers,
        };
    }
    let rows = view.history.now().map_or(0, |now| scrolled_rows(now, view.focus));
    let last = rows.saturating_sub(1);
    let scrolled = &mut view.scrolled[view.focus as usize];
    *scrolled = match key {
        KeyCode::Up => scrolled.saturating_sub(1),
        KeyCode::Down => *scrolled + 1,
        KeyCode::PageUp => scrolled.saturating_sub(10),
        KeyCode::PageDown => *scrolled + 10,
        KeyCode::Home => 0,
        KeyCode::End => last,
        _ => *scrolled,
    }
    .min(last);
}
