//! The results as tables: on the terminal, and as a page.

use crate::cluster;
use crate::contender::{Contender, DECIDING, Outcome, SELLING};
use crate::figures::Figure;
use crate::grid::{Grid, micros, thousands, times};
use crate::latency::CONNECTIONS;
use crate::managed_tables;
use crate::results::Results;

const PAGE_START: &str = "\
# What a try costs

`make bench` writes this page, `results.json` and the plots.

- *script*: the usual Lua script, by EVALSHA.
- *one-line script*: `return redis.call('SECKILL.TRY', ...)` instead of the usual one, by
  EVALSHA.
- *RM_Call steps*: a module command in which every step is a call of a Redis command.
- *EVALSHA, native*: the EVALSHA of *script*, byte for byte, while `seckill.scripts` names it.
- *SECKILL.TRY*: this module.
- *managed*: SECKILL.TRY on a voucher made by SECKILL.CREATE, sold at once or, with HOLD, held
  until a deadline; *script of the same work*: a script with the checks, keys and fields of the
  command beside it (`benches/side_by_side/scripts/`).
- *GET*: a GET of the stock. *no-op*: a module command with the arguments of a try that does
  nothing, the lower bound for any command. *GET, scripts set*: the same GET while
  `seckill.scripts` names a script.
- *batch script*: a script that decides many tries, with one command per key
  (`benches/side_by_side/scripts/try_batch.lua`), as a module command would; its cost is per try.
- *stock script*, *unlock script*: the usual ones. *INCREX*, *DELEX*, *DELIFEQ*: the equivalent
  commands of newer servers, if the server has them.
- *How long the main thread is held*: operations that affect the whole server, with many other
  keys. A *turn* of the event loop is measured inside the server, in CPU time. *PING* is the
  longest answer to another client in that time; it includes delays of the machine, so compare
  it with the first row, in which nothing happens.

All contenders take turns on one server in one run, and each reply is checked. Absolute times
depend on the machine; the ratios hardly do. Losing tries find 1,000 users who have bought,
duplicates are tries of these users, and accepted tries fill an empty sale. The cluster is one
node with all slots; there the script declares its keys.

";

pub fn print(results: &Results) {
    println!("{}", about(results));
    for grid in grids(results) {
        println!("\n{}", grid.title);
        println!("{}", grid.terminal());
    }
    if !results.targets.is_empty() {
        println!("\nTargets");
        println!("{}", targets(results).terminal());
    }
}

/// The page with all results, in the same directory as the plots.
pub fn page(results: &Results) -> String {
    let mut text = PAGE_START.to_owned();
    text += &format!("{}\n", about(results));
    for grid in grids(results) {
        text += &format!("\n## {}\n\n{}", grid.title, grid.markdown());
    }
    text += "\n## Plots\n";
    if !results.decisions.is_empty() {
        text += "\n![Server CPU per try, by outcome and contender](bars.svg)\n";
    }
    if !results.growth.is_empty() {
        text += "\n![Server CPU per try as the set of buyers grows](growth.svg)\n";
    }
    if !results.managed.deeds.is_empty() {
        text += "\n![Server CPU per command on a managed sale](managed.svg)\n";
    }
    text
}

fn about(results: &Results) -> String {
    let Results { server, cpu, cores, date, method, .. } = results;
    format!(
        "{server}, {cpu}, {cores} cores, {date}. CPU time of the server's {}, lower quartile of \
         {} rounds in one run, {} connections with {} commands in flight each.",
        method.cpu_clock, method.rounds, method.pipelined_connections, method.pipeline
    )
}

fn grids(results: &Results) -> Vec<Grid> {
    [
        decisions(results),
        cluster(results),
        batches(results),
        full_batches(results),
        latency(results),
        growth(results),
        vouchers(results),
        locks(results),
        stocks(results),
    ]
    .into_iter()
    .chain(managed_tables::costs(&results.managed))
    .chain(managed_tables::others(&results.managed))
    .chain([pauses(results)])
    .filter(|grid| !grid.rows.is_empty())
    .collect()
}

