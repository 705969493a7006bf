//! Tries on an unmanaged voucher, by every contender that decides them: pipelined, and many in one
//! command.

use crate::Result;
use crate::managed::{Kind, Sale};
use crate::options::Options;
use crate::stand::{AOF, BUY, BUY_BATCH, BUY_ONE_LINE, Stand, evalsha};
use crate::table::{Costs, Table, costs};
use crate::wire::{Load, PIPELINE};

pub const SCRIPT: &str = "script";
pub const NATIVE: &str = "EVALSHA, native";
pub const TRY: &str = "SECKILL.TRY";
pub const MTRY: &str = "SECKILL.MTRY";
pub const GET: &str = "GET";
const ONE_LINE: &str = "one-line script";
const GET_WITH_SCRIPTS: &str = "GET, scripts set";
const BATCH: &str = "batch script";

const TRIES_PER_COMMAND: [usize; 3] = [8, 32, 128];

const SALE: Sale = Sale { voucher: 7, kind: Kind::Unmanaged };
/// The keys of the voucher: its stock, its buyers, its stream of orders.
const KEYS: [&str; 3] = ["seckill:stock:7", "seckill:order:7", "stream.orders"];
/// The buyers of the sale of `make run`, after which it is sold out.
const BUYERS: usize = 1_000;
const FIRST_USER: usize = 1_000_001;
pub const FIRST_ORDER: usize = 314_159_265_358_979_001;
/// Losing tries are sent repeatedly; this many are different.
pub const DIFFERENT: usize = 5_000;

/// The outcomes of a try that the benchmark measures.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    SoldOut,
    Duplicate,
    Accepted,
}

impl Outcome {
    pub fn label(self) -> &'static str {
        ["sold out", "duplicate", "accepted"][self as usize]
    }

    fn reply(self) -> &'static str {
        [":1\r\n", ":2\r\n", ":0\r\n"][self as usize]
    }

    /// The stock at the start of a turn; only accepted tries take `units`.
    fn stock(self, units: usize) -> usize {
        if self == Self::SoldOut { 0 } else { units + 1_000 }
    }

    /// The user and the order id of a try. A duplicate needs a user who has bought, and a sold-out
    /// try one who has not. Users are numbers, as most shops have them; so are order ids.
    fn ids(self, n: usize) -> [String; 2] {
        let user = match self {
            Self::SoldOut => BUYERS + n,
            Self::Duplicate => n % BUYERS,
            Self::Accepted => n,
        };
        [FIRST_USER + user, FIRST_ORDER + n].map(|id| id.to_string())
    }

    /// Sets up the sale for so many tries: accepted ones find an empty one, the others one with
    /// buyers.
    pub fn open(self, stand: &mut Stand, tries: usize) -> Result<()> {
        SALE.open(stand, self.stock(tries))?;
        if self == Self::Accepted {
            return Ok(());
        }
        let users = (0..BUYERS).map(|user| (FIRST_USER + user).to_string());
        let words = ["SADD", KEYS[1]].map(str::to_owned).into_iter().chain(users);
        stand.run(&words.collect::<Vec<_>>())
    }
}

/// So many tries of one outcome as commands of a contender, of which those that can decide many get
/// `each` of them, with as many tries in flight as for the others.
pub fn load(who: &str, outcome: Outcome, tries: usize, (depth, each): (usize, usize)) -> Load {
    let is_batch = matches!(who, BATCH | MTRY);
    let each = if is_batch { each } else { 1 };
    let mut load = Load::new((depth / each).max(1));
    let start = match who {
        SCRIPT | NATIVE => evalsha(BUY, &[]),
        ONE_LINE => evalsha(BUY_ONE_LINE, &[]),
        BATCH => evalsha(BUY_BATCH, &KEYS),
        command => vec![command.to_owned()],
    };
    for first in (0..tries).step_by(each) {
        if matches!(who, GET | GET_WITH_SCRIPTS) {
            let stock = outcome.stock(tries).to_string();
            load.push(&["GET", KEYS[0]], &format!("${}\r\n{stock}\r\n", stock.len()));
            continue;
        }
        let numbers = first..(first + each).min(tries);
        let count = numbers.len();
        let ids = numbers.flat_map(|n| outcome.ids(n)).collect::<Vec<_>>();
        let replies = outcome.reply().repeat(count);
        let reply = if is_batch { format!("*{count}\r\n{replies}") } else { replies };
        load.push(&[&start[..], &[SALE.voucher.to_string()], &ids].concat(), &reply);
    }
    load
}

/// The costs of contenders, the microseconds of server CPU per try.
fn of_outcome(
    stand: &mut Stand,
    options: &Options,
    outcome: Outcome,
    contenders: &[&'static str],
    shape: (usize, usize),
) -> Result<Costs> {
    let (tries, passes) = match outcome {
        Outcome::Accepted => (options.accepted(), 1),
        _ => (DIFFERENT, options.losing() / DIFFERENT),
    };
    let loads: Vec<Load> = contenders.iter().map(|who| load(who, outcome, tries, shape)).collect();
    costs(options.rounds(), contenders, |place| {
        let who = contenders[place];
        stand.answer_natively(matches!(who, NATIVE | GET_WITH_SCRIPTS))?;
        // The first time warms the caches and names.
        outcome.open(stand, tries)?;
        stand.send(&loads[place])?;
        outcome.open(stand, tries)?;
        let micros = stand.measure(&loads[place], passes)?;
        stand.answer_natively(false)?;
        if outcome == Outcome::Accepted {
            let sold = if matches!(who, GET | GET_WITH_SCRIPTS) { 0 } else { tries };
            SALE.prove(stand, [outcome.stock(tries) - sold, 0, sold])?;
        }
        Ok(micros / tries as f64)
    })
}

/// The three outcomes, each on a separate stand, with and without AOF.
pub fn decided(options: &Options) -> Result<Vec<Table>> {
    let contenders = [SCRIPT, ONE_LINE, NATIVE, TRY, GET, GET_WITH_SCRIPTS];
    let title = "Server CPU per try, in microseconds";
    let mut table = Table::new(title, "", &[(SCRIPT, NATIVE), (SCRIPT, TRY)]);
    for outcome in [Outcome::SoldOut, Outcome::Duplicate, Outcome::Accepted] {
        for (aof, with) in AOF {
            let mut stand = Stand::new(aof)?;
            let costs = of_outcome(&mut stand, options, outcome, &contenders, (PIPELINE, 1))?;
            table.push(format!("{}{with}", outcome.label()), costs);
        }
    }
    Ok(vec![table])
}

/// Many tries per command, compared with the same tries one by one; the costs are per try.
pub fn in_batches(options: &Options) -> Result<Vec<Table>> {
    let contenders = [SCRIPT, TRY, BATCH, MTRY];
    let ratios = &[(SCRIPT, BATCH), (SCRIPT, MTRY), (BATCH, MTRY)];
    let title = "Server CPU per try of many in one command, in microseconds";
    let mut table = Table::new(title, "", ratios);
    for (outcome, (aof, with)) in
        [(Outcome::SoldOut, AOF[0]), (Outcome::Accepted, AOF[0]), (Outcome::Accepted, AOF[1])]
    {
        let mut stand = Stand::new(aof)?;
        for each in TRIES_PER_COMMAND {
            let costs = of_outcome(&mut stand, options, outcome, &contenders, (PIPELINE, each))?;
            table.push(format!("{}{with}, {each} per command", outcome.label()), costs);
        }
    }
    Ok(vec![table])
}
