//! The same tries on several servers: what a newer server changes for the script and for the
//! module. All servers run at once and take turns, so that a slow phase of the machine affects all.

use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::Result;
use crate::contender::{Contender, Outcome};
use crate::figures::{Figure, in_rounds};
use crate::grid::{Grid, micros, times};
use crate::machine;
use crate::options::Size;
use crate::stand::{Lab, Stand};
use crate::tries::Tries;
use crate::wire::PIPELINE;

const CONTENDERS: &[Contender] =
    &[Contender::Script, Contender::Native, Contender::Seckill, Contender::Get, Contender::Noop];

#[derive(Serialize)]
pub struct Servers {
    pub place: String,
    pub rows: Vec<Row>,
}

#[derive(Serialize)]
pub struct Row {
    pub outcome: Outcome,
    /// The server's name, version and allocator.
    pub server: String,
    pub costs: Vec<Figure>,
}

/// `programs` are paths or names of server programs.
pub fn measure(lab: &Lab, programs: &[String], size: Size) -> Result<Servers> {
    let mut stands = Vec::new();
    for program in programs {
        // SAFETY: this is the only thread of the program.
        unsafe { std::env::set_var("REDIS_SERVER", program) };
        stands.push(lab.stand(false)?);
    }
    let names = stands.iter_mut().map(name).collect::<Result<Vec<_>>>()?;
    let mut rows = Vec::new();
    for outcome in [Outcome::SoldOut, Outcome::Duplicate, Outcome::Accepted] {
        eprintln!("{}, on {} ...", outcome.label(), names.join(", "));
        let costs = one_outcome(&mut stands, size, outcome)?;
        rows.extend(names.iter().zip(costs).map(|(server, costs)| {
            let server = server.clone();
            Row { outcome, server, costs }
        }));
    }
    let place = format!(
        "{}, {}. CPU time of each server's main thread, lower quartile of {} rounds in one run, in \
         which all servers take turns.",
        machine::cpu_model(),
        machine::today()?,
        size.rounds
    );
    Ok(Servers { place, rows })
}

/// The figures of each server in turn.
fn one_outcome(stands: &mut [Stand], size: Size, outcome: Outcome) -> Result<Vec<Vec<Figure>>> {
    let tries: Vec<Tries> =
        stands.iter().map(|stand| Tries::new(stand, size, outcome, CONTENDERS, PIPELINE)).collect();
    let each = CONTENDERS.len();
    let mut figures = in_rounds(size.rounds, &CONTENDERS.repeat(stands.len()), |place| {
        tries[place / each].turn(&mut stands[place / each], place % each)
    })?;
    let mut costs = Vec::new();
    while !figures.is_empty() {
        costs.push(figures.drain(..each).collect());
    }
    Ok(costs)
}

/// The allocator matters: a server built with the C library's is slower than one with jemalloc.
fn name(stand: &mut Stand) -> Result<String> {
    let info: redis::InfoDict = redis::cmd("INFO").arg("memory").query(&mut stand.control)?;
    let allocator: String = info.get("mem_allocator").ok_or("INFO names no mem_allocator")?;
    Ok(format!("{}, {allocator}", machine::server_name(&mut stand.control)?))
}

impl Servers {
    pub fn grid(&self) -> Grid {
        let names = CONTENDERS.iter().map(|contender| contender.label());
        let ratios =
            ["script / native", "script / SECKILL.TRY", "SECKILL.TRY / GET", "SECKILL.TRY / no-op"];
        let head = ["", "server, allocator"].into_iter().chain(names).chain(ratios);
        let mut grid = Grid::new("Server CPU per try, in microseconds", head);
        for row in &self.rows {
            let mut cells = vec![row.outcome.label().to_owned(), row.server.clone()];
            cells.extend(row.costs.iter().map(|figure| micros(figure.cost)));
            cells.push(times(&row.costs, Contender::Script, Contender::Native));
            cells.push(times(&row.costs, Contender::Script, Contender::Seckill));
            cells.push(times(&row.costs, Contender::Seckill, Contender::Get));
            cells.push(times(&row.costs, Contender::Seckill, Contender::Noop));
            grid.rows.push(cells);
        }
        grid
    }

    /// Writes servers.json and servers.md.
    pub fn write(&self, dir: &Path) -> Result<()> {
        let grid = self.grid();
        let page = format!(
            "# The same tries on several servers\n\n`make bench-servers` writes this page and \
             `servers.json`.\n\n{EXPLAINED}\n\n{}\n\n## {}\n\n{}",
            self.place,
            grid.title,
            grid.markdown()
        );
        fs::write(dir.join("servers.json"), serde_json::to_string_pretty(self)? + "\n")?;
        Ok(fs::write(dir.join("servers.md"), page)?)
    }
}

const EXPLAINED: &str = "\
The contenders are those of [the first table](README.md). *GET* and the *no-op*, a module
command that does nothing, are lower bounds on that server. Compare ratios; compare microseconds
only between servers with the same allocator.";
