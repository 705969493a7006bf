//! Applies carts: the orders of several sales get their units, or none does.

use crate::error::CommandError;
use crate::keyspace::buyers;
use crate::keyspace::entries::{Entries, EntryText};
use crate::keyspace::names::Name;
use crate::keyspace::orders::Added;
use crate::keyspace::sale::Sale;
use domain::facts::{Facts, Stream};
use domain::plan::Take;
use domain::rules::Millis;
use std::slice;

impl Sale<'_> {
    /// The one moment of a command about several sales.
    pub(crate) fn is_at(&self, now: Millis) {
        self.more().now.set(Some(now));
    }

    /// Takes over the open stream of the sale before, which has no other open than that of its
    /// orders, if both have the same, and otherwise closes it: a stream has one handle.
    pub(crate) fn inherit_stream(&self, before: &Self) {
        let key = |sale: &Self| Some(sale.sale_keys().ok()?.orders?.bytes());
        if key(self) == key(before) {
            self.more().streams.swap(&before.more().streams);
        } else {
            before.close_streams();
        }
    }
}

/// One order of a cart, and what was written of it before all of the cart was certain.
struct Part<'s, 't, 'a> {
    sale: &'s Sale<'a>,
    take: &'t Take<Name<'a>>,
    text: &'t EntryText<'a>,
    entries: Entries<'t>,
    is_admitted: bool,
    added: Option<Added<'a>>,
}

/// Gives the orders their units. Whatever can be refused comes first, with its undo: all users
/// become buyers, all entries are appended. On an error no stock, book or hold was touched.
///
/// The books are open since the decision. Sales may share a stream, which only one has open.
pub(crate) fn take_cart<'a>(
    sales: &[Sale<'a>],
    takes: &[Take<Name<'a>>],
) -> Result<(), CommandError> {
    let cart = || sales.iter().zip(takes);
    let texts = cart().map(|(sale, take)| sale.text_of_take(take, None, takes.len()));
    let texts: Vec<_> = texts.collect();
    let mut parts = Vec::with_capacity(texts.len());
    for ((sale, take), text) in cart().zip(&texts) {
        let entries = sale.entries(true, Some(text))?;
        parts.push(Part { sale, take, text, entries, is_admitted: false, added: None });
    }
    if let Err(error) = begin(&mut parts) {
        undo(parts);
        return Err(error);
    }
    // All is written before the first event is heard.
    let written = parts.iter().map(|it| it.sale.write_takes(slice::from_ref(it.take), false));
    let written: Vec<_> = written.collect();
    for (part, written) in parts.iter_mut().zip(written) {
        let (takes, added) = (slice::from_ref(part.take), slice::from_ref(&part.added));
        part.sale.publish_takes(takes, written, added, &mut part.entries, part.text);
    }
    Ok(())
}

/// Takes the steps that can be refused.
fn begin(parts: &mut [Part<'_, '_, '_>]) -> Result<(), CommandError> {
    for Part { sale, take, .. } in &*parts {
        // What can be seen without a write needs no undo.
        buyers::check_kind(sale.ctx, sale.sale_keys()?.buyers)?;
        sale.check_takes(slice::from_ref(take), false)?;
    }
    for Part { sale, take, is_admitted, .. } in &mut *parts {
        *is_admitted = take.admit.is_some() && sale.admit(slice::from_ref(take))?;
    }
    if let [first, .., last] = &*parts {
        // The decision leaves that of the last one open.
        first.sale.inherit_stream(last.sale);
    }
    let mut before: Option<&Sale<'_>> = None;
    for Part { sale, take, text, entries, added, .. } in &mut *parts {
        if let Some(before) = before.replace(sale) {
            sale.inherit_stream(before);
        }
        sale.room(Stream::Orders)?;
        *added = sale.add(Stream::Orders, entries.of(&take.order, text))?;
    }
    if let Some(last) = before {
        last.close_streams();
    }
    Ok(())
}

/// Takes back the entries that were appended, and the users who became buyers.
fn undo(mut parts: Vec<Part<'_, '_, '_>>) {
    parts.iter().for_each(|part| part.sale.close());
    for Part { sale, take, text, entries, added, .. } in &mut parts {
        if let Some(added) = added.take() {
            added.take_back(sale.ctx, entries.of(&take.order, text));
        }
    }
    for part in parts.iter().filter(|part| part.is_admitted) {
        part.sale.dismiss(&part.take.order.user);
    }
}
