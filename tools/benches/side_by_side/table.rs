//! Figures as rows of contenders.

use indicatif::HumanCount;

use crate::Result;

/// The figures of a row: the name of the column, and the value.
pub type Costs = Vec<(&'static str, f64)>;

pub struct Table {
    title: String,
    /// What a reader of the page should know before the figures; may be empty.
    pub note: String,
    /// The head of the column that names a row.
    names: &'static str,
    /// Pairs of columns, of which the first is divided by the second.
    ratios: &'static [(&'static str, &'static str)],
    rows: Vec<(String, Costs)>,
}

impl Table {
    pub fn new(
        title: impl Into<String>,
        names: &'static str,
        ratios: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { title: title.into(), note: String::new(), names, ratios, rows: Vec::new() }
    }

    pub fn push(&mut self, name: impl Into<String>, costs: Costs) {
        self.rows.push((name.into(), costs));
    }

    /// The columns of costs: those of the row that has the most.
    fn columns(&self) -> impl Iterator<Item = &'static str> {
        let row = self.rows.iter().map(|(_, costs)| costs).max_by_key(|costs| costs.len());
        row.into_iter().flatten().map(|(name, _)| *name)
    }

    fn head(&self) -> Vec<String> {
        let ratios = self.ratios.iter().map(|(above, below)| format!("{above} / {below}"));
        [self.names].into_iter().chain(self.columns()).map(str::to_owned).chain(ratios).collect()
    }

    fn cells(&self, (name, costs): &(String, Costs)) -> Vec<String> {
        let cost = |column: &'static str| costs.iter().find(|it| it.0 == column).map(|it| it.1);
        let ratios = self.ratios.iter().map(|&(above, below)| Some(cost(above)? / cost(below)?));
        let figures = self.columns().map(cost).chain(ratios);
        let figures = figures.map(|it| it.map_or_else(|| "-".to_owned(), figure));
        [name.clone()].into_iter().chain(figures).collect()
    }

    /// A section of a page.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let head = self.head();
        let mut text = format!("\n## {}\n\n", self.title);
        if !self.note.is_empty() {
            text += &format!("{}\n\n", self.note);
        }
        text += &line(&head);
        text += &format!("| --- |{}\n", " ---: |".repeat(head.len() - 1));
        text.extend(self.rows.iter().map(|row| line(&self.cells(row))));
        text
    }
}

/// Three digits, or all before the point, in groups of three.
fn figure(value: f64) -> String {
    match value {
        ..9.995 => format!("{value:.2}"),
        ..99.95 => format!("{value:.1}"),
        _ => thousands(value.round() as usize),
    }
}

pub fn thousands(value: usize) -> String {
    HumanCount(value as u64).to_string()
}

/// Runs one turn of each contender per round. Each round starts with the next contender, so that a
/// slow phase of the machine affects all. The round before the first only warms up. `turn` gets the
/// index of its contender. Returns the values of each, the lowest first.
pub fn in_rounds(
    rounds: usize,
    contenders: usize,
    mut turn: impl FnMut(usize) -> Result<f64>,
) -> Result<Vec<Vec<f64>>> {
    let mut values = vec![Vec::new(); contenders];
    for round in 0..=rounds {
        for step in 0..contenders {
            let place = (round + step) % contenders;
            let value = turn(place)?;
            if round > 0 {
                values[place].push(value);
            }
        }
    }
    values.iter_mut().for_each(|values| values.sort_by(f64::total_cmp));
    Ok(values)
}

/// The costs of contenders: the lower quartile of their rounds. Other work on the machine can only
/// increase the cost of a turn, so the expensive turns show that work.
pub fn costs(
    rounds: usize,
    contenders: &[&'static str],
    turn: impl FnMut(usize) -> Result<f64>,
) -> Result<Costs> {
    let values = in_rounds(rounds, contenders.len(), turn)?;
    let quartile = |values: &Vec<f64>| values[(values.len() - 1) / 4];
    Ok(contenders.iter().copied().zip(values.iter().map(quartile)).collect())
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
}
