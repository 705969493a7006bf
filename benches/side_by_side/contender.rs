//! The contenders: the command that each sends, and its reply.

use serde::Serialize;

use crate::Result;
use crate::stand::Stand;
use crate::wire::Load;

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contender {
    Script,
    /// A script of one line that calls SECKILL.TRY.
    OneLine,
    /// The script's own EVALSHA on a server whose `seckill.scripts` names it.
    Native,
    /// The script with its keys declared, as a cluster demands.
    DeclaredScript,
    RmCall,
    Seckill,
    TryKeys,
    Get,
    /// GET on a server whose `seckill.scripts` names a script.
    GetWithScripts,
    Noop,
    /// A script for many tries.
    BatchScript,
    Mtry,
    UnlockScript,
    /// The command of Redis 8.4 and later.
    Delex,
    /// The command of Valkey 9 and later.
    Delifeq,
    LockRelease,
    StockScript,
    /// The command of Redis 8.8 and later.
    Increx,
    Deduct,
    /// SECKILL.TRY on a managed voucher whose orders are sold at once.
    Managed,
    /// SECKILL.TRY on a managed voucher with HOLD.
    ManagedHold,
    /// A script of ours that does the work of a command on a managed voucher.
    ManagedScript,
    ManagedCommand,
}

/// All contenders for a try, in the order of the tables.
pub const DECIDING: &[Contender] = &[
    Contender::Script,
    Contender::OneLine,
    Contender::RmCall,
    Contender::Native,
    Contender::Seckill,
    Contender::Get,
    Contender::GetWithScripts,
    Contender::Noop,
];
pub const SELLING: &[Contender] = &[Contender::Script, Contender::RmCall, Contender::Seckill];
pub const UNLOCKING: &[Contender] =
    &[Contender::UnlockScript, Contender::Delex, Contender::Delifeq, Contender::LockRelease];

/// The contenders whose commands this server has.
pub fn those_of(stand: &mut Stand, contenders: &[Contender]) -> Result<Vec<Contender>> {
    let mut found = Vec::new();
    for &contender in contenders {
        let is_there = match contender {
            Contender::Mtry | Contender::Delex | Contender::Delifeq | Contender::Increx => {
                stand.knows(contender.label())?
            }
            _ => true,
        };
        if is_there {
            found.push(contender);
        }
    }
    Ok(found)
}

/// The outcomes of a try that the benchmark measures.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    SoldOut,
    Duplicate,
    Accepted,
}

impl Outcome {
    pub fn label(self) -> &'static str {
        match self {
            Self::SoldOut => "sold out",
            Self::Duplicate => "duplicate",
            Self::Accepted => "accepted",
        }
    }

    fn reply(self) -> &'static [u8] {
        match self {
            Self::SoldOut => b":1\r\n",
            Self::Duplicate => b":2\r\n",
            Self::Accepted => b":0\r\n",
        }
    }

    /// The stock at the start of a turn; only accepted tries take `units_needed`.
    pub fn stock(self, units_needed: usize) -> usize {
        match self {
            Self::SoldOut => 0,
            Self::Duplicate | Self::Accepted => units_needed + 1_000,
        }
    }
}

/// The arguments of one try. Users are numbers, as most shops have them; so are order ids.
pub struct Try {
    pub voucher: usize,
    pub user: usize,
    pub order_id: usize,
}

