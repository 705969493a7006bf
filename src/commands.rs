//! The commands on the wire, one file each. Every one parses, looks, decides, does and replies,
//! in this order, and whatever can refuse refuses before the first write.

mod batch;
pub(crate) mod decided;
mod lock_acquire;
mod lock_info;
mod lock_release;
mod lock_renew;
pub(crate) mod locks;
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
mod seckill_trykeys;
mod seckill_undraw;

use crate::args::Args;
use crate::error::CommandError;
use crate::memory::Memory;
use crate::metrics;
use crate::server::{Access, CommandSpec, Ctx, KeySpec, Reply, Run, Str, take_replaced};
use std::ffi::CStr;

/// Every command, in the order of the docs. What the server, its docs and our tests know of a
/// command comes from here.
pub(crate) static COMMANDS: [&CommandSpec; 24] = [
    &seckill_try::SPEC,
    &seckill_trykeys::SPEC,
    &seckill_mtry::SPEC,
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

/// The key argument of commands that change a voucher: its name, for routing and access rules.
const UPDATES_VOUCHER: &[KeySpec] =
    &[KeySpec { position: 1, access: Access::Update, notes: VOUCHER_NOTES }];

/// The key argument of commands that read a voucher.
const READS_VOUCHER: &[KeySpec] =
    &[KeySpec { position: 1, access: Access::Look, notes: VOUCHER_NOTES }];

const VOUCHER_NOTES: &CStr = c"The voucher. Its keys are derived from it";

/// A command of this module.
trait Command {
    fn run(ctx: Ctx<'_>, memory: &Memory, args: Args<'_>) -> Result<Reply, CommandError>;
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
        C::run(ctx, &memory, Args::new(arguments)).unwrap_or_else(Reply::from)
    }
}
