//! Facts that few commands ask for: payments and the last sale, which outlive a sale, and units
//! outside of it.

use crate::error::CommandError;
use crate::keyspace::names::Name;
use crate::keyspace::opened::Opened;
use crate::keyspace::sale::Sale;
use crate::server::ReadKey;
use domain::integer;
use domain::payments::Payment;
use domain::rules::SaleId;
use domain::sale::Units;

impl<'a> Sale<'a> {
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
        SaleId::parse(key.string()?).map(Some).ok_or(CommandError::LastSaleGarbled)
    }

    pub(super) fn read_outside(&self, order: &Name<'a>) -> Result<Option<Units>, CommandError> {
        let keys = self.managed_keys()?;
        self.check_one_here(keys.outside)?;
        let units = Opened::default().field(self.ctx, keys.outside, order.as_str())?;
        let Some(units) = units else { return Ok(None) };
        let units = integer::parse(units.as_str().bytes()).and_then(Units::new);
        units.map(Some).ok_or(CommandError::Garbled)
    }
}