fn decisions(results: &Results) -> Grid {
    let names = DECIDING.iter().map(|c| c.label());
    let head = [""].into_iter().chain(names);
    let head = head.chain(["script / native", "script / SECKILL.TRY"]);
    let mut grid = Grid::new("Server CPU per try, in microseconds", head);
    for decision in &results.decisions {
        let mut row = vec![decision.name()];
        row.extend(decision.costs.iter().map(|figure| micros(figure.cost)));
        row.push(times(&decision.costs, Contender::Script, Contender::Native));
        row.push(times(&decision.costs, Contender::Script, Contender::Seckill));
        grid.rows.push(row);
    }
    grid
}

fn cluster(results: &Results) -> Grid {
    let names = cluster::CONTENDERS.iter().map(|c| c.label());
    let ratios = ["script / SECKILL.TRY", "script / SECKILL.TRYKEYS"];
    let head = [""].into_iter().chain(names).chain(ratios);
    let title = format!(
        "Server CPU per try in a cluster, in microseconds, with {} commands in flight",
        cluster::DEPTH
    );
    let mut grid = Grid::new(title, head);
    for tries in &results.cluster {
        let mut row = vec![tries.outcome.label().to_owned()];
        row.extend(tries.costs.iter().map(|figure| micros(figure.cost)));
        row.push(times(&tries.costs, Contender::DeclaredScript, Contender::Seckill));
        row.push(times(&tries.costs, Contender::DeclaredScript, Contender::TryKeys));
        grid.rows.push(row);
    }
    grid
}

fn latency(results: &Results) -> Grid {
    let title =
        format!("One try in flight on each of {CONNECTIONS} connections, times in microseconds");
    let mut grid = Grid::new(title, ["", "tries per second", "p50", "p99", "p99.9"]);
    for line in &results.latency {
        let name = format!("{}, {}", line.outcome.label(), line.contender.label());
        let mut row = vec![name, thousands(line.commands_per_second as usize)];
        row.extend([line.p50, line.p99, line.p999].map(|time| thousands(time.round() as usize)));
        grid.rows.push(row);
    }
    grid
}

fn growth(results: &Results) -> Grid {
    let names = SELLING.iter().map(|c| c.label());
    let head = ["", "buyers"].into_iter().chain(names).chain(["script / SECKILL.TRY"]);
    let mut grid =
        Grid::new("Server CPU per try as the set of buyers grows, in microseconds", head);
    for outcome in [Outcome::Duplicate, Outcome::Accepted] {
        for point in results.growth.iter().filter(|point| point.outcome == outcome) {
            let mut row = vec![outcome.label().to_owned(), thousands(point.buyers)];
            row.extend(point.costs.iter().map(|figure| micros(figure.cost)));
            row.push(times(&point.costs, Contender::Script, Contender::Seckill));
            grid.rows.push(row);
        }
    }
    grid
}

fn vouchers(results: &Results) -> Grid {
    let names = ["script", "RM_Call steps", "SECKILL.TRY", "GET", "script / SECKILL.TRY"];
    let head = ["vouchers in turn"].into_iter().chain(names);
    let mut grid = Grid::new("Server CPU per sold-out try, in microseconds", head);
    for spread in &results.vouchers {
        let mut row = vec![thousands(spread.vouchers)];
        row.extend(spread.costs.iter().map(|figure| micros(figure.cost)));
        row.push(times(&spread.costs, Contender::Script, Contender::Seckill));
        grid.rows.push(row);
    }
    grid
}

