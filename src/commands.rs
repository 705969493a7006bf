//! The commands on the wire, one file each. Every one parses, looks, decides, does and replies,
//! in this order, and whatever can refuse refuses before the first write.

mod batch;
pub(crate) mod decided;
mod evictions;
mod lock_acquire;
mod lock_info;
mod lock_release;
mod lock_renew;
pub(crate) mod locks;
pub(crate) mod queue;
mod rules;
mod seckill_alter;
mod seckill_audit;
mod seckill_cancel;
mod seckill_confirm;
mod seckill_create;
mod seckill_deduct;
mod seckill_draw;
mod seckill_drop;
mod seckill_extend;
mod seckill_info;
mod seckill_mtry;
mod seckill_nextid;
mod seckill_order;
mod seckill_reject;
mod seckill_restock;
mod seckill_return;
mod seckill_status;
mod seckill_try;
mod seckill_tryall;
mod seckill_trykeys;
mod seckill_undraw;
mod tried;
mod written;

pub(crate) use evictions::warn_at_load;

use crate::args::{Args, Arguments};
use crate::config;
use crate::error::CommandError;
use crate::keyspace::names::Name;
use crate::memory::Memory;
use crate::metrics;
use crate::server::{Access, ArgSpec, CommandSpec, Ctx, Reply, Run, Str, take_replaced};
use crate::typed::{OrderId, User};
use domain::orders::OrderRequest;
use domain::rules::{Meant, SaleId};

/// Every command, in the order of the docs. What the server, its docs and our tests know of a
/// command comes from here.
pub(crate) static COMMANDS: [&CommandSpec; 25] = [
    &seckill_try::SPEC,
    &seckill_trykeys::SPEC,
    &seckill_mtry::SPEC,
    &seckill_tryall::SPEC,
    &seckill_create::SPEC,
    &seckill_alter::SPEC,
    &seckill_restock::SPEC,
    &seckill_drop::SPEC,
    &seckill_confirm::SPEC,
    &seckill_extend::SPEC,
    &seckill_cancel::SPEC,
    &seckill_reject::SPEC,
    &seckill_order::SPEC,
    &seckill_status::SPEC,
    &seckill_info::SPEC,
    &seckill_audit::SPEC,
    &seckill_deduct::SPEC,
    &seckill_return::SPEC,
    &seckill_draw::SPEC,
    &seckill_undraw::SPEC,
    &seckill_nextid::SPEC,
    &lock_acquire::SPEC,
    &lock_renew::SPEC,
    &lock_release::SPEC,
    &lock_info::SPEC,
];

/// The voucher of commands that change it: a key, for routing and access rules.
const VOUCHER: ArgSpec =
    ArgSpec::key(c"voucher", Access::Update, c"The voucher. Its keys are derived from it");

/// The voucher of commands that read it.
const VOUCHER_READ: ArgSpec =
    ArgSpec::key(c"voucher", Access::Look, c"The voucher. Its keys are derived from it");

const USER: ArgSpec = ArgSpec::text(c"user");
const ORDER_ID: ArgSpec = ArgSpec::text(c"orderid");

/// How many units: of a try as an option.
const UNITS: ArgSpec = ArgSpec::integer(c"units", 1, i64::MAX);
const UNITS_OPTION: ArgSpec = UNITS.after(c"UNITS");

/// A payment, by its reference.
const REF: ArgSpec = ArgSpec::text(c"reference").after(c"REF");

/// The sale that is meant.
const SALE: ArgSpec = ArgSpec::integer(c"sale", 1, SaleId::MAX).after(c"SALE");

/// A request about an order, of the sale that `[SALE id]` names.
fn request<'a>(user: User<'a>, id: OrderId<'a>, sale: Option<SaleId>) -> OrderRequest<Name<'a>> {
    let (user, id) = (Name::Given(user.0), Name::Given(id.0));
    OrderRequest { user, id, sale: Meant::by_request(sale) }
}

/// A command of this module.
trait Command {
    type Given<'a>: Arguments<'a>;

    /// The client names the keys, so no setting does.
    const NAMES_ITS_KEYS: bool = false;

    fn run<'a>(
        ctx: Ctx<'a>,
        memory: &'a Memory,
        given: Self::Given<'a>,
    ) -> Result<Reply, CommandError>;
}

/// What the server runs: the command, then the one reply.
struct Answering<C>(std::marker::PhantomData<C>);

impl<C: Command> Run for Answering<C> {
    #[inline]
    fn run(ctx: Ctx<'_>, arguments: &[Str<'_>]) -> Reply {
        // There is one as long as the module is loaded.
        let Some(memory) = Memory::current() else {
            return Reply::Error(c"ERR the module is not loaded".into());
        };
        if take_replaced() {
            metrics::SCRIPTS_REPLACED.count();
        }
        let given = C::Given::read(Args::new(arguments));
        let reply = given.and_then(|given| C::run(ctx, &memory, given));
        reply.unwrap_or_else(|error| match error {
            CommandError::NoVoucher if !C::NAMES_ITS_KEYS && config::hash_tags() => {
                Reply::from(CommandError::NoTaggedVoucher)
            }
            error => Reply::from(error),
        })
    }
}
