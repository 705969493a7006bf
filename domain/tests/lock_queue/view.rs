//! What the decisions see of the world.

use domain::lock::fence::{Exhausted, Fence};
use domain::lock::{Grant, Holder, LockFacts, LockRequest};

use crate::faults::Fault;
use crate::model::{Token, World};

/// Facts about the world, for a command that may wait or not; and what is wrong with them.
pub struct View<'w> {
    pub world: &'w World,
    pub may_wait: bool,
    pub fault: Fault,
}

impl LockFacts for View<'_> {
    type Name = Token;
    type Error = Exhausted;

    fn holder(&self, token: &[u8]) -> Result<Holder, Exhausted> {
        let holder = match self.world.key {
            None => Holder::Nobody,
            Some(key) if key.token.as_ref() == token => Holder::ThisToken { ends_at_ms: key.until },
            Some(key) => Holder::Another { ends_at_ms: key.until },
        };
        Ok(self.fault.holder(holder, self.world.now))
    }

    fn fence(&self, token: &[u8]) -> Result<Fence, Exhausted> {
        let fence = self.world.fence.map_or(Fence::NONE, |(number, owner)| {
            let value = Fence::text(number, owner.as_ref());
            Fence::parse(&value, token).expect("a value that was written")
        });
        Ok(self.fault.fence(fence))
    }

    fn has_fence(&self) -> bool {
        self.world.fence.is_some()
    }

    fn is_waited_for(&self) -> bool {
        self.fault.is_waited_for(self.world.queue.is_waited_for(), self.world.queue.len())
    }

    fn may_wait(&self, _: &[u8]) -> Result<bool, Exhausted> {
        Ok(self.may_wait)
    }

    fn check_may_hold(&self, _: &LockRequest<impl AsRef<[u8]>>) -> Result<(), Exhausted> {
        Ok(())
    }

    fn grant(&self) -> Option<Grant<Token>> {
        self.world.queue.grant().map(|grant| self.fault.grant(grant))
    }

    fn head(&self) -> Option<LockRequest<Token>> {
        self.fault.head(&self.world.queue).map(|waiter| waiter.request.clone())
    }
}
