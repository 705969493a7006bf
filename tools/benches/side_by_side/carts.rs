//! Carts: SECKILL.TRYALL compared with a try per article, and with a script of the same work.

use crate::Result;
use crate::managed::{Kind, SAME_WORK, Sale, ids};
use crate::options::Options;
use crate::stand::{AOF, MANAGED_TRYALL, Stand, evalsha};
use crate::table::{Costs, Table, costs};
use crate::tries::{DIFFERENT, TRY};
use crate::wire::Load;

pub const TRYALL: &str = "SECKILL.TRYALL";
pub const EACH: &str = "a SECKILL.TRY per article";

const CONTENDERS: [&str; 3] = [SAME_WORK, EACH, TRYALL];
const FIRST_VOUCHER: usize = 11;
/// Carts in flight per connection, so that a batch of any contender fits into one read.
const DEPTH: usize = 50;

/// Carts with these numbers, of a contender: of one unit of each of so many vouchers.
fn load(who: &str, vouchers: usize, carts: std::ops::Range<usize>, codes: &[u8]) -> Load {
    let vouchers: Vec<String> =
        (FIRST_VOUCHER..FIRST_VOUCHER + vouchers).map(|voucher| voucher.to_string()).collect();
    let codes: Vec<String> = codes.iter().map(|code| format!(":{code}\r\n")).collect();
    let depth = if vouchers.len() > 3 { 10 } else { DEPTH };
    let mut load = Load::new(if who == EACH { depth * vouchers.len() } else { depth });
    for n in carts {
        let ids = ids(n);
        let reply = format!("*{}\r\n{}", codes.len(), codes.concat());
        match who {
            EACH => {
                for (voucher, code) in vouchers.iter().zip(&codes) {
                    load.push(&[&[TRY.to_owned(), voucher.clone()], &ids[..]].concat(), code);
                }
            }
            SAME_WORK => {
                load.push(&[&evalsha(MANAGED_TRYALL, &[]), &ids[..], &vouchers].concat(), &reply);
            }
            _ => {
                let articles = vouchers.iter().flat_map(|it| [it.clone(), "1".to_owned()]);
                let words = [TRYALL.to_owned()].into_iter().chain(articles).chain(ids);
                load.push(&words.collect::<Vec<_>>(), &reply);
            }
        }
    }
    load
}

fn open(stand: &mut Stand, kind: Kind, units: &[usize]) -> Result<()> {
    for (voucher, units) in (FIRST_VOUCHER..).zip(units) {
        Sale { voucher, kind }.open(stand, *units)?;
    }
    Ok(())
}

/// Carts of new users that are refused. A try per article would sell what is left, so those are of
/// vouchers that are sold out.
fn refused(options: &Options, codes: &[u8]) -> Result<Costs> {
    let mut stand = Stand::new(false)?;
    let left: Vec<usize> = codes.iter().map(|code| usize::from(*code == 7)).collect();
    let all_sold_out = vec![1; codes.len()];
    let loads = CONTENDERS.map(|who| {
        let codes = if who == EACH { &all_sold_out } else { codes };
        load(who, codes.len(), 0..DIFFERENT, codes)
    });
    let passes = (options.losing() / DIFFERENT).div_ceil(codes.len());
    costs(options.rounds(), &CONTENDERS, |place| {
        let nothing = vec![0; codes.len()];
        open(&mut stand, Kind::Held, if CONTENDERS[place] == EACH { &nothing } else { &left })?;
        stand.send(&loads[place])?;
        Ok(stand.measure(&loads[place], passes)? / DIFFERENT as f64)
    })
}

/// Carts that are made: every turn on new sales, which are audited afterwards.
fn accepted(options: &Options, kind: Kind, aof: bool) -> Result<Costs> {
    const ARTICLES: usize = 3;
    let mut stand = Stand::new(aof)?;
    let carts = options.accepted() / ARTICLES;
    let loads = CONTENDERS.map(|who| load(who, ARTICLES, 0..carts, &[0; ARTICLES]));
    costs(options.rounds(), &CONTENDERS, |place| {
        open(&mut stand, kind, &[carts; ARTICLES])?;
        stand.send(&loads[place])?;
        open(&mut stand, kind, &[carts; ARTICLES])?;
        let micros = stand.measure(&loads[place], 1)? / carts as f64;
        for voucher in FIRST_VOUCHER..FIRST_VOUCHER + ARTICLES {
            let units = if kind == Kind::Held { [0, carts, 0] } else { [0, 0, carts] };
            Sale { voucher, kind }.prove(&mut stand, units)?;
        }
        Ok(micros)
    })
}

pub fn measure(options: &Options) -> Result<Vec<Table>> {
    let mut table = Table::new(
        "Server CPU per cart, in microseconds",
        "",
        &[(TRYALL, EACH), (TRYALL, SAME_WORK)],
    );
    table.push("3 articles, all sold out", refused(options, &[1, 1, 1])?);
    table.push("3 articles, the last sold out", refused(options, &[7, 7, 1])?);
    table.push("1 article, sold out", refused(options, &[1])?);
    for (name, kind) in [("held", Kind::Held), ("sold", Kind::Sold)] {
        for (aof, with) in AOF {
            table.push(format!("3 articles, {name}{with}"), accepted(options, kind, aof)?);
        }
    }
    Ok(vec![table, largest(options)?])
}

/// How long the largest cart, held, occupies the main thread.
fn largest(options: &Options) -> Result<Table> {
    const ARTICLES: usize = domain::carts::ARTICLES_MAX;
    let title = format!("Main thread per SECKILL.TRYALL of {ARTICLES} articles, in milliseconds");
    let mut table = Table::new(title, "", &[]);
    let carts = (options.accepted() / ARTICLES).max(1);
    let load = load(TRYALL, ARTICLES, 0..carts, &[0; ARTICLES]);
    for (aof, with) in AOF {
        let mut stand = Stand::new(aof)?;
        let costs = costs(options.rounds(), &[TRYALL], |_| {
            open(&mut stand, Kind::Held, &[carts; ARTICLES])?;
            Ok(stand.measure(&load, 1)? / 1e3 / carts as f64)
        })?;
        table.push(format!("held{with}"), costs);
    }
    Ok(table)
}
