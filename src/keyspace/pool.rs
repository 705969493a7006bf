//! The names of a pool's keys, made anew when a configuration changes, and kept for the pool drawn
//! from last.

use crate::args::Pool;
use crate::config;
use crate::error::CommandError;
use crate::keyspace::fields::DrawFields;
use crate::keyspace::prefixes::{CODES_PREFIX, WINNERS_PREFIX};
use crate::keyspace::style::Style;
use domain::hash_tag::StrayBraces;
use crate::server::{Call, Ctx, MainThread, OwnedStr, Str};
use std::rc::Rc;

/// The names of one pool's keys.
pub(crate) struct PoolKeys {
    generation: u64,
    pool: Vec<u8>,
    codes: OwnedStr,
    winners: OwnedStr,
    /// None where no stream is kept.
    draws: Option<OwnedStr>,
    fields: DrawFields,
}

static LAST: MainThread<Option<Rc<PoolKeys>>> = MainThread::new(None);

impl PoolKeys {
    /// The keys of `pool`. Costs next to nothing for the pool asked for last.
    pub(crate) fn of(pool: Pool<'_>) -> Result<Rc<Self>, CommandError> {
        let pool = pool.0.bytes();
        if let Some(last) = LAST.cloned()
            && last.generation == config::generation()
            && last.pool == pool
        {
            return Ok(last);
        }
        let keys = Rc::new(config::DRAW_STREAM.with(|stream| Self::make(pool, stream))?);
        LAST.set(Some(Rc::clone(&keys)));
        Ok(keys)
    }

    fn make(pool: &[u8], stream: &[u8]) -> Result<Self, CommandError> {
        let style = if !config::hash_tags() {
            Style::Plain
        } else if stream.contains(&b'{') {
            return Err(CommandError::BraceInPrefix);
        } else {
            Style::tagged(pool).map_err(|StrayBraces| CommandError::PoolStrayBraces)?
        };
        let keys = Self {
            generation: config::generation(),
            pool: pool.to_vec(),
            codes: style.key(CODES_PREFIX, pool),
            winners: style.key(WINNERS_PREFIX, pool),
            draws: (!stream.is_empty()).then(|| style.stream(stream, pool)),
            fields: DrawFields::new(),
        };
        let draws = keys.draws().map(Str::bytes);
        if draws == Some(keys.codes().bytes()) || draws == Some(keys.winners().bytes()) {
            return Err(CommandError::SamePoolKeys);
        }
        Ok(keys)
    }

    /// The codes not yet drawn.
    pub(crate) fn codes(&self) -> Str<'_> {
        self.codes.as_str()
    }

    /// User to code.
    pub(crate) fn winners(&self) -> Str<'_> {
        self.winners.as_str()
    }

    /// The stream of draws.
    pub(crate) fn draws(&self) -> Option<Str<'_>> {
        self.draws.as_ref().map(OwnedStr::as_str)
    }

    pub(crate) fn fields(&self) -> &DrawFields {
        &self.fields
    }

    /// Refuses, in cluster mode, keys that are not all on this node. See
    /// [`super::names::VoucherKeys::check_here`].
    pub(crate) fn check_here(&self, ctx: Ctx<'_>) -> Result<(), CommandError> {
        if !config::is_cluster() {
            return Ok(());
        }
        let all = [self.codes(), self.winners(), self.draws().unwrap_or(self.codes())];
        match Call::read_all(ctx, c"EXISTS", &all) {
            Ok(_) => Ok(()),
            Err(error) => Err(match CommandError::of_call(error, "EXISTS") {
                CommandError::TryAgain => CommandError::PoolNotHere,
                other => other,
            }),
        }
    }
}

/// Frees what is kept: the module is being unloaded.
pub(crate) fn forget() {
    LAST.set(None);
}
