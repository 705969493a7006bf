//! The figures of managed sales as tables.

use crate::contender::Contender;
use crate::figures::cost_of;
use crate::grid::{Grid, micros, thousands, times};
use crate::managed::{Managed, deeds, sold_out};

/// The tables of costs.
pub fn costs(managed: &Managed) -> Vec<Grid> {
    vec![sold_out(managed), deeds(managed)]
}

pub fn others(managed: &Managed) -> Vec<Grid> {
    vec![memory(managed), expiry(managed)]
}

fn sold_out(managed: &Managed) -> Grid {
    let names = sold_out::CONTENDERS.iter().map(|who| who.label());
    let ratios = ["script / managed", "managed / unmanaged"];
    let head = ["orders sold"].into_iter().chain(names).chain(ratios);
    let mut grid =
        Grid::new("Server CPU per sold-out try of a managed sale, in microseconds", head);
    for sale in &managed.sold_out {
        let mut row = vec![thousands(sale.orders)];
        row.extend(sale.costs.iter().map(|figure| micros(figure.cost)));
        row.push(times(&sale.costs, Contender::Script, Contender::ManagedHold));
        row.push(times(&sale.costs, Contender::ManagedHold, Contender::Seckill));
        grid.rows.push(row);
    }
    grid
}

fn deeds(managed: &Managed) -> Grid {
    let names = deeds::CONTENDERS.iter().map(|who| who.label());
    let head = [""].into_iter().chain(names).chain(["script / command"]);
    let title = "Server CPU of what changes a managed sale, in microseconds";
    let mut grid = Grid::new(title, head);
    for deed in &managed.deeds {
        let mut row = vec![deed.name()];
        row.extend(
            deeds::CONTENDERS
                .iter()
                .map(|who| cost_of(&deed.costs, *who).map_or_else(|| "-".to_owned(), micros)),
        );
        row.push(format!("{:.2}", deed.script_to_seckill));
        grid.rows.push(row);
    }
    grid
}

fn memory(managed: &Managed) -> Grid {
    let mut grid =
        Grid::new("Memory of a managed sale, bytes per order", ["", "held", "sold", "cancelled"]);
    let Some(memory) = &managed.memory else { return grid };
    grid.title = format!(
        "Memory of a managed sale of {} orders, in bytes per order",
        thousands(memory.orders)
    );
    let rows = memory.keys.iter().map(|key| (format!("`{}`", key.key), key.bytes));
    for (name, bytes) in rows.chain([("used_memory".to_owned(), memory.grown)]) {
        let mut row = vec![name];
        row.extend([bytes.held, bytes.sold, bytes.cancelled].map(|bytes| format!("{bytes:.0}")));
        grid.rows.push(row);
    }
    grid
}

fn expiry(managed: &Managed) -> Grid {
    let mut grid = Grid::new(
        "Holds due at once, and the PINGs of another client meanwhile, in milliseconds",
        [
            "holds",
            "all released in",
            "p50",
            "p99",
            "p99.9",
            "longest",
            "p99.9 idle",
            "longest idle",
        ],
    );
    for line in &managed.expiry {
        let aof = if line.aof { ", AOF everysec" } else { "" };
        let mut row = vec![
            format!("{}{aof}", thousands(line.holds)),
            format!("{} ms", thousands((line.seconds * 1e3).round() as usize)),
        ];
        let due = &line.due;
        let idle = &line.idle;
        let waits = [due.p50_ms, due.p99_ms, due.p999_ms, due.max_ms, idle.p999_ms, idle.max_ms];
        row.extend(waits.map(|ms| format!("{ms:.2}")));
        grid.rows.push(row);
    }
    grid
}
