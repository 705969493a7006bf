//! The codes of a pool, a list, and their winners, a hash: the facts of a draw, and its writes.

use crate::effect::Effect;
use crate::error::CommandError;
use crate::keyspace::orders::Orders;
use crate::keyspace::pool::PoolKeys;
use crate::server::{Ctx, Kind, OwnedStr, ReadKey, Str, WriteKey};
use crate::typed::{Pool, User};
use domain::draw::DrawFacts;
use std::cell::RefCell;

/// A pool, and a user who draws from it.
pub(crate) struct Prizes<'a> {
    ctx: Ctx<'a>,
    keys: &'a PoolKeys,
    user: User<'a>,
    draws: RefCell<Option<Orders<'a>>>,
}

impl<'a> Prizes<'a> {
    pub(crate) fn new(ctx: Ctx<'a>, keys: &'a PoolKeys, user: User<'a>) -> Self {
        Self { ctx, keys, user, draws: RefCell::default() }
    }

    /// Gives the first code to the user. The entry is written first: only it can be refused. The
    /// replicated LPOP names no code: a replica's list begins with the same one.
    pub(crate) fn take(&self, pool: Pool<'_>, code: Str<'_>) -> Result<(), CommandError> {
        let Self { ctx, keys, user: User(user), .. } = *self;
        let fields = keys.fields().of([user, pool.0, code]);
        let draws = self.draws.take();
        let added = draws.map(|mut draws| draws.add(&fields)).transpose()?;
        let mut codes = WriteKey::open(ctx, keys.codes());
        // None only if another module has changed the key since it was read.
        let popped = codes
            .list_pop_first()
            .map(|_| Effect::Popped { key: keys.codes(), was_last: codes.kind() == Kind::Empty });
        drop(codes);
        let (key, value) = (keys.winners(), OwnedStr::new(code.bytes()));
        let won = WriteKey::open(ctx, key).hash_set(user, value.as_str());
        let won = won.ok().map(|()| Effect::FieldSet { key, field: user, value });
        let appended = added.map(|added| added.effect(&fields));
        for effect in [popped, won, appended].into_iter().flatten() {
            effect.publish(ctx);
        }
        Ok(())
    }

    /// Puts the user's code back into the pool, to be drawn next.
    pub(crate) fn put_back(&self, code: Str<'_>) {
        let Self { ctx, keys, user: User(user), .. } = *self;
        let key = keys.codes();
        let returned = WriteKey::open(ctx, key).list_push_first(code);
        let returned = returned.ok().map(|()| Effect::PushedFirst { key, element: code });
        let key = keys.winners();
        let mut winners = WriteKey::open(ctx, key);
        let forgotten = winners.hash_del(user).ok().map(|()| {
            let was_last = winners.kind() == Kind::Empty;
            Effect::FieldDeleted { key, field: user, was_last }
        });
        drop(winners);
        for effect in [returned, forgotten].into_iter().flatten() {
            effect.publish(ctx);
        }
    }
}

impl DrawFacts for Prizes<'_> {
    type Code = OwnedStr;
    type Error = CommandError;

    fn code_of_user(&self) -> Result<Option<OwnedStr>, CommandError> {
        match ReadKey::open(self.ctx, self.keys.winners()) {
            None => Ok(None),
            Some(winners) => Ok(winners.hash_get(self.user.0)?),
        }
    }

    fn first_code(&self) -> Result<Option<OwnedStr>, CommandError> {
        match ReadKey::open(self.ctx, self.keys.codes()) {
            None => Ok(None),
            Some(codes) => Ok(codes.list_first()?),
        }
    }

    /// Refuses also a code that may be too long for a stream entry, which holds at most 1 GiB.
    fn room(&self, code: &OwnedStr) -> Result<(), CommandError> {
        const MAX: usize = 128 << 20;
        if code.as_str().bytes().len() > MAX {
            return Err(CommandError::TooLong { argument: "code", max: MAX });
        }
        let Some(key) = self.keys.draws() else { return Ok(()) };
        let draws = Orders::open(self.ctx, key, "draw stream")?;
        self.draws.replace(Some(draws));
        Ok(())
    }

    fn returnable(&self) -> Result<(), CommandError> {
        match ReadKey::open(self.ctx, self.keys.codes()) {
            Some(codes) if codes.kind() != Kind::List => Err(CommandError::WrongType),
            _ => Ok(()),
        }
    }
}
