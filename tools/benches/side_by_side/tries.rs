//! Tries on unmanaged vouchers, by every contender that decides them: pipelined, many in one
//! command, on several servers.

use crate::Result;
use crate::options::Size;
use crate::stand::{AOF, BUY, BUY_BATCH, BUY_ONE_LINE, Stand, evalsha, keys};
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

pub const DECIDED: &str = "Server CPU per try, in microseconds";
pub const BATCHES: &str = "Server CPU per try of many in one command, in microseconds";

const TRIES_PER_COMMAND: [usize; 3] = [8, 32, 128];

const VOUCHER: usize = 7;
/// The buyers of the sale of `make run`, after which it is sold out.
const BUYERS: usize = 1_000;
pub const FIRST_USER: usize = 1_000_001;
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

pub const OUTCOMES: [Outcome; 3] = [Outcome::SoldOut, Outcome::Duplicate, Outcome::Accepted];

impl Outcome {
    pub fn label(self) -> &'static str {
        match self {
            Self::SoldOut => "sold out",
            Self::Duplicate => "duplicate",
            Self::Accepted => "accepted",
        }
    }

    fn reply(self) -> &'static str {
        match self {
            Self::SoldOut => ":1\r\n",
            Self::Duplicate => ":2\r\n",
            Self::Accepted => ":0\r\n",
        }
    }

    /// The stock at the start of a turn; only accepted tries take `units`.
    pub fn stock(self, units: usize) -> usize {
        match self {
            Self::SoldOut => 0,
            Self::Duplicate | Self::Accepted => units + 1_000,
        }
    }
}

/// The arguments of one try. Users are numbers, as most shops have them; so are order ids.
#[derive(Clone, Copy)]
pub struct Try {
    pub voucher: usize,
    pub user: usize,
    pub order: usize,
}

impl Try {
    /// A duplicate needs a user who has bought; a sold-out try needs a user who has not.
    fn number(n: usize, outcome: Outcome) -> Self {
        let user = match outcome {
            Outcome::SoldOut => BUYERS + n,
            Outcome::Duplicate => n % BUYERS,
            Outcome::Accepted => n,
        };
        Self { voucher: VOUCHER, user: FIRST_USER + user, order: FIRST_ORDER + n }
    }
}

/// One command of a contender, which decides these tries.
fn words(who: &str, tries: &[Try]) -> Vec<String> {
    let voucher = tries[0].voucher;
    let keys = keys(voucher);
    let keys = keys.each_ref().map(|key| key.as_str());
    let mut words = match who {
        SCRIPT | NATIVE => evalsha(BUY, &[]),
        ONE_LINE => evalsha(BUY_ONE_LINE, &[]),
        BATCH => evalsha(BUY_BATCH, &keys),
        GET | GET_WITH_SCRIPTS => return vec!["GET".to_owned(), keys[0].to_owned()],
        command => vec![command.to_owned()],
    };
    words.push(voucher.to_string());
    words.extend(tries.iter().flat_map(|one| [one.user, one.order]).map(|id| id.to_string()));
    words
}

/// The tries of one outcome as commands of a contender, of which those that can decide many get
/// `each` of them, with as many tries in flight as for the others.
pub fn load(
    who: &str,
    outcome: Outcome,
    tries: &[Try],
    (depth, each): (usize, usize),
    stock: usize,
) -> Load {
    let is_batch = matches!(who, BATCH | MTRY);
    let each = if is_batch { each } else { 1 };
    let mut load = Load::new((depth / each).max(1));
    for tries in tries.chunks(each) {
        let reply = match who {
            GET | GET_WITH_SCRIPTS => format!("${}\r\n{stock}\r\n", stock.to_string().len()),
            _ if is_batch => format!("*{}\r\n{}", tries.len(), outcome.reply().repeat(tries.len())),
            _ => outcome.reply().to_owned(),
        };
        load.push(&words(who, tries), &reply);
    }
    load
}

