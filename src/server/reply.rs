//! What a client is sent. A reply is complete before any of it is sent: a panic while it is made
//! leaves nothing sent, and sending can't panic.

use super::api::api;
use super::ctx::Ctx;
use super::panics::guarded;
use std::borrow::Cow;
use std::ffi::{CStr, c_char};

/// Everything that a client is sent for one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Integer(i64),
    /// The client is blocked, and is answered later.
    Later,
    Bytes(Vec<u8>),
    /// There is no such thing.
    Null,
    /// `+OK`
    Ok,
    Array(Vec<Reply>),
    /// An array of so many small integers, without an allocation.
    Codes([u8; CODES_MAX], usize),
    /// Names and values; pairs in one flat array for clients of RESP2.
    Map(Vec<(&'static str, Reply)>),
    /// The code word, a space and the sentence.
    Error(Cow<'static, CStr>),
}

/// How many small integers [`Reply::codes`] takes at most.
pub(crate) const CODES_MAX: usize = 32;

impl Reply {
    /// An array of integers from 0 to 255, at most [`CODES_MAX`].
    pub(crate) fn codes(codes: impl Iterator<Item = i64>) -> Self {
        let mut all = [0; CODES_MAX];
        let mut len: usize = 0;
        for (place, code) in all.iter_mut().zip(codes) {
            *place = u8::try_from(code).unwrap_or(u8::MAX);
            len = len.saturating_add(1);
        }
        Self::Codes(all, len)
    }

    pub(crate) fn text(text: &str) -> Self {
        Self::Bytes(text.as_bytes().to_vec())
    }

    /// The number, or null where there is none.
    pub(crate) fn integer_or_null(value: Option<i64>) -> Self {
        value.map_or(Self::Null, Self::Integer)
    }

    /// What `make` makes, or one error if it panics.
    #[inline]
    pub(super) fn of(make: impl FnOnce() -> Self) -> Self {
        const BUG: &CStr = c"ERR a bug in the module stopped this command, see the server's log";
        guarded(make).unwrap_or(Self::Error(Cow::Borrowed(BUG)))
    }

    pub(super) fn send(self, ctx: Ctx<'_>) {
        let raw = ctx.as_ptr();
        // SAFETY: the context is live, and the server copies bytes and texts, which live for the
        // call. The status says only whether there is a client to answer.
        unsafe {
            match self {
                Self::Integer(value) => api!(RedisModule_ReplyWithLongLong(raw, value)),
                Self::Later => return,
                Self::Bytes(bytes) => {
                    let start = bytes.as_ptr().cast::<c_char>();
                    api!(RedisModule_ReplyWithStringBuffer(raw, start, bytes.len()))
                }
                Self::Null => api!(RedisModule_ReplyWithNull(raw)),
                Self::Ok => api!(RedisModule_ReplyWithSimpleString(raw, c"OK".as_ptr())),
                Self::Error(text) => api!(RedisModule_ReplyWithError(raw, text.as_ptr())),
                Self::Array(elements) => {
                    let status = api!(RedisModule_ReplyWithArray(raw, len(elements.len())));
                    elements.into_iter().for_each(|element| element.send(ctx));
                    status
                }
                Self::Codes(codes, count) => {
                    let status = api!(RedisModule_ReplyWithArray(raw, len(count)));
                    for code in codes.into_iter().take(count) {
                        Self::Integer(code.into()).send(ctx);
                    }
                    status
                }
                Self::Map(pairs) => {
                    let status = api!(RedisModule_ReplyWithMap(raw, len(pairs.len())));
                    for (name, value) in pairs {
                        Self::text(name).send(ctx);
                        value.send(ctx);
                    }
                    status
                }
            }
        };
    }
}

/// A length as the protocol has it. No reply here comes near the bound.
fn len(len: usize) -> i64 {
    i64::try_from(len).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::Reply;

    #[test]
    fn a_panic_while_a_reply_is_made_is_one_error() {
        let made = Reply::of(|| {
            let mut elements = vec![Reply::Integer(0)];
            elements.push(elements.get(2).expect("a bug").clone());
            Reply::Array(elements)
        });
        let Reply::Error(text) = made else { panic!("more than an error: {made:?}") };
        assert!(text.to_bytes().starts_with(b"ERR a bug"));
        let whole = Reply::Array(vec![Reply::Null]);
        assert_eq!(Reply::of(|| whole.clone()), whole);
    }
}
