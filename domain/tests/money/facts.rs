//! What the decisions ask of a voucher.

use crate::server::{Error, Voucher};
use domain::book::{Entry, Has, UserUnits};
use domain::facts::{Facts, First, FirstDue, Needed, Queue, Stream};
use domain::payments::Payment;
use domain::rules::{Millis, Rules, SaleId};
use domain::sale::{Policy, Stock, Units};

/// No deadline passes but by a command of the model.
const NOW: Millis = 100;

impl Facts for Voucher {
    type Name = u8;
    type Error = Error;

    fn now(&self) -> Millis {
        NOW
    }

    fn policy(&self) -> Policy {
        Policy::default()
    }

    fn rules(&self) -> Result<Option<Rules>, Error> {
        Ok(Some(self.rules).filter(|_| !self.is_dropped))
    }

    fn stock(&self) -> Result<Stock, Error> {
        Ok(Stock::Left(self.stock))
    }

    fn known_buyer(&self, user: &u8) -> Result<Option<bool>, Error> {
        self.is_buyer(user).map(Some)
    }

    fn is_buyer(&self, user: &u8) -> Result<bool, Error> {
        Ok(self.buyers[usize::from(*user)])
    }

    fn entry(&self, id: &u8) -> Result<Option<Entry<u8>>, Error> {
        Ok(self.book[usize::from(*id)])
    }

    fn is_missing(&self, _: Needed) -> Result<bool, Error> {
        Ok(false)
    }

    fn units_of(&self, user: &u8) -> Result<Has, Error> {
        Ok(self.user_units(user)?.map_or(Has::default(), |has| has.has()))
    }

    fn user_units(&self, user: &u8) -> Result<Option<UserUnits<u8>>, Error> {
        Ok(self.units[usize::from(*user)])
    }

    fn taken(&self) -> Result<i64, Error> {
        let live = self.book.iter().flatten().filter(|entry| entry.state.is_live());
        Ok(live.map(|entry| entry.units.get()).sum())
    }

    fn note_surplus(&self, _: i64) {}

    fn payment(&self, reference: &u8) -> Result<Option<Payment<u8>>, Error> {
        Ok(self.payments[usize::from(*reference)])
    }

    fn last_sale(&self) -> Result<Option<SaleId>, Error> {
        Ok(Some(self.rules.sale))
    }

    fn outside(&self, order: &u8) -> Result<Option<Units>, Error> {
        Ok(self.outside[usize::from(*order)])
    }

    fn keepable(&self) -> Result<(), Error> {
        Ok(())
    }

    fn due(&self, _: usize) -> Result<Option<FirstDue<u8>>, Error> {
        Ok(None)
    }

    fn sees_holds(&self) -> Result<(), Error> {
        Ok(())
    }

    fn held(&self, _: usize) -> Result<(Vec<u8>, u64), Error> {
        let ids = (0..).zip(&self.holds).filter_map(|(id, hold)| hold.and(Some(id)));
        let ids: Vec<u8> = ids.collect();
        let held = ids.len() as u64;
        Ok((ids, held))
    }

    fn is_waited_for(&self) -> Result<bool, Error> {
        Ok(false)
    }

    fn queue(&self) -> Result<Queue, Error> {
        Ok(Queue::default())
    }

    fn first_waiting(&self) -> Result<Option<First<u8>>, Error> {
        Ok(None)
    }

    fn has_own_keys(&self, _: bool) -> Result<bool, Error> {
        Ok(!self.is_dropped)
    }

    fn room(&self, _: Stream) -> Result<(), Error> {
        Ok(())
    }

    fn writable(&self, _: bool) -> Result<(), Error> {
        Ok(())
    }

    fn queue_writable(&self) -> Result<(), Error> {
        Ok(())
    }

    fn releasable(&self) -> Result<(), Error> {
        Ok(())
    }
}
