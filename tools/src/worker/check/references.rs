//! The payment provider's list of payments, a CSV file. Pure, except for reading the file.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

/// A payment as the provider has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// None without a column for units.
    pub units: Option<i64>,
    /// None without a column for what was refunded.
    pub refunded: Option<i64>,
}

/// The list: payments by reference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    pub payments: BTreeMap<String, Listed>,
    pub has_units: bool,
    pub has_refunded: bool,
    /// Lines with something in them, and no reference.
    pub without_ref: usize,
}

/// What a list that was read to its end ends with.
const END: &str = "the end of the list";
const BOM: &[u8] = b"\xef\xbb\xbf";

impl List {
    /// Columns in any order, their names in any case; other columns are ignored.
    pub fn read(path: &Path) -> Result<Self> {
        let about = || format!("--refs {}", path.display());
        let bytes = std::fs::read(path).with_context(about)?;
        Self::parse(&bytes).with_context(about)
    }

    fn parse(bytes: &[u8]) -> Result<Self> {
        let text = bytes.strip_prefix(BOM).unwrap_or(bytes);
        let text = str::from_utf8(text).context("it is not UTF-8")?;
        // A line of its own, unless a quote is open.
        let marked = format!("{text}\n{END}");
        let mut file = csv::ReaderBuilder::new().flexible(true).from_reader(marked.as_bytes());
        let names = file.headers()?.clone();
        let column = |name: &str| {
            let is_it = |other: &str| other.trim().eq_ignore_ascii_case(name);
            let mut found = names.iter().enumerate().filter(|(_, other)| is_it(other));
            let first = found.next().map(|(at, _)| at);
            ensure!(found.next().is_none(), "its first line names a column {name} twice");
            Ok(first)
        };
        let columns = [column("ref")?, column("units")?, column("refunded")?];
        ensure!(columns[0].is_some(), "its first line must name a column ref");
        let mut list = Self {
            has_units: columns[1].is_some(),
            has_refunded: columns[2].is_some(),
            ..Self::default()
        };
        let mut lines: BTreeMap<String, (usize, String)> = BTreeMap::new();
        // The reader's own count of lines is wrong after empty ones, and where they end by CR LF.
        let (mut line, mut counted) = (1, 0);
        let mut records: Vec<csv::StringRecord> = file.records().collect::<Result<_, _>>()?;
        ensure!(records.pop().is_some_and(|last| last.iter().eq([END])), "a quote is not closed");
        for record in records {
            let at = record.position().map_or(0, csv::Position::byte);
            let rest = text.get(usize::try_from(at)?..).unwrap_or_default();
            let begin = text.len() - rest.trim_start_matches(['\r', '\n']).len();
            line += text[counted..begin].matches('\n').count();
            counted = begin;
            // Where a line ends early, its last columns are empty.
            let field = |at: usize| columns[at].map(|it| record.get(it).unwrap_or_default());
            let Some(reference) = field(0).map(str::trim).filter(|text| !text.is_empty()) else {
                let is_empty = record.iter().all(|cell| cell.trim().is_empty());
                list.without_ref += usize::from(!is_empty);
                continue;
            };
            // As where a comma is in a number.
            let has_more = record.iter().skip(names.len()).any(|cell| !cell.trim().is_empty());
            ensure!(!has_more, "line {line} has more columns than the first");
            let number = |at: usize, least: i64| -> Result<Option<i64>> {
                let Some(text) = field(at).map(str::trim) else { return Ok(None) };
                match text.parse::<i64>() {
                    Ok(number) if number >= least => Ok(Some(number)),
                    _ if text.is_empty() && least == 0 => Ok(Some(0)),
                    _ => bail!("line {line}: {text:?} is no number from {least}"),
                }
            };
            let (units, refunded) = (number(1, 1)?, number(2, 0)?);
            let cell = field(0).unwrap_or_default().to_owned();
            if let Some((first, other)) = lines.insert(reference.to_owned(), (line, cell.clone())) {
                let about = format!("lines {first} and {line} have");
                ensure!(other == cell, "{about} refs that differ only by spaces around them");
                ensure!(list.has_units, "{about} the same ref, and there is no column units");
            }
            let sum = |known: Option<i64>, more: Option<i64>| match (known, more) {
                (Some(known), Some(more)) => Some(known.saturating_add(more)),
                (known, more) => known.or(more),
            };
            let listed = list.payments.entry(reference.to_owned()).or_default();
            listed.units = sum(listed.units, units);
            listed.refunded = sum(listed.refunded, refunded);
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_their_names() {
        let of = |units, refunded| Listed { units, refunded };
        let list =
            List::parse(b"\xef\xbb\xbfOrder,REF, Units ,refunded\n1,a,2,\n2,b,1,1\n").unwrap();
        assert_eq!(list.payments["a"], of(Some(2), Some(0)));
        assert_eq!(list.payments["b"], of(Some(1), Some(1)));
        let plain = List::parse(b"ref\r\n\"c,d\"\r\n\r\n").unwrap();
        assert_eq!((plain.payments["c,d"], plain.has_units), (Listed::default(), false));
    }

    /// Lines of fees and sums, as some providers' lists have.
    #[test]
    fn lines_without_a_reference_are_counted() {
        let list = List::parse(b"ref,units,of\na,2,x\n,,\n, 3,fee\n ,,sum\nb,1\n").unwrap();
        assert_eq!((list.payments.len(), list.without_ref), (2, 2));
    }

    #[test]
    fn a_reference_that_is_there_twice_is_summed_or_refused() {
        let list = List::parse(b"ref,units\na,2\nb,1\na,3\n").unwrap();
        assert_eq!(list.payments["a"].units, Some(5));
        let refused = List::parse(b"ref\na\nb\na\n").unwrap_err().to_string();
        assert!(refused.contains("lines 2 and 4"), "{refused}");
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for (text, words) in [
            (&b"number\n1\n"[..], "a column ref"),
            (b"ref,units\na,x\n", "line 2: \"x\" is no number from 1"),
            (b"ref,units\na,0\n", "no number from 1"),
            (b"ref,refunded\na,-1\n", "no number from 0"),
            (b"ref\n\xff\n", "not UTF-8"),
            (b"ref\n\"p1\np2\n", "a quote is not closed"),
            (b"\"ref\np1\n", "must name a column ref"),
            (b"ref,units,Ref\na,1,b\n", "a column ref twice"),
            (b"ref,units\na,1\na ,1\n", "lines 2 and 3 have refs that differ only by spaces"),
            (b"ref,units\na,1\nb\n", "line 3: \"\" is no number from 1"),
            (b"ref,units\na,1,,\nb,1,000\n", "line 3 has more columns than the first"),
            (b"ref,units\r\na,1\r\n\r\n\r\nb,x\r\n", "line 5: \"x\" is no number from 1"),
            (b"ref,units\n\"a\nb\",1\nc,0\n", "line 4: \"0\" is no number from 1"),
        ] {
            let refused = format!("{:#}", List::parse(text).unwrap_err());
            assert!(refused.contains(words), "{refused}");
        }
    }
}
