//! Compares the references of payments with those of a payment provider, from a CSV file. Pure,
//! except for reading the file.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Serialize;

/// A payment that one side lacks, or has for another order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reference {
    pub reference: String,
    pub provider: String,
    pub rows: String,
}

const MISSING: &str = "missing";

/// The file's references with their orders, empty without a column for these; and those that it
/// names twice.
pub fn read(path: &Path) -> Result<(BTreeMap<String, String>, Vec<Reference>)> {
    let about = || format!("--refs {}", path.display());
    let mut file = csv::ReaderBuilder::new().flexible(true).from_path(path).with_context(about)?;
    let names = file.headers().with_context(about)?.clone();
    let column = |name: &str| names.iter().position(|other| other.trim() == name);
    let (reference, order) = (column("ref"), column("order"));
    ensure!(reference.is_some(), "{}: its first line must name a column ref", about());
    let (mut all, mut twice) = (BTreeMap::new(), Vec::new());
    for line in file.records() {
        let line = line.with_context(about)?;
        let field =
            |column: Option<usize>| column.and_then(|column| line.get(column)).map(str::trim);
        let Some(reference) = field(reference).filter(|text| !text.is_empty()) else { continue };
        let order = field(order).unwrap_or_default().to_owned();
        if let Some(first) = all.insert(reference.to_owned(), order.clone()) {
            let (reference, provider) = (reference.to_owned(), format!("twice, {first} {order}"));
            twice.push(Reference { reference, provider, rows: "once".to_owned() });
        }
    }
    Ok((all, twice))
}

/// What differs; `ours` are references with their orders.
pub fn compare(
    theirs: &BTreeMap<String, String>,
    ours: &BTreeMap<String, String>,
) -> Vec<Reference> {
    let of = |reference: &str, provider: &str, rows: &str| Reference {
        reference: reference.to_owned(),
        provider: provider.to_owned(),
        rows: rows.to_owned(),
    };
    let named =
        |order: &str| if order.is_empty() { "paid".to_owned() } else { format!("order {order}") };
    let mut found = Vec::new();
    for (reference, order) in theirs {
        match ours.get(reference) {
            None => found.push(of(reference, &named(order), MISSING)),
            Some(its) if !order.is_empty() && its != order => {
                found.push(of(reference, &named(order), &named(its)));
            }
            Some(_) => {}
        }
    }
    let missing = ours.iter().filter(|(reference, _)| !theirs.contains_key(*reference));
    found.extend(missing.map(|(reference, order)| of(reference, MISSING, &named(order))));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_side_lacks_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = "order,ref\n1,a\n2,b\n9,\"c,d\"\n5,\n";
        std::fs::write(file.path(), text).unwrap();
        let (theirs, twice) = read(file.path()).unwrap();
        assert_eq!(twice, []);
        let ours = [("a", "1"), ("b", "3"), ("e", "4")];
        let ours = ours.map(|(reference, order)| (reference.to_owned(), order.to_owned())).into();
        let told =
            compare(&theirs, &ours).into_iter().map(|one| (one.reference, one.provider, one.rows));
        let told: Vec<_> = told.map(|(a, b, c)| format!("{a}: {b}, {c}")).collect();
        let wanted = ["b: order 2, order 3", "c,d: order 9, missing", "e: missing, order 4"];
        assert_eq!(told, wanted);
        std::fs::write(file.path(), "ref,order\na,1\na,1\n").unwrap();
        assert_eq!(read(file.path()).unwrap().1[0].provider, "twice, 1 1");
        std::fs::write(file.path(), "number\n1\n").unwrap();
        assert!(read(file.path()).unwrap_err().to_string().contains("a column ref"));
    }
}
