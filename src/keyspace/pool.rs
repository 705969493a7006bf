//! The names of a pool's keys, made again when a setting changes, and kept for the pool drawn from
//! last.

use crate::config;
use crate::error::CommandError;
use crate::keyspace::fields::DrawFields;
use crate::keyspace::kept::Kept;
use crate::keyspace::presence::count_here;
use crate::server::{Ctx, OwnedStr, Str};
use crate::typed::Pool;
use domain::hash_tag::StrayBraces;
use domain::key_names::{CODES_PREFIX, Naming, WINNERS_PREFIX};
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

impl PoolKeys {
    /// The keys of `pool`. Costs next to nothing for the pool asked for last.
    pub(crate) fn of(kept: &Kept<Self>, pool: Pool<'_>) -> Result<Rc<Self>, CommandError> {
        let pool = pool.0.bytes();
        if let Some(last) = kept.get()
            && last.generation == config::naming_generation()
            && last.pool == pool
        {
            return Ok(last);
        }
        Ok(kept.keep(config::DRAW_STREAM.with(|stream| Self::make(pool, stream))?))
    }

    fn make(pool: &[u8], stream: &[u8]) -> Result<Self, CommandError> {
        let hash_tags = config::hash_tags();
        if hash_tags && stream.contains(&b'{') {
            return Err(CommandError::BraceInPrefix);
        }
        let naming =
            Naming::of(pool, hash_tags).map_err(|StrayBraces| CommandError::PoolStrayBraces)?;
        let keys = Self {
            generation: config::naming_generation(),
            pool: pool.to_vec(),
            codes: OwnedStr::new(&naming.key(CODES_PREFIX)),
            winners: OwnedStr::new(&naming.key(WINNERS_PREFIX)),
            draws: (!stream.is_empty()).then(|| OwnedStr::new(&naming.stream(stream))),
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

    /// Refuses, in cluster mode, keys that are not all on this node.
    pub(crate) fn check_here(&self, ctx: Ctx<'_>) -> Result<(), CommandError> {
        if !config::is_cluster() {
            return Ok(());
        }
        let all = [self.codes(), self.winners(), self.draws().unwrap_or(self.codes())];
        count_here(ctx, &all, CommandError::PoolNotHere).map(|_| ())
    }
}
