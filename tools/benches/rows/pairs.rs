//! Two builds of the worker beside each other: they take turns, so that both meet the machine in
//! the same mood, and what counts is the ratio of each pair.

use std::path::Path;

use crate::Result;
use crate::databases::{Database, Kind};
use crate::turns::{Turn, WORKER, name_of, worker_turn};

/// Prints the orders per second of this build, of another, and the median ratio.
pub fn compare(other: &Path, rounds: u32, orders: usize) -> Result<()> {
    println!("| | vouchers | statements | this | other | ratio | lowest | highest |");
    println!("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |");
    for kind in [Kind::Sqlite, Kind::Postgres] {
        // Its server runs for all turns; each turn has its own database.
        let Some(first) = Database::durable(kind) else { continue };
        let name = name_of(&first)?;
        for (is_managed, has_statements) in
            [(false, false), (false, true), (true, false), (true, true)]
        {
            let mut rates = [const { Vec::new() }; 3];
            for round in 0..rounds {
                let mut pair = [0.0; 2];
                // Each of the two is first in every other round.
                for place in [round % 2, 1 - round % 2].map(|place| place as usize) {
                    let worker = [Path::new(WORKER), other][place];
                    let Some(database) = Database::durable(kind) else { continue };
                    let turn = Turn { worker, is_managed, has_statements };
                    let spent = worker_turn(turn, &database, orders)?;
                    pair[place] = orders as f64 / spent.as_secs_f64();
                }
                let [this, other] = pair;
                rates[0].push(this);
                rates[1].push(other);
                rates[2].push(this / other);
            }
            rates.iter_mut().for_each(|rates| rates.sort_by(f64::total_cmp));
            let [this, that, ratio] = &rates;
            let middle = |rates: &Vec<f64>| rates[rates.len() / 2];
            let vouchers = if is_managed { "managed" } else { "unmanaged" };
            let statements = if has_statements { "yes" } else { "no" };
            println!(
                "| {name} | {vouchers} | {statements} | {:.0} | {:.0} | {:.2} | {:.2} | {:.2} |",
                middle(this),
                middle(that),
                middle(ratio),
                ratio[0],
                ratio[ratio.len() - 1]
            );
        }
    }
    Ok(())
}
