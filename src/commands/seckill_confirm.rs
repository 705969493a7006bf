//! `SECKILL.CONFIRM voucher user orderid [REF reference] [SALE id]`: makes a held order sold, and
//! appends it to the stream of confirmed orders.

use super::managed::{ManagedSale, UPDATES_VOUCHER, publish};
use super::order::Order;
use super::{Answering, Command};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::book::{self, OpenBook};
use crate::keyspace::fields::{EntryNames, EntryValues};
use crate::keyspace::orders::Orders;
use crate::keyspace::presence::check_confirmed_here;
use crate::keyspace::terms;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::memory::Memory;
use crate::metrics;
use crate::reply::Reply;
use crate::server::{ArgKind, ArgSpec, CommandSpec, Ctx, OwnedStr, Str, handler};
use crate::typed::{OrderId, Reference, User, Voucher};
use domain::book::{Entry, State};
use domain::managed::{Confirmation, Payment, confirm, payment};
use domain::sale::Units;
use domain::terms::SaleId;

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.confirm",
    handler: handler::<Answering<Confirm>>(),
    flags: c"write fast",
    categories: c"write fast seckill",
    arity: -4,
    summary: c"Marks a held order as sold, and appends it to the stream of confirmed orders",
    complexity: c"O(log N) where N is the number of held orders",
    since: c"0.2.0",
    keys: UPDATES_VOUCHER,
    args: &[
        ArgSpec { name: c"voucher", kind: ArgKind::Key(0) },
        ArgSpec { name: c"user", kind: ArgKind::String },
        ArgSpec { name: c"orderid", kind: ArgKind::String },
        ArgSpec { name: c"reference", kind: ArgKind::OptionalString(c"REF") },
        ArgSpec { name: c"sale", kind: ArgKind::OptionalInteger(c"SALE") },
    ],
};

struct Confirm;

impl Command for Confirm {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let (voucher, user, id) =
            (args.next()?, args.next::<User<'_>>()?, args.next::<OrderId<'_>>()?);
        let options = Options::parse(args)?;
        let keys = VoucherKeys::of(&memory.vouchers, voucher)?;
        keys.check_here(ctx)?;
        let terms = terms::read_managed(&memory.vouchers.terms, ctx, keys.terms())?;
        let sale = ManagedSale::new(ctx, &keys, terms)?;
        if !sale.is_meant(options.sale) {
            return Ok(Reply::Integer(Confirmation::NoSuchOrder as i64));
        }
        let text = book::entry(ctx, sale.keys, id)?;
        let entry = text.as_ref().map(|text| Entry::parse(text.as_str().bytes())).transpose()?;
        let answer = confirm(entry.as_ref(), user.0.bytes(), sale.now);
        let reference = options.reference.map(|reference| reference.0);
        match (answer, entry) {
            (Confirmation::Confirmed, Some(entry)) => write(&sale, user, id, &entry, reference)?,
            // The confirmation is late, and the timer has not released the order yet: released
            // here, so that the answer is final.
            (Confirmation::TooLate, Some(entry)) if entry.state == State::Held => {
                sale.release(id, &entry, State::Expired)?;
            }
            (Confirmation::WasSold, Some(entry)) => {
                let reference = reference.map(Str::bytes);
                match payment(&entry, reference) {
                    Payment::Another => return Err(CommandError::Paid),
                    Payment::First => {
                        let mut book = OpenBook::open(ctx, sale.keys, Units::ONE)?;
                        let entered = book.enter(id, &Entry { reference, ..entry });
                        drop(book);
                        publish(ctx, [entered]);
                    }
                    Payment::Known => sale.replicate_entry_again(id, text),
                }
            }
            _ => {}
        }
        Ok(Reply::Integer(answer as i64))
    }
}

/// What may follow the order id, in any order, each at most once.
#[derive(Default)]
struct Options<'a> {
    reference: Option<Reference<'a>>,
    sale: Option<SaleId>,
}

impl<'a> Options<'a> {
    fn parse(mut args: Args<'a>) -> Result<Self, CommandError> {
        let mut options = Self::default();
        while !args.is_empty() {
            match args.next_word(&["REF", "SALE"])? {
                "REF" if options.reference.is_none() => {
                    let reference: Reference<'_> = args.next()?;
                    if reference.0.bytes().is_empty() {
                        return Err(CommandError::Empty { argument: "reference" });
                    }
                    options.reference = Some(reference);
                }
                "SALE" if options.sale.is_none() => options.sale = Some(args.next_sale()?),
                _ => return Err(CommandError::Syntax),
            }
        }
        Ok(options)
    }
}

/// Makes a held order sold. On an error nothing has been changed.
fn write(
    sale: &ManagedSale<'_>,
    user: User<'_>,
    id: OrderId<'_>,
    entry: &Entry<'_>,
    reference: Option<Str<'_>>,
) -> Result<(), CommandError> {
    let (ctx, keys) = (sale.ctx, sale.keys);
    let mut book = OpenBook::open(ctx, keys, entry.units)?;
    check_confirmed_here(ctx, keys)?;
    let confirmed = Orders::open_with_room(ctx, keys.confirmed)?;
    let order = Order { voucher: Voucher(keys.voucher), user, id, units: entry.units };
    let (units, sale_id) = (order.units_text(), sale.id_text());
    let values = order.values(units.as_ref().map(OwnedStr::as_str));
    let sale_id = sale_id.as_ref().map(OwnedStr::as_str);
    let fields = EntryNames::configured(sale.names).entry(&EntryValues {
        sale: sale_id,
        reference,
        ..values
    });
    // The first write, and the one that can fail.
    let appended = confirmed.map(|stream| stream.append(fields.as_slice())).transpose()?;
    let reference = reference.map(Str::bytes);
    let sold = Entry { state: State::Sold, deadline: 0, reference, ..*entry };
    let entered = book.enter(id, &sold);
    let lifted = book.lift_hold(id);
    drop(book);
    publish(ctx, [entered, lifted, appended]);
    metrics::ORDERS_CONFIRMED.count();
    Ok(())
}
