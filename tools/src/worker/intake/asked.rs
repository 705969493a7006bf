//! New entries that were asked for: the server answers, and the answer is read, while the rows of
//! those before are written.

use std::future::poll_fn;
use std::task::Poll;

use futures_util::FutureExt;
use redis::RedisResult;
use tokio::task::JoinHandle;

use crate::order_events::Which;
use crate::source::{Delivery, Source, unanswered};

pub struct Asked {
    pub of: Vec<Which>,
    /// Of each stream, at most.
    pub count: u32,
    answer: JoinHandle<RedisResult<Vec<Delivery>>>,
}

impl Asked {
    /// Asks for new entries of some streams. The request has gone before all that this connection
    /// sends later.
    pub async fn of(source: &Source, of: Vec<Which>, count: u32) -> Self {
        let (mut its, all) = (source.clone(), of.clone());
        let mut answer = async move { its.read(&all, count).await }.boxed();
        let first = poll_fn(|context| Poll::Ready(answer.poll_unpin(context))).await;
        let answer = tokio::spawn(async {
            match first {
                Poll::Ready(answer) => answer,
                Poll::Pending => answer.await,
            }
        });
        Self { of, count, answer }
    }

    /// Waits for the answer.
    pub async fn answer(self) -> RedisResult<Vec<Delivery>> {
        self.answer.await.unwrap_or_else(|_| Err(unanswered()))
    }
}