impl Contender {
    pub fn label(self) -> &'static str {
        match self {
            Self::Script => "script",
            Self::OneLine => "one-line script",
            Self::RmCall => "RM_Call steps",
            Self::Native => "EVALSHA, native",
            Self::DeclaredScript => "script, declared keys",
            Self::Seckill => "SECKILL.TRY",
            Self::TryKeys => "SECKILL.TRYKEYS",
            Self::Get => "GET",
            Self::GetWithScripts => "GET, scripts set",
            Self::Noop => "no-op",
            Self::BatchScript => "batch script",
            Self::Mtry => "SECKILL.MTRY",
            Self::UnlockScript => "unlock script",
            Self::Delex => "DELEX",
            Self::Delifeq => "DELIFEQ",
            Self::LockRelease => "LOCK.RELEASE",
            Self::StockScript => "stock script",
            Self::Increx => "INCREX",
            Self::Deduct => "SECKILL.DEDUCT",
            Self::Managed => "managed",
            Self::ManagedHold => "managed, HOLD",
            Self::ManagedScript => "script of the same work",
            Self::ManagedCommand => "command",
        }
    }

    /// The tries as commands of this contender, each with the reply for `outcome`.
    pub fn load(
        self,
        stand: &Stand,
        outcome: Outcome,
        depth: usize,
        tries: impl Iterator<Item = Try>,
        stock: usize,
    ) -> Load {
        let mut load = Load::new(depth, &self.reply(outcome, stock));
        for Try { voucher, user, order_id } in tries {
            let keys = stand.naming.keys(voucher);
            let [stock_key, buyers_key, orders_key] =
                [&keys.stock, &keys.buyers, &keys.orders].map(|key| key.as_bytes());
            let (voucher, user) = (voucher.to_string(), user.to_string());
            let order_id = order_id.to_string();
            let (voucher, user, order_id) =
                (voucher.as_bytes(), user.as_bytes(), order_id.as_bytes());
            match self {
                Self::Script | Self::Native | Self::OneLine => {
                    let is_one_line = self == Self::OneLine;
                    let scripts = &stand.scripts;
                    let sha = if is_one_line { &scripts.buy_one_line } else { &scripts.buy };
                    load.push(&[b"EVALSHA", sha.as_bytes(), b"0", voucher, user, order_id]);
                }
                Self::RmCall => load.push(&[b"BASELINE.TRY", voucher, user, order_id]),
                Self::Seckill => load.push(&[b"SECKILL.TRY", voucher, user, order_id]),
                Self::Noop => load.push(&[b"BASELINE.NOOP", voucher, user, order_id]),
                Self::DeclaredScript => load.push(&[
                    b"EVALSHA",
                    stand.scripts.buy_declared.as_bytes(),
                    b"3",
                    stock_key,
                    buyers_key,
                    orders_key,
                    voucher,
                    user,
                    order_id,
                ]),
                Self::TryKeys => load.push(&[
                    b"SECKILL.TRYKEYS",
                    stock_key,
                    buyers_key,
                    orders_key,
                    voucher,
                    user,
                    order_id,
                ]),
                Self::Get | Self::GetWithScripts => load.push(&[b"GET", stock_key]),
                _ => unreachable!("not one of those that meet in a try"),
            }
        }
        load
    }

    fn reply(self, outcome: Outcome, stock: usize) -> Vec<u8> {
        match self {
            Self::Noop => b":0\r\n".to_vec(),
            Self::Get | Self::GetWithScripts => {
                format!("${}\r\n{stock}\r\n", stock.to_string().len()).into_bytes()
            }
            _ => outcome.reply().to_vec(),
        }
    }

    /// Releases of `locks` by `token`, each with this `reply`.
    pub fn releases(
        self,
        stand: &Stand,
        depth: usize,
        locks: impl Iterator<Item = String>,
        token: &str,
        reply: &[u8],
    ) -> Load {
        let mut load = Load::new(depth, reply);
        for lock in locks {
            let (lock, token) = (lock.as_bytes(), token.as_bytes());
            match self {
                Self::UnlockScript => {
                    let script = stand.scripts.unlock.as_bytes();
                    load.push(&[b"EVALSHA", script, b"1", lock, token]);
                }
                Self::Delex => load.push(&[b"DELEX", lock, b"IFEQ", token]),
                Self::Delifeq => load.push(&[b"DELIFEQ", lock, token]),
                _ => load.push(&[b"LOCK.RELEASE", lock, token]),
            }
        }
        load
    }

    /// Does `seckill.scripts` have to name the script during its turns?
    pub fn wants_scripts_set(self) -> bool {
        matches!(self, Self::Native | Self::GetWithScripts)
    }

    pub fn sells(self) -> bool {
        !matches!(self, Self::Get | Self::GetWithScripts | Self::Noop)
    }

    pub fn decides_batches(self) -> bool {
        matches!(self, Self::BatchScript | Self::Mtry)
    }

    /// The tries of each chunk as one command, each try with the reply for `outcome`. All are on
    /// one voucher.
    pub fn batches<'a>(
        self,
        stand: &Stand,
        outcome: Outcome,
        depth: usize,
        chunks: impl Iterator<Item = &'a [Try]>,
    ) -> Load {
        let mut load = Load::new(depth, b"");
        for tries in chunks {
            let Some(Try { voucher, .. }) = tries.first() else { continue };
            let keys = stand.naming.keys(*voucher);
            let mut words = if self == Self::BatchScript {
                let script = stand.scripts.buy_batch.clone();
                vec!["EVALSHA".to_owned(), script, "3".into(), keys.stock, keys.buyers, keys.orders]
            } else {
                vec!["SECKILL.MTRY".to_owned()]
            };
            words.push(voucher.to_string());
            for Try { user, order_id, .. } in tries {
                words.extend([user, order_id].map(ToString::to_string));
            }
            let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
            let mut reply = format!("*{}\r\n", tries.len()).into_bytes();
            reply.extend(outcome.reply().repeat(tries.len()));
            load.push_answered(&words, &reply);
        }
        load
    }
}
