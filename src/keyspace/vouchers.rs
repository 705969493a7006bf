//! The vouchers that were named lately: the names of their keys, and what is known of these keys
//! for as long as no event says otherwise.

use crate::config;
use crate::error::CommandError;
use crate::keyspace::configured::Configured;
use crate::keyspace::kept::Kept;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::server::{Ctx, MainThread, OwnedStr, Str};
use crate::typed::Voucher;
use domain::key_names::{
    EXTRA_PREFIX, HOLDS_PREFIX, RULES_PREFIX, WAIT_PREFIX, entry_name, voucher_beside,
};
use std::ffi::CStr;
use std::rc::Rc;

/// What is remembered of vouchers. Names are functions of a voucher and of the settings, so they
/// can't be stale: each carries what it was made of. What is *known* of a voucher's keys ends with
/// events, so all that a command has open are remembered.
pub(crate) struct Vouchers {
    pub(crate) configured: Kept<Configured>,
    /// The voucher named last, which is also among all.
    last: Kept<VoucherKeys>,
    /// All, the latest of each set at its end. A voucher is in the set of its one name.
    sets: [MainThread<Vec<Rc<VoucherKeys>>>; SETS],
}

/// Room for 256 vouchers: 64 that take turns are all remembered, but for one in a hundred.
const SETS: usize = 64;
const SET_LEN: usize = 4;

impl Default for Vouchers {
    fn default() -> Self {
        let sets = [const { MainThread::new(Vec::new()) }; SETS];
        Self { configured: Kept::default(), last: Kept::default(), sets }
    }
}

impl Vouchers {
    /// The keys of `voucher`. Costs next to nothing for the voucher named last, and little for one
    /// that is remembered.
    #[inline]
    pub(crate) fn keys(&self, voucher: Voucher<'_>) -> Result<Rc<VoucherKeys>, CommandError> {
        let voucher = voucher.0.bytes();
        match self.last.get().filter(|last| last.are_of(voucher)) {
            Some(last) => Ok(last),
            None => self.other_keys(voucher),
        }
    }

    /// The keys of another voucher than the last. Those of a long name, which an entry of a stream
    /// can have, are not remembered.
    #[inline(never)]
    fn other_keys(&self, voucher: &[u8]) -> Result<Rc<VoucherKeys>, CommandError> {
        if let Some(keys) = self.find(voucher) {
            return Ok(self.last.keep(keys));
        }
        let keys = self.make(voucher)?;
        if voucher.len() <= config::name_bytes_max() {
            self.remember(&keys);
            self.last.keep(Rc::clone(&keys));
        }
        Ok(keys)
    }

    /// The keys of a voucher whose holds expire. In the background nothing is remembered in the
    /// place of what clients ask for.
    pub(crate) fn keys_in_background(
        &self,
        voucher: Voucher<'_>,
    ) -> Result<Rc<VoucherKeys>, CommandError> {
        let voucher = voucher.0.bytes();
        self.find(voucher).map_or_else(|| self.make(voucher), Ok)
    }

    /// Is this the stock of a managed voucher?
    pub(crate) fn is_stock_managed(
        &self,
        ctx: Ctx<'_>,
        stock: Str<'_>,
    ) -> Result<bool, CommandError> {
        if let Some(last) = self.last.get()
            && last.is_current()
            && last.stock().bytes() == stock.bytes()
        {
            return Ok(last.rules_in(ctx)?.is_some());
        }
        let configured = Configured::now(&self.configured);
        let name = OwnedStr::new(&match configured.voucher_of_stock(stock.bytes()) {
            Some(voucher) => voucher,
            None => return Ok(false),
        });
        match self.keys(Voucher(name.as_str())) {
            Ok(keys) if keys.stock().bytes() == stock.bytes() => Ok(keys.rules_in(ctx)?.is_some()),
            // Not the stock that any voucher's name leads to.
            _ => Ok(false),
        }
    }

    fn find(&self, voucher: &[u8]) -> Option<Rc<VoucherKeys>> {
        let set = self.set(entry_name(voucher, config::hash_tags()))?;
        set.with(|set| set.iter().find(|keys| keys.are_of(voucher)).map(Rc::clone))
    }

    fn make(&self, voucher: &[u8]) -> Result<Rc<VoucherKeys>, CommandError> {
        VoucherKeys::new(Configured::now(&self.configured), voucher).map(Rc::new)
    }

