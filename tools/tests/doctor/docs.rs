//! The doctor's page shows the doctor's real output.

use crate::doctor::{doctor, run, script};
use kit::pages::page;

/// The blocks of a page that begin with `$ seckill-doctor`, as command line and output.
fn transcripts(page: &str) -> Vec<(&str, &str)> {
    let blocks = page.split("```text\n$ seckill-doctor ").skip(1);
    let lines = blocks.map(|block| block.split_once('\n').expect("a command"));
    lines.map(|(line, rest)| (line, rest.split("```").next().unwrap_or_default())).collect()
}

#[test]
fn transcripts_of_the_page_are_what_it_says() {
    let page = page("docs/doctor.md");
    let transcripts = transcripts(&page);
    assert!(transcripts.len() >= 2, "the page shows {} transcripts", transcripts.len());
    for (line, shown) in transcripts {
        let (names, tail) = line.split_once(" | tail -n ").unwrap_or((line, "1000"));
        let scripts = names.split(' ').map(|name| script(name.trim_end_matches(".lua")));
        let said = String::from_utf8(run(doctor().args(scripts)).stdout).expect("text");
        let lines: Vec<&str> = said.split_inclusive('\n').collect();
        let from = lines.len().saturating_sub(tail.parse().expect("a number"));
        let said = lines[from..].concat();
        assert_eq!(shown, said, "docs/doctor.md, {line}; it really says:\n{said}");
    }
}

/// `public.csv` has of each public script, by name, the verdict that is right, judged by hand, what
/// the doctor said before anything was changed for its batch, if that was kept, and what it says
/// now. Where two are right, a person would accept either.
#[test]
fn the_page_has_the_figures_of_the_public_scripts() {
    let table = include_bytes!("public.csv");
    let mut reader = csv::Reader::from_reader(table.as_slice());
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    // How many there are, how many are wrong, how many could be decided, and how many are not.
    let count = |batches: &[&str], said: usize| {
        let rows = rows.iter().filter(|row| batches.contains(&&row[0]));
        let rows: Vec<[&str; 2]> = rows.map(|row| [&row[2], &row[said]]).collect();
        let is_wrong = |[right, said]: &&[&str; 2]| *said != "undecided" && !right.contains(said);
        let could_be = |[right, _]: &&[&str; 2]| ["broken", "replaceable"].contains(right);
        let could: Vec<_> = rows.iter().filter(could_be).collect();
        let undecided = could.iter().filter(|[_, said]| *said == "undecided").count();
        [rows.len(), rows.iter().filter(is_wrong).count(), could.len(), undecided]
    };
    let [first, now] = [count(&["4", "5"], 3), count(&["1", "2", "3", "4", "5"], 4)];
    let page = page("docs/doctor.md").replace('\n', " ");
    let said = page.split("Measured on ").nth(1).expect("figures").split(" UNDECIDED. Now");
    let numbers = |text: &str| -> Vec<usize> {
        let words = text.split(|c: char| !c.is_ascii_digit() && c != '-');
        words.filter_map(|word| word.parse().ok()).collect()
    };
    let said: Vec<Vec<usize>> = said.take(2).map(numbers).collect();
    assert_eq!((&said[0][..4], &said[1][..4]), (&first[..], &now[..]), "the page and the table");
}

#[test]
fn the_page_lists_every_option() {
    let help = String::from_utf8(run(doctor().arg("--help")).stdout).expect("text");
    let page = page("docs/doctor.md");
    let long = |line: &str| {
        let word = line.trim_start().split([' ', ',']).find(|word| word.starts_with("--"))?;
        line.trim_start().starts_with('-').then(|| word.to_owned())
    };
    let options: Vec<String> = help.lines().filter_map(long).collect();
    assert!(options.len() > 5, "{help}");
    for option in
        options.iter().filter(|option| !["--help", "--version"].contains(&option.as_str()))
    {
        let row = format!("| `{option}");
        assert!(page.lines().any(|line| line.starts_with(&row)), "docs/doctor.md has no {option}");
    }
}
