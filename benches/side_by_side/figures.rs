//! Turns of contenders in rounds, and the figures computed from a contender's turns.

use serde::Serialize;

use crate::Result;
use crate::contender::Contender;

/// One figure of a contender over all rounds, in the unit of its turns.
#[derive(Serialize)]
pub struct Figure {
    pub contender: Contender,
    /// The lower quartile, which counts as the cost. Other work on the machine can only increase
    /// the cost of a turn, so the expensive turns show that work.
    pub cost: f64,
    pub median: f64,
    pub lowest: f64,
    pub highest: f64,
}

/// Runs one turn of each contender per round. Each round starts with the next contender, so that a
/// slow phase of the machine affects all. The round before the first only warms up. `turn` gets the
/// index of its contender in `contenders`.
pub fn in_rounds(
    rounds: u32,
    contenders: &[Contender],
    mut turn: impl FnMut(usize) -> Result<f64>,
) -> Result<Vec<Figure>> {
    let mut values: Vec<Vec<f64>> = contenders.iter().map(|_| Vec::new()).collect();
    for round in 0..=rounds as usize {
        for step in 0..contenders.len() {
            let place = (round + step) % contenders.len();
            let value = turn(place)?;
            if round > 0 {
                values[place].push(value);
            }
        }
    }
    Ok(contenders.iter().zip(values).map(|(&who, values)| Figure::of(who, values)).collect())
}

/// The middle value, or the mean of the two in the middle.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

impl Figure {
    fn of(contender: Contender, mut values: Vec<f64>) -> Self {
        let median = median(&mut values);
        let last = values.len() - 1;
        let cost = values[last / 4];
        // Digits below a tenth of a nanosecond are noise.
        let round = |value: f64| (value * 1e4).round() / 1e4;
        let (lowest, highest) = (round(values[0]), round(values[last]));
        Self { contender, cost: round(cost), median: round(median), lowest, highest }
    }
}

/// The cost of one contender among several.
pub fn cost_of(figures: &[Figure], contender: Contender) -> Option<f64> {
    figures.iter().find(|figure| figure.contender == contender).map(|figure| figure.cost)
}

/// The cost of `above` divided by the cost of `below`, to three places.
pub fn ratio(figures: &[Figure], above: Contender, below: Contender) -> Result<f64> {
    match (cost_of(figures, above), cost_of(figures, below)) {
        (Some(above), Some(below)) => Ok((above / below * 1e3).round() / 1e3),
        _ => Err("a contender had no turn".into()),
    }
}