fn batches(results: &Results) -> Grid {
    let Some(first) = results.batches.first() else { return Grid::new("", [""]) };
    let names = first.costs.iter().map(|figure| figure.contender.label());
    let ratios = ["script / batch script", "script / SECKILL.MTRY", "batch script / SECKILL.MTRY"];
    let mut grid = Grid::new(
        "Server CPU per try of many in one command, in microseconds",
        [""].into_iter().chain(names).chain(ratios),
    );
    for batch in &results.batches {
        let mut row = vec![batch.name()];
        row.extend(batch.costs.iter().map(|figure| micros(figure.cost)));
        row.push(times(&batch.costs, Contender::Script, Contender::BatchScript));
        row.push(times(&batch.costs, Contender::Script, Contender::Mtry));
        row.push(times(&batch.costs, Contender::BatchScript, Contender::Mtry));
        grid.rows.push(row);
    }
    grid
}

fn full_batches(results: &Results) -> Grid {
    let rows = &results.full_batches;
    let tries = thousands(rows.first().map_or(0, |row| row.tries));
    let title = format!("Main thread per SECKILL.MTRY of {tries} accepted tries, in milliseconds");
    let mut grid = Grid::new(title, ["voucher", "no AOF", "AOF everysec"]);
    for pair in rows.chunks(2) {
        let name = pair.iter().take(1).map(|row| row.sale.to_owned());
        grid.rows.push(name.chain(pair.iter().map(|row| micros(row.milliseconds.cost))).collect());
    }
    grid
}

fn locks(results: &Results) -> Grid {
    let rows = results.locks.iter().map(|line| (line.release.label(), line.costs.as_slice()));
    beside(
        "Server CPU per release of a lock, in microseconds",
        rows.collect(),
        (Contender::UnlockScript, Contender::LockRelease),
    )
}

fn stocks(results: &Results) -> Grid {
    let rows = results.stocks.iter().map(|line| (line.deduction.label(), line.costs.as_slice()));
    beside(
        "Server CPU per deduction from a bare stock, in microseconds",
        rows.collect(),
        (Contender::StockScript, Contender::Deduct),
    )
}

/// Rows of the same contenders, if the server has their commands, and one ratio per row.
fn beside(
    title: &str,
    rows: Vec<(&str, &[Figure])>,
    (above, below): (Contender, Contender),
) -> Grid {
    let names = rows.first().map_or(&[][..], |(_, costs)| costs);
    let names = names.iter().map(|figure| figure.contender.label());
    let ratio = format!("{} / {}", above.label(), below.label());
    let head = [""].into_iter().chain(names).chain([ratio.as_str()]);
    let mut grid = Grid::new(title, head);
    for (name, costs) in rows {
        let mut row = vec![name.to_owned()];
        row.extend(costs.iter().map(|figure| micros(figure.cost)));
        row.push(times(costs, above, below));
        grid.rows.push(row);
    }
    grid
}

fn pauses(results: &Results) -> Grid {
    let pauses = &results.pauses;
    let title = format!(
        "How long the main thread is held at a time, with {} other keys and {} holds, in \
         milliseconds",
        thousands(pauses.keys),
        thousands(pauses.holds)
    );
    let head = [
        "",
        "the command",
        "longest turn",
        "highest of the rounds",
        "longest PING",
        "lowest of the rounds",
    ];
    let mut grid = Grid::new(title, head);
    for row in &pauses.rows {
        let figures = [
            row.command.median,
            row.longest_turn.median,
            row.longest_turn.highest,
            row.longest_ping.median,
            row.longest_ping.lowest,
        ];
        let name = std::iter::once(row.event.to_owned());
        grid.rows.push(name.chain(figures.map(micros)).collect());
    }
    grid
}

fn targets(results: &Results) -> Grid {
    let mut grid = Grid::new("Targets", ["", "wanted", "measured", ""]);
    for target in &results.targets {
        let verdict = if target.reached { "reached" } else { "NOT REACHED" };
        grid.rows.push(vec![
            target.what.to_owned(),
            micros(target.wanted),
            micros(target.measured),
            verdict.to_owned(),
        ]);
    }
    grid
}
