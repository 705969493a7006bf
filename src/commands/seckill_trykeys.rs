//! `SECKILL.TRYKEYS stock buyers orders voucher user orderid [UNITS n] [NOSTREAM] [FIELDS user
//! voucher orderid] [MISSING error|sold-out]`: SECKILL.TRY with its keys spelled out.

use super::seckill_try::GENERATE;
use super::tried::try_once;
use super::{Answering, Command, ORDER_ID, UNITS_OPTION, USER};
use crate::args::{Either, Said, arguments, check_storable};
use crate::config;
use crate::error::CommandError;
use crate::keyspace::configured::Configured;
use crate::keyspace::fields::{ClientNames, EntryNames};
use crate::keyspace::names::Name;
use crate::keyspace::sale::Sale;
use crate::keyspace::sale_keys::SaleKeys;
use crate::memory::Memory;
use crate::server::{Access, ArgSpec, CommandSpec, Ctx, Reply, handler};
use crate::typed::{FieldName, KeyName, OrderId, User, Voucher};
use domain::plan::Order;
use domain::rules::Meant;
use domain::sale::{Policy, Units};
use domain::tries::Wish;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.trykeys",
    handler: handler::<Answering<TryKeys>>(),
    flags: c"write deny-oom fast",
    summary: c"Sells as SECKILL.TRY does, on keys and with fields that the client names",
    complexity: c"O(1)",
    since: c"0.1.0",
    args: Given::SPECS,
};

arguments! {
    /// The keys of a sale, an order, and how the stock and the entry are meant.
    Given<'a> {
        stock: KeyName<'a> = STOCK,
        buyers: KeyName<'a> = BUYERS,
        orders: KeyName<'a> = ORDERS,
        voucher: Voucher<'a> = NAMED,
        user: User<'a> = USER,
        id: OrderId<'a> = ORDER_ID,
        [units: Units = UNITS_OPTION]
        [no_stream: Said = NOSTREAM]
        [fields: [FieldName<'a>; 3] = FIELDS]
        [missing: Either<Said, Said> = MISSING]
    }
}

const STOCK: ArgSpec = ArgSpec::key(c"stock", Access::Update, c"The stock, a string");
const BUYERS: ArgSpec = ArgSpec::key(c"buyers", Access::InsertAfterLook, c"The buyers, a set");
const ORDERS: ArgSpec =
    ArgSpec::key(c"orders", Access::Insert, c"The orders, a stream. Not touched with NOSTREAM");
const NAMED: ArgSpec = ArgSpec::text(c"voucher");
const NOSTREAM: ArgSpec = ArgSpec::word(c"nostream", c"NOSTREAM");
const FIELDS: ArgSpec = ArgSpec::block(
    c"fields",
    &[ArgSpec::text(c"user-field"), ArgSpec::text(c"voucher-field"), ArgSpec::text(c"id-field")],
)
.after(c"FIELDS");
const MISSING: ArgSpec = ArgSpec::one_of(
    c"missing",
    &[ArgSpec::word(c"error", c"error"), ArgSpec::word(c"sold-out", c"sold-out")],
)
.after(c"MISSING");

struct TryKeys;

impl Command for TryKeys {
    type Given<'a> = Given<'a>;

    const NAMES_ITS_KEYS: bool = true;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let (user, id) = (given.user.0, given.id.0);
        check_storable(user, id)?;
        if id.bytes() == GENERATE {
            return Err(CommandError::GeneratedId);
        }
        let (user, id) = (Name::Given(user), Name::Given(id));
        let order = Order { user, id, units: given.units.unwrap_or(Units::ONE) };
        let names = given.fields.map(|names| ClientNames::new(names.map(|name| name.0)));
        let names = names.transpose()?;
        let orders = given.no_stream.is_none().then_some(given.orders.0);
        let keys = SaleKeys { stock: given.stock.0, buyers: given.buyers.0, orders };
        keys.check_differ()?;
        if memory.vouchers.is_stock_managed(ctx, keys.stock)? {
            return Err(CommandError::Managed);
        }
        let configured = Configured::now(&memory.vouchers.configured);
        let own = EntryNames::configured(&configured.fields);
        let names = names.map_or(own, |client| own.renamed(client));
        let sale = Sale::on(ctx, given.voucher, keys, names, policy(given.missing));
        try_once(memory, &sale, Meant::Any, &order, Wish::PLAIN).map(Reply::from)
    }
}

/// How odd stocks are understood: as configured, but for what the client says.
fn policy(missing: Option<Either<Said, Said>>) -> Policy {
    let configured = config::policy();
    let missing_is_sold_out =
        missing.map_or(configured.missing_is_sold_out, |said| matches!(said, Either::Second(Said)));
    Policy { missing_is_sold_out, ..configured }
}