    /// Remembers the keys of a voucher, in the place of those that were made before all others of
    /// the set. What a command has open is not replaced, since it has to hear of events.
    fn remember(&self, keys: &Rc<VoucherKeys>) {
        let Some(set) = self.set(entry_name(keys.voucher(), config::hash_tags())) else { return };
        let is_idle = |it: &Rc<VoucherKeys>| Rc::strong_count(it) == 1;
        set.with(|set| {
            set.retain(|it| it.is_current());
            while set.len() >= SET_LEN
                && let Some(oldest) = set.iter().position(is_idle)
            {
                set.remove(oldest);
            }
            set.push(Rc::clone(keys));
        });
    }

    /// Where the vouchers with this one name are.
    fn set(&self, name: &[u8]) -> Option<&MainThread<Vec<Rc<VoucherKeys>>>> {
        // FNV-1a, and its highest bits after one more multiplication: names are short. Names that
        // were chosen to meet in one set only forget each other.
        let hash = name.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let number = hash
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .wrapping_shr(u64::BITS.saturating_sub(SETS.ilog2()));
        self.sets.get(usize::try_from(number).unwrap_or(0))
    }
}

/// The events of a key that leaves this node, or at least this name.
pub(crate) const DEPARTURES: [&CStr; 5] =
    [c"del", c"expired", c"evicted", c"rename_from", c"move_from"];

/// What ends what is known.
impl Vouchers {
    /// Something happened to a key, in whichever database.
    ///
    /// - That a voucher has no rules ends with any event of the rules key: `new` comes before any
    ///   command can see a key that appears.
    /// - That no hold is due ends with any event of the holds key but those of strings, which are
    ///   not heard: where somebody has written SET over the holds, a try at the limit says so, and
    ///   the key's type is seen by the next one that looks.
    /// - That nobody waits is known while there is no queue, and ends with any event of its key. So
    ///   does that there are no extra units.
    pub(crate) fn on_key(&self, event: &CStr, key: &[u8]) {
        if let Some(name) = key.strip_prefix(RULES_PREFIX) {
            self.tell(name, VoucherKeys::rules_changed);
        } else if let Some(name) = key.strip_prefix(HOLDS_PREFIX) {
            self.tell(name, VoucherKeys::holds_changed);
        } else if let Some(name) = key.strip_prefix(WAIT_PREFIX) {
            self.tell(name, VoucherKeys::queue_changed);
        } else if let Some(name) = key.strip_prefix(EXTRA_PREFIX) {
            self.tell(name, VoucherKeys::extra_changed);
        }
        if config::is_cluster() {
            self.on_key_in_cluster(event, key);
        }
    }

    /// That all keys are here ends when one of them leaves: a key that is migrated fires `del`.
    ///
    /// Keys of a slot that is lost at once are deleted without an event by Redis 7.0, the stock
    /// among them: a stock that appears ends it too, and it is not believed where the stock is
    /// missing ([`VoucherKeys::read_stock`]). Where a key has the voucher's own name it is never
    /// remembered, since the source of a move then goes on to answer. So a slot that returns key by
    /// key is asked again.
    fn on_key_in_cluster(&self, event: &CStr, key: &[u8]) {
        self.tell(key, VoucherKeys::may_have_left);
        let leaves = DEPARTURES.contains(&event);
        let Some(configured) = self.configured.get().filter(|_| leaves || event == c"new") else {
            return;
        };
        if let Some(name) = key.strip_prefix(configured.stock_prefix.as_slice()) {
            self.tell(name, VoucherKeys::may_have_left);
        }
        if !leaves {
            return;
        }
        let buyers = key.strip_prefix(configured.buyers_prefix.as_slice());
        for name in buyers.into_iter().chain(voucher_beside(key)) {
            self.tell(name, VoucherKeys::may_have_left);
        }
        // Vouchers share streams.
        if key.starts_with(&configured.order_stream) {
            let all = |set: &mut Vec<Rc<VoucherKeys>>| {
                let of_stream = set.iter().filter(|keys| keys.has_stream(key));
                of_stream.for_each(|keys| keys.may_have_left());
            };
            self.sets.iter().for_each(|set| set.with(all));
        }
    }

    /// Tells those vouchers whose keys have names that end so.
    fn tell(&self, end: &[u8], what: fn(&VoucherKeys)) {
        let hash_tags = config::hash_tags();
        let name = entry_name(end, hash_tags);
        let Some(set) = self.set(name) else { return };
        set.with(|set| {
            let of_name = set.iter().filter(|it| entry_name(it.voucher(), hash_tags) == name);
            of_name.for_each(|keys| what(keys));
        });
    }

    /// Any key may have changed, or the clock may have been set back: forgets all.
    pub(crate) fn forget(&self) {
        self.last.forget();
        self.sets.iter().for_each(|set| set.set(Vec::new()));
    }
}
