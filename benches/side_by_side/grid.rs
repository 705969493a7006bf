//! A table for the terminal and for a page, and the format of its figures.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};

use crate::contender::Contender;
use crate::figures::{Figure, cost_of};

/// A table before formatting: the first column names the row, the other columns are figures.
pub struct Grid {
    pub title: String,
    head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Grid {
    pub fn new<'a>(title: impl Into<String>, head: impl IntoIterator<Item = &'a str>) -> Self {
        let head = head.into_iter().map(str::to_owned).collect();
        Self { title: title.into(), head, rows: Vec::new() }
    }

    pub fn terminal(&self) -> Table {
        let mut table = Table::new();
        table.load_preset(UTF8_FULL_CONDENSED).set_header(&self.head).add_rows(&self.rows);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }

    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let mut text = line(&self.head);
        text += &format!("| --- |{}\n", " ---: |".repeat(self.head.len() - 1));
        text.extend(self.rows.iter().map(|row| line(row)));
        text
    }
}

pub fn micros(value: f64) -> String {
    format!("{value:.2}")
}

/// The cost of `above` divided by the cost of `below`.
pub fn times(figures: &[Figure], above: Contender, below: Contender) -> String {
    match (cost_of(figures, above), cost_of(figures, below)) {
        (Some(above), Some(below)) => format!("{:.2}", above / below),
        _ => "-".to_owned(),
    }
}

/// Digits in groups of three.
pub fn thousands(value: usize) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
