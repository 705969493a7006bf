//! Applies what is decided about a sale as a whole.

use crate::effect::Effect;
use crate::error::CommandError;
use crate::keyspace::fields::decimal;
use crate::keyspace::names::Name;
use crate::keyspace::sale::Sale;
use crate::keyspace::{rules, stock};
use crate::server::{Call, Kind, Str, WriteKey};
use domain::plan::SalePlan;
use domain::sale::Units;

impl Sale<'_> {
    /// Writes what is decided about the sale as a whole. True if keys were deleted. On an error
    /// nothing has been changed.
    pub(crate) fn apply_to_all(&self, plan: &SalePlan<Name<'_>>) -> Result<bool, CommandError> {
        let (ctx, keys) = (self.ctx, self.managed_keys()?);
        self.close();
        if let Some(rules) = &plan.rules {
            rules::write(ctx, keys.rules, rules)?;
            self.forget_rules();
        }
        if let Some(units) = plan.new_stock {
            // A plain SET of a missing key: it succeeds as the first has.
            stock::create(ctx, keys.sale.stock, units)?;
        }
        if let Some(sale) = plan.last {
            stock::create(ctx, keys.last, sale.get())?;
        }
        if let Some(effect) =
            plan.stock.and_then(|change| stock::change(ctx, keys.sale.stock, change))
        {
            effect.publish(ctx);
        }
        if let Some((order, units)) = &plan.outside
            && let Some(effect) = self.write_outside(keys.outside, order.as_str(), *units)
        {
            effect.publish(ctx);
        }
        let Some(last_until) = plan.delete else { return Ok(false) };
        rules::check_primary(ctx)?;
        // While its slot moves, the server refuses to name a key that orders have taken with them.
        let own = keys.all().own.into_iter().filter(|key| rules::exists(ctx, *key));
        let own: Vec<Str<'_>> = own.collect();
        if own.is_empty() {
            // They are gone, and the client of a repeat may wait until the replicas know it.
            Effect::UnlinkedAgain { key: keys.rules }.publish(ctx);
            return Ok(false);
        }
        if let Err(error) = Call::write(ctx, c"UNLINK", &own) {
            return Err(CommandError::of_call(error, "UNLINK"));
        }
        if WriteKey::open(ctx, keys.last).set_end(last_until) {
            Effect::EndSet { key: keys.last, at_ms: last_until }.publish(ctx);
        }
        Ok(true)
    }

    /// The key was seen to be a hash, or missing.
    fn write_outside<'n>(
        &'n self,
        key: Str<'n>,
        field: Str<'n>,
        units: Option<Units>,
    ) -> Option<Effect<'n>> {
        let mut outside = WriteKey::open(self.ctx, key);
        let Some(units) = units else {
            outside.hash_del(field).ok()?;
            let was_last = outside.kind() == Kind::Empty;
            return Some(Effect::FieldDeleted { key, field, was_last });
        };
        let value = decimal(units.get());
        outside.hash_set(field, value.as_str()).ok()?;
        Some(Effect::FieldSet { key, field, value })
    }
}
