//! Facts that few commands ask for: payments and the last sale, which outlive a sale, units outside
//! of it, and units in the stock that are not for sale.

use crate::config;
use crate::error::CommandError;
use crate::keyspace::book::peek_extra;
use crate::keyspace::names::Name;
use crate::keyspace::opened::Opened;
use crate::keyspace::presence;
use crate::keyspace::sale::Sale;
use crate::keyspace::sale_keys::ManagedKeys;
use crate::server::{Ctx, Kind, ReadKey, Str};
use domain::integer;
use domain::payments::Payment;
use domain::rules::SaleId;
use domain::sale::Units;

impl<'a> Sale<'a> {
    /// Refuses, in cluster mode, a key that may be on the other node, as
    /// [`presence::check_one_here`], with the book closed meanwhile.
    pub(super) fn check_one_here(&self, key: Str<'a>) -> Result<(), CommandError> {
        let (ctx, keys) = (self.ctx, self.managed_keys()?);
        if !config::is_cluster() {
            return Ok(());
        }
        let check = || presence::check_one_here(ctx, keys, key);
        self.opened().book.aside(ctx, keys.book, check)
    }

    pub(super) fn read_payment(
        &self,
        reference: &Name<'a>,
    ) -> Result<Option<Payment<Name<'a>>>, CommandError> {
        let (opened, keys) = (self.opened(), self.managed_keys()?);
        self.check_one_here(keys.payments)?;
        let text = opened.payments.field(self.ctx, keys.payments, reference.as_str())?;
        let Some(text) = text else { return Ok(None) };
        Ok(Some(Payment::parse(text.as_str().bytes())?.map(Name::read)))
    }

    pub(super) fn read_last_sale(&self) -> Result<Option<SaleId>, CommandError> {
        let keys = self.managed_keys()?;
        self.check_one_here(keys.last)?;
        let Some(key) = ReadKey::open(self.ctx, keys.last) else { return Ok(None) };
        let last = key.string((), |text, ()| SaleId::parse(text))?;
        last.map(Some).ok_or(CommandError::LastSaleGarbled)
    }

    pub(super) fn read_outside(&self, order: &Name<'a>) -> Result<Option<Units>, CommandError> {
        let keys = self.managed_keys()?;
        self.check_one_here(keys.outside)?;
        let units = Opened::default().field(self.ctx, keys.outside, order.as_str())?;
        let Some(units) = units else { return Ok(None) };
        let units = integer::parse(units.as_str().bytes()).and_then(Units::new);
        units.map(Some).ok_or(CommandError::Garbled)
    }

    /// How many units are held or sold: see [`Amend::beyond_one`](domain::plan::Amend::beyond_one).
    #[inline]
    pub(super) fn count_taken(&self) -> Result<i64, CommandError> {
        let (ctx, keys) = (self.ctx, self.managed_keys()?);
        let users = match self.opened().units.reading(ctx, keys.units) {
            Some(units) if units.kind() != Kind::Hash => return Err(CommandError::WrongType),
            units => units.map_or(0, |units| units.len()),
        };
        let users = i64::try_from(users).unwrap_or(i64::MAX);
        let waiting = self.waiting()?;
        Ok(users.saturating_sub(waiting).saturating_add(self.beyond_one(ctx, keys)?))
    }

    fn beyond_one(&self, ctx: Ctx<'a>, keys: ManagedKeys<'a>) -> Result<i64, CommandError> {
        let none_in = self.known_keys().map(|keys| &keys.none_extra_in);
        if none_in.is_some_and(|known| known.get() == Some(ctx.selected_db())) {
            return Ok(0);
        }
        // While its slot moves, the key may be on the other node. Most vouchers have none, which
        // can't be distinguished from here, and need not wait for the end of the move.
        let extra = peek_extra(ctx, keys)?;
        if extra.is_none() {
            none_in.inspect(|known| known.set(Some(ctx.selected_db())));
        }
        Ok(extra.map_or(0, |extra| extra.users))
    }

    /// Says in the log that the extra units can't be read, once per change of their key.
    #[cold]
    pub(super) fn warn_of_extra(&self) {
        if self.known_keys().is_some_and(|keys| !keys.is_extra_reported.replace(true)) {
            let key = self.managed_keys().map(|keys| keys.extra.bytes().escape_ascii().to_string());
            let key = key.unwrap_or_default();
            self.ctx.warn(&format!("{key} can't be read, and stays as it is; see SECKILL.AUDIT"));
        }
    }

    /// Says so in the log.
    #[cold]
    pub(super) fn warn_of_surplus(&self, units: i64) {
        let stock = self.sale_keys().map(|keys| keys.stock.bytes().escape_ascii().to_string());
        self.ctx.warn(&format!(
            "{} was written by another client: {units} of its units are more than total, held and \
             sold allow, and are not sold; change it by SECKILL.RESTOCK, see SECKILL.AUDIT",
            stock.unwrap_or_default()
        ));
    }
}
