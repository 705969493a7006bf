//! How wide the columns of a table are, which of them give way when there is no room for all, and
//! how a text is cut.

use ratatui::text::Span;

/// Between two columns.
pub const GAP: usize = 2;
const ELLIPSIS: char = '\u{2026}';

/// What happens to a column when there is no room for all.
#[derive(Clone, Copy, Debug)]
pub enum GivesWay {
    /// Its texts are cut to this width, or to what is left if that is more.
    Cut(usize, usize),
    /// It is left out.
    Drop(usize),
}

/// The width of a row of these columns; a width of 0 is a column that is left out.
pub fn row_width(widths: &[usize]) -> usize {
    let shown = widths.iter().filter(|width| **width > 0).count();
    widths.iter().sum::<usize>() + shown.saturating_sub(1) * GAP
}

/// Makes the columns fit, step by step, and takes no step more than needed.
pub fn fit_columns(widths: &mut [usize], steps: &[GivesWay], width: usize) {
    for step in steps {
        let over = row_width(widths).saturating_sub(width);
        match *step {
            _ if over == 0 => return,
            GivesWay::Drop(column) => widths[column] = 0,
            GivesWay::Cut(column, least) => {
                let cut = widths[column].saturating_sub(over).max(least);
                widths[column] = widths[column].min(cut);
            }
        }
    }
}

pub fn width_of(text: &str) -> usize {
    Span::raw(text).width()
}

/// As many letters from the beginning as fit into a width.
fn head(letters: impl Iterator<Item = char>, width: usize) -> Vec<char> {
    let mut left = width;
    let fits = |letter: &char| {
        let wide = width_of(letter.encode_utf8(&mut [0; 4]));
        let fits = wide <= left;
        left = left.saturating_sub(wide);
        fits
    };
    letters.take_while(fits).collect()
}

/// A name in this many columns. One that is longer is cut in its middle, with a mark: names of one
/// sale often begin alike, and differ at the end.
pub fn fit_name(name: &str, width: usize) -> String {
    if width_of(name) <= width {
        return pad(name, width);
    }
    let room = width.saturating_sub(1);
    let first: String = head(name.chars(), room.div_ceil(2)).into_iter().collect();
    let last = head(name.chars().rev(), room / 2).into_iter().rev().collect::<String>();
    pad(&format!("{first}{ELLIPSIS}{last}"), width)
}

/// A sentence in this many columns; of one that is longer the end is cut, with a mark.
pub fn fit_sentence(text: &str, width: usize) -> String {
    if width_of(text) <= width {
        return text.to_owned();
    }
    let mut cut: String = head(text.chars(), width.saturating_sub(1)).into_iter().collect();
    cut.push(ELLIPSIS);
    cut
}

pub fn pad(text: &str, width: usize) -> String {
    text.to_owned() + &" ".repeat(width.saturating_sub(width_of(text)))
}

#[cfg(test)]
mod tests {
    use super::GivesWay::{Cut, Drop};
    use super::*;

    #[test]
    fn columns_give_way_in_order_and_no_more_than_needed() {
        let steps = [Drop(1), Cut(0, 20), Drop(2), Cut(0, 5)];
        for (width, want) in [
            (54, [30, 10, 10]),
            (53, [30, 0, 10]),
            (41, [29, 0, 10]),
            (32, [20, 0, 10]),
            (31, [20, 0, 0]),
            (7, [7, 0, 0]),
            (1, [5, 0, 0]),
        ] {
            let mut widths = [30, 10, 10];
            fit_columns(&mut widths, &steps, width);
            assert_eq!(widths, want, "{width}");
        }
    }

    #[test]
    fn what_is_cut_says_so() {
        for (name, width, want) in [
            ("phone", 8, "phone   "),
            ("summer-sale-2026-red", 9, "summ\u{2026}-red"),
            ("summer-sale-2026-red", 8, "summ\u{2026}red"),
            ("\u{7968}\u{7968}\u{7968}x", 5, "\u{7968}\u{2026}x "),
            ("summer", 1, "\u{2026}"),
        ] {
            assert_eq!(fit_name(name, width), want, "{name} {width}");
        }
        assert_eq!(fit_sentence("no server", 5), "no s\u{2026}");
        assert_eq!(fit_sentence("no", 5), "no");
    }
}
