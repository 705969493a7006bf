//! Decides draws of prize codes.

/// How a draw ends. The numbers are what clients see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// The code now belongs to the user.
    Drawn = 0,
    /// No code is left.
    Empty = 1,
    /// The user already has a code of this pool, which is returned again.
    Again = 2,
}

impl Draw {
    pub fn code(self) -> i64 {
        self as i64
    }
}

/// The facts of one pool of prizes and one user.
pub trait DrawFacts {
    type Code;
    type Error;

    /// The code that the user has drawn.
    fn code_of_user(&self) -> Result<Option<Self::Code>, Self::Error>;

    /// The code that is drawn next.
    fn first_code(&self) -> Result<Option<Self::Code>, Self::Error>;

    /// Refuses a draw whose entry can't be appended.
    fn room(&self, code: &Self::Code) -> Result<(), Self::Error>;

    /// Refuses a pool that no code can be put back into.
    fn returnable(&self) -> Result<(), Self::Error>;
}

/// Decides a draw: its outcome and the code. If it is [`Draw::Drawn`], the draw is appended, then
/// the code leaves the pool and becomes the user's.
pub fn draw<F: DrawFacts>(facts: &F) -> Result<(Draw, Option<F::Code>), F::Error> {
    if let Some(code) = facts.code_of_user()? {
        return Ok((Draw::Again, Some(code)));
    }
    let Some(code) = facts.first_code()? else { return Ok((Draw::Empty, None)) };
    facts.room(&code)?;
    Ok((Draw::Drawn, Some(code)))
}

/// Decides whether a user's code is put back, to be drawn next. None if the user has none.
pub fn undraw<F: DrawFacts>(facts: &F) -> Result<Option<F::Code>, F::Error> {
    let Some(code) = facts.code_of_user()? else { return Ok(None) };
    facts.returnable()?;
    Ok(Some(code))
}

#[cfg(test)]
mod tests {
    use super::{Draw, DrawFacts, draw, undraw};
    use std::cell::Cell;

    struct Pool {
        of_user: Option<u8>,
        first: Option<u8>,
        /// After how many questions one fails.
        fails_after: Cell<usize>,
    }

    impl Pool {
        fn ask<T>(&self, answer: T) -> Result<T, ()> {
            self.fails_after.set(self.fails_after.get().checked_sub(1).ok_or(())?);
            Ok(answer)
        }
    }

    impl DrawFacts for Pool {
        type Code = u8;
        type Error = ();

        fn code_of_user(&self) -> Result<Option<u8>, ()> {
            self.ask(self.of_user)
        }

        fn first_code(&self) -> Result<Option<u8>, ()> {
            self.ask(self.first)
        }

        fn room(&self, _: &u8) -> Result<(), ()> {
            self.ask(())
        }

        fn returnable(&self) -> Result<(), ()> {
            self.ask(())
        }
    }

    #[test]
    fn outcomes_have_codes() {
        assert_eq!([Draw::Drawn, Draw::Empty, Draw::Again].map(Draw::code), [0, 1, 2]);
    }

    #[test]
    fn a_user_draws_one_code() {
        let pool = |of_user, first, asked| Pool { of_user, first, fails_after: Cell::new(asked) };
        for (of_user, first, asked, want, returned) in [
            (None, None, 2, (Draw::Empty, None), Ok(None)),
            (None, Some(7), 3, (Draw::Drawn, Some(7)), Ok(None)),
            (Some(5), Some(7), 1, (Draw::Again, Some(5)), Ok(Some(5))),
            (Some(5), None, 1, (Draw::Again, Some(5)), Ok(Some(5))),
        ] {
            assert_eq!(draw(&pool(of_user, first, asked)), Ok(want));
            assert_eq!(undraw(&pool(of_user, first, 2)), returned);
            // No question is skipped, and none can be answered wrong.
            for fewer in 0..asked {
                assert_eq!(draw(&pool(of_user, first, fewer)), Err(()));
            }
            let questions = if of_user.is_some() { 2 } else { 1 };
            assert_eq!(undraw(&pool(of_user, first, questions - 1)), Err(()));
        }
    }
}