/// Tries of one outcome on one voucher, which contenders send in turn.
struct Tries {
    outcome: Outcome,
    contenders: Vec<(&'static str, Load)>,
    stock: usize,
    tries: usize,
    passes: usize,
}

impl Tries {
    fn new(
        size: &Size,
        outcome: Outcome,
        contenders: &[&'static str],
        shape: (usize, usize),
    ) -> Self {
        let (tries, passes) = match outcome {
            Outcome::Accepted => (size.accepted, 1),
            _ => (DIFFERENT, size.losing / DIFFERENT),
        };
        let stock = outcome.stock(tries);
        let all: Vec<Try> = (0..tries).map(|n| Try::number(n, outcome)).collect();
        let spelled = |&who| (who, load(who, outcome, &all, shape, stock));
        let contenders = contenders.iter().map(spelled).collect();
        Self { outcome, contenders, stock, tries, passes }
    }

    /// The microseconds of server CPU per try of the contender at this index, sent twice: the first
    /// time warms its caches and names.
    fn turn(&self, stand: &mut Stand, place: usize) -> Result<f64> {
        let (who, load) = &self.contenders[place];
        let wants_scripts = matches!(*who, NATIVE | GET_WITH_SCRIPTS);
        stand.answer_natively(wants_scripts)?;
        self.open(stand)?;
        stand.send(load)?;
        self.open(stand)?;
        let micros = stand.measure(load, self.passes)?;
        stand.answer_natively(false)?;
        let sells = self.outcome == Outcome::Accepted && !matches!(*who, GET | GET_WITH_SCRIPTS);
        if self.outcome == Outcome::Accepted {
            self.prove(stand, if sells { self.tries } else { 0 })?;
        }
        Ok(micros / self.tries as f64)
    }

    /// Sets up the sale: accepted tries find an empty one, the others one with buyers.
    fn open(&self, stand: &mut Stand) -> Result<()> {
        let [stock, buyers, orders] = keys(VOUCHER);
        let () = stand.run(&["DEL", &buyers, &orders])?;
        let () = stand.run(&["SET", &stock, &self.stock.to_string()])?;
        if self.outcome == Outcome::Accepted {
            return Ok(());
        }
        let users = (FIRST_USER..FIRST_USER + BUYERS).map(|user| user.to_string());
        stand.run(&["SADD".to_owned(), buyers].into_iter().chain(users).collect::<Vec<_>>())
    }

    /// The replies were checked already; this checks that the keys agree with them.
    fn prove(&self, stand: &mut Stand, units: usize) -> Result<()> {
        let [stock, buyers, orders] = keys(VOUCHER);
        let left: usize = stand.run(&["GET", &stock])?;
        let bought: usize = stand.run(&["SCARD", &buyers])?;
        let entries: usize = stand.run(&["XLEN", &orders])?;
        if left + units == self.stock && bought == units && entries == units {
            return Ok(());
        }
        let stock = self.stock;
        Err(format!("{units} sold, yet {left} of {stock}, {bought} buyers, {entries} orders")
            .into())
    }
}

fn of_outcome(
    stand: &mut Stand,
    size: &Size,
    outcome: Outcome,
    contenders: &[&'static str],
    shape: (usize, usize),
) -> Result<Costs> {
    let tries = Tries::new(size, outcome, contenders, shape);
    costs(size.rounds, contenders, |place| tries.turn(stand, place))
}

/// The three outcomes, each on a separate stand, with and without AOF.
pub fn decided(size: &Size) -> Result<Vec<Table>> {
    let contenders = [SCRIPT, ONE_LINE, NATIVE, TRY, GET, GET_WITH_SCRIPTS];
    let mut table = Table::new(DECIDED, &[""], &[(SCRIPT, NATIVE), (SCRIPT, TRY)]);
    for outcome in OUTCOMES {
        for (aof, with) in AOF {
            let mut stand = Stand::new(aof)?;
            let costs = of_outcome(&mut stand, size, outcome, &contenders, (PIPELINE, 1))?;
            table.push(format!("{}{with}", outcome.label()), costs);
        }
    }
    Ok(vec![table])
}

/// Many tries per command, compared with the same tries one by one; the costs are per try.
pub fn in_batches(size: &Size) -> Result<Vec<Table>> {
    let contenders = [SCRIPT, TRY, BATCH, MTRY];
    let ratios = &[(SCRIPT, BATCH), (SCRIPT, MTRY), (BATCH, MTRY)];
    let mut table = Table::new(BATCHES, &[""], ratios);
    for (outcome, (aof, with)) in
        [(Outcome::SoldOut, AOF[0]), (Outcome::Accepted, AOF[0]), (Outcome::Accepted, AOF[1])]
    {
        let mut stand = Stand::new(aof)?;
        for each in TRIES_PER_COMMAND {
            let costs = of_outcome(&mut stand, size, outcome, &contenders, (PIPELINE, each))?;
            table.push(format!("{}{with}, {each} per command", outcome.label()), costs);
        }
    }
    Ok(vec![table])
}

/// The same tries on several servers: what a newer server changes for the script and for the
/// module. All servers run at once and take turns. `programs` are paths or names.
pub fn on_servers(size: &Size, programs: &[String]) -> Result<Vec<Table>> {
    const CONTENDERS: [&str; 4] = [SCRIPT, NATIVE, TRY, GET];
    let mut stands = Vec::new();
    for program in programs {
        // SAFETY: this is the only thread of the program.
        unsafe { std::env::set_var("REDIS_SERVER", program) };
        let mut stand = Stand::new(false)?;
        // A server built with the C library's allocator is slower than one with jemalloc.
        let allocator = stand.server.info("mem_allocator").unwrap_or_default();
        stands.push((format!("{}, {allocator}", stand.name()?), stand));
    }
    let names = &["", "server, allocator"];
    let mut table = Table::new(DECIDED, names, &[(SCRIPT, NATIVE), (SCRIPT, TRY), (TRY, GET)]);
    for outcome in OUTCOMES {
        let tries = Tries::new(size, outcome, &CONTENDERS, (PIPELINE, 1));
        let each = CONTENDERS.len();
        let all = costs(size.rounds, &CONTENDERS.repeat(stands.len()), |place| {
            tries.turn(&mut stands[place / each].1, place % each)
        })?;
        for ((name, _), costs) in stands.iter().zip(all.chunks(each)) {
            table.push(outcome.label(), costs.to_vec());
            table.rows.last_mut().expect("pushed").names.push(name.clone());
        }
    }
    Ok(vec![table])
}
