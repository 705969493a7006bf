//! The page agrees with the program's own output.

#[test]
fn the_page_lists_every_option() {
    kit::pages::check_options(env!("CARGO_BIN_EXE_seckill-top"), "docs/watching.md");
}
