//! `SECKILL.TRYKEYS stock buyers orders voucher user orderid [UNITS n] [NOSTREAM] [FIELDS user
//! voucher orderid] [MISSING error|sold-out]`: SECKILL.TRY with its keys spelled out.

use super::decided::{next_order, try_once};
use super::{Answering, Command};
use crate::args::{Args, check_storable};
use crate::config;
use crate::error::CommandError;
use crate::keyspace::configured::Configured;
use crate::keyspace::fields::{ClientNames, EntryNames};
use crate::keyspace::sale::Sale;
use crate::keyspace::sale_keys::SaleKeys;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::memory::Memory;
use crate::server::{Access, ArgKind, ArgSpec, CommandSpec, Ctx, KeySpec, Reply, handler};
use crate::typed::{FieldName, KeyName};
use domain::rules::Meant;
use domain::sale::{Policy, Units};
use domain::tries::Else;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.trykeys",
    handler: handler::<Answering<TryKeys>>(),
    flags: c"write deny-oom fast",
    categories: c"write fast seckill",
    arity: -7,
    summary: c"Sells as SECKILL.TRY does, on keys and with fields that the client names",
    complexity: c"O(1)",
    since: c"0.1.0",
    keys: &[
        KeySpec { position: 1, access: Access::Update, notes: c"The stock, a string" },
        KeySpec { position: 2, access: Access::InsertAfterLook, notes: c"The buyers, a set" },
        KeySpec {
            position: 3,
            access: Access::Insert,
            notes: c"The orders, a stream. Not touched with NOSTREAM",
        },
    ],
    args: &[
        ArgSpec { name: c"stock", kind: ArgKind::Key(0) },
        ArgSpec { name: c"buyers", kind: ArgKind::Key(1) },
        ArgSpec { name: c"orders", kind: ArgKind::Key(2) },
        ArgSpec { name: c"voucher", kind: ArgKind::String },
        ArgSpec { name: c"user", kind: ArgKind::String },
        ArgSpec { name: c"orderid", kind: ArgKind::String },
        ArgSpec { name: c"units", kind: ArgKind::OptionalInteger(c"UNITS") },
        ArgSpec { name: c"nostream", kind: ArgKind::OptionalToken(c"NOSTREAM") },
        ArgSpec {
            name: c"fields",
            kind: ArgKind::OptionalStrings(
                c"FIELDS",
                &[c"user-field", c"voucher-field", c"id-field"],
            ),
        },
        ArgSpec {
            name: c"missing",
            kind: ArgKind::OptionalChoice(c"MISSING", &[c"error", c"sold-out"]),
        },
    ],
};

struct TryKeys;

impl Command for TryKeys {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let (stock_key, buyers, orders) =
            (args.next::<KeyName>()?, args.next::<KeyName>()?, args.next::<KeyName>()?);
        let voucher = args.next()?;
        let mut order = next_order(&mut args)?;
        check_storable(order.user.as_str(), order.id.as_str())?;
        if order.id.as_ref() == b"*" {
            return Err(CommandError::GeneratedId);
        }
        let options = Options::parse(args)?;
        order.units = options.units.unwrap_or(Units::ONE);
        let orders = (!options.no_stream).then_some(orders.0);
        let keys = SaleKeys { stock: stock_key.0, buyers: buyers.0, orders };
        keys.check_differ()?;
        if VoucherKeys::is_stock_managed(&memory.vouchers, ctx, keys.stock)? {
            return Err(CommandError::Managed);
        }
        let configured = Configured::now(&memory.vouchers.configured);
        let names = EntryNames::configured(&configured.fields);
        let names = options.names.map_or(names, |client| names.renamed(client));
        try_once(
            &Sale::on(ctx, voucher, keys, names, options.policy()),
            Meant::Any,
            &order,
            Else::Lose,
        )
        .map(Reply::from)
    }
}

/// What may follow the order id, in any order, each at most once.
#[derive(Default)]
struct Options<'a> {
    units: Option<Units>,
    no_stream: bool,
    names: Option<ClientNames<'a>>,
    missing_is_sold_out: Option<bool>,
}

impl<'a> Options<'a> {
    fn parse(mut args: Args<'a>) -> Result<Self, CommandError> {
        let mut options = Self::default();
        while !args.is_empty() {
            match args.next_word(&["UNITS", "NOSTREAM", "FIELDS", "MISSING"])? {
                "UNITS" if options.units.is_none() => options.units = Some(args.next_units()?),
                "NOSTREAM" if !options.no_stream => options.no_stream = true,
                "FIELDS" if options.names.is_none() => {
                    let names: [FieldName<'_>; 3] = [args.next()?, args.next()?, args.next()?];
                    options.names = Some(ClientNames::new(names.map(|name| name.0))?);
                }
                "MISSING" if options.missing_is_sold_out.is_none() => {
                    let answer = args.next_word(&["ERROR", "SOLD-OUT"])?;
                    options.missing_is_sold_out = Some(answer == "SOLD-OUT");
                }
                _ => return Err(CommandError::Syntax),
            }
        }
        Ok(options)
    }

    /// How odd stocks are understood: as configured, but for what the client says.
    fn policy(&self) -> Policy {
        let configured = config::policy();
        let missing_is_sold_out =
            self.missing_is_sold_out.unwrap_or(configured.missing_is_sold_out);
        Policy { missing_is_sold_out, ..configured }
    }
}
