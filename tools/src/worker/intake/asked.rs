//! New entries that were asked for: the server answers while the rows of those before are written.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, MaybeDone, maybe_done};
use redis::RedisResult;

use crate::order_events::Which;
use crate::source::{Delivery, Source, unanswered};

pub struct Asked {
    pub of: Vec<Which>,
    /// Of each stream, at most.
    pub count: u32,
    answer: MaybeDone<BoxFuture<'static, RedisResult<Vec<Delivery>>>>,
}

impl Asked {
    /// Asks for new entries of some streams. The request has gone before all that this connection
    /// sends later.
    pub async fn of(source: &Source, of: Vec<Which>, count: u32) -> Self {
        let (mut its, all) = (source.clone(), of.clone());
        let mut answer = maybe_done(async move { its.read(&all, count).await }.boxed());
        poll_fn(|context| {
            _ = answer.poll_unpin(context);
            Poll::Ready(())
        })
        .await;
        Self { of, count, answer }
    }

    /// Waits for the answer, which is given once.
    pub async fn answer(&mut self) -> RedisResult<Vec<Delivery>> {
        (&mut self.answer).await;
        Pin::new(&mut self.answer).take_output().ok_or_else(unanswered)?
    }
}
