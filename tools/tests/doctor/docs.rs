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
        let dir = tempfile::tempdir().expect("a folder");
        for name in names.split(' ') {
            let from = script(name.trim_end_matches(".lua"));
            std::fs::copy(from, dir.path().join(name)).expect("a copy");
        }
        let output = run(doctor().current_dir(dir.path()).args(names.split(' ')));
        let said = String::from_utf8(output.stdout).expect("text");
        let lines: Vec<&str> = said.split_inclusive('\n').collect();
        let from = lines.len().saturating_sub(tail.parse().expect("a number"));
        let said = lines[from..].concat();
        assert_eq!(shown, said, "docs/doctor.md, {line}; it really says:\n{said}");
    }
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
