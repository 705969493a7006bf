//! What a client is sent. An answer is complete before its first part is sent: a panic while it is
//! made leaves nothing sent, and sending can't panic.

use super::api::api;
use super::ctx::Ctx;
use super::panics::guarded;
use std::borrow::Cow;
use std::ffi::{CStr, c_char};

/// A piece of an answer, as the protocol has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Integer(i64),
    Bytes(Vec<u8>),
    Null,
    /// `+OK`
    Ok,
    /// The code word, a space and the sentence.
    Error(Cow<'static, CStr>),
    /// So many elements follow.
    Array(i64),
    /// So many names and values follow. A flat array for RESP2.
    Map(i64),
}

/// Everything that a client is sent for one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    One(Part),
    /// Array or map, then what is in it. Empty: the client is blocked, and is answered later.
    All(Vec<Part>),
}

impl Answer {
    /// What `make` makes, or one error if it panics.
    #[inline]
    pub(super) fn of(make: impl FnOnce() -> Self) -> Self {
        const BUG: &CStr = c"ERR a bug in the module stopped this command, see the server's log";
        guarded(make).unwrap_or(Self::One(Part::Error(Cow::Borrowed(BUG))))
    }

    #[inline]
    pub(super) fn send(self, ctx: Ctx<'_>) {
        match self {
            Self::One(part) => part.send(ctx),
            Self::All(parts) => parts.into_iter().for_each(|part| part.send(ctx)),
        }
    }
}

impl Part {
    fn send(self, ctx: Ctx<'_>) {
        let ctx = ctx.as_ptr();
        // SAFETY: the context is live, and the server copies bytes and texts, which live for the
        // call. The status says only whether there is a client to answer.
        unsafe {
            match self {
                Self::Integer(value) => api!(RedisModule_ReplyWithLongLong(ctx, value)),
                Self::Bytes(bytes) => {
                    let start = bytes.as_ptr().cast::<c_char>();
                    api!(RedisModule_ReplyWithStringBuffer(ctx, start, bytes.len()))
                }
                Self::Null => api!(RedisModule_ReplyWithNull(ctx)),
                Self::Ok => api!(RedisModule_ReplyWithSimpleString(ctx, c"OK".as_ptr())),
                Self::Error(text) => api!(RedisModule_ReplyWithError(ctx, text.as_ptr())),
                Self::Array(elements) => api!(RedisModule_ReplyWithArray(ctx, elements)),
                Self::Map(pairs) => api!(RedisModule_ReplyWithMap(ctx, pairs)),
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, Part};

    #[test]
    fn a_panic_while_an_answer_is_made_is_one_error() {
        let made = Answer::of(|| {
            let mut parts = vec![Part::Array(2), Part::Integer(0)];
            parts.push(parts.get(2).expect("a bug").clone());
            Answer::All(parts)
        });
        let Answer::One(Part::Error(text)) = made else { panic!("more than an error: {made:?}") };
        assert!(text.to_bytes().starts_with(b"ERR a bug"));
        let whole = Answer::All(vec![Part::Array(1), Part::Null]);
        assert_eq!(Answer::of(|| whole.clone()), whole);
    }
}
