//! The style of the output: in colour or not, how wide, and how much.

use crate::notes::note;
use clap::{Args, ColorChoice, ValueEnum};
pub use indicatif::ProgressBar;
use indicatif::{ProgressDrawTarget, ProgressStyle};
use reports::terminal::{Style, fitted};
use std::env::var_os;
use std::ffi::OsString;
use std::io::{IsTerminal, stderr, stdout};
use std::sync::OnceLock;

/// The arguments that every command takes.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputStyle {
    /// Colours; `auto` takes them on a terminal, unless NO_COLOR or TERM=dumb forbid it.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// Says the last line alone, without notes and progress.
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// The conditions for colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal.
    #[default]
    Auto,
    /// Also in a pipe.
    Always,
    /// Never.
    Never,
}

static OUTPUT_STYLE: OnceLock<OutputStyle> = OnceLock::new();

impl OutputStyle {
    /// Takes it for the rest of the program.
    pub fn take(self) {
        OUTPUT_STYLE.get_or_init(|| self);
    }
}

/// The colours that the arguments ask for, for help and for what is wrong with the arguments.
pub fn asked(args: &[OsString]) -> ColorChoice {
    let words: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).collect();
    let apart = words.windows(2).filter(|pair| pair[0] == "--color").map(|pair| pair[1]);
    let joined = words.iter().filter_map(|word| word.strip_prefix("--color="));
    match apart.chain(joined).last() {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        _ => ColorChoice::Auto,
    }
}

/// Returns the capabilities of stdout.
pub fn style() -> Style {
    let piped = !stdout().is_terminal();
    Style { colour: colour(), unicode: unicode(), width: width(), piped }
}

/// Renders a result for people: as wide as the terminal, or its last line alone.
pub fn render(text: &str) -> String {
    match quiet() {
        true => fitted(text.trim_end().lines().last().unwrap_or_default(), style()),
        false => fitted(text, style()),
    }
}

/// Returns true if only the last line is asked for.
pub fn quiet() -> bool {
    OUTPUT_STYLE.get().is_some_and(|it| it.quiet)
}

/// Tells people something beside the result that they can do without.
pub fn hint(line: &str) {
    if !quiet() {
        note(line);
    }
}

/// Returns the target for progress bars: a terminal, if any, that can write over what it shows.
pub fn progress() -> ProgressDrawTarget {
    match stderr().is_terminal() && !quiet() && !dumb() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    }
}

/// Returns the columns and the rows of the terminal on which progress is shown; `None` if there is
/// none.
pub fn screen() -> Option<(usize, usize)> {
    let (columns, rows) = terminal_size::terminal_size_of(stderr())?;
    Some((columns.0.into(), rows.0.into()))
}

/// Returns the bar that shows how much of a file is read, and how long the rest will take.
pub fn reading_bar(length: Option<u64>) -> ProgressBar {
    let (bar, style) = match length {
        Some(length) => {
            let style =
                "reading [{bar:30}] {percent:>3}% of {total_bytes}, {bytes_per_sec}, {eta} left";
            (ProgressBar::new(length), style)
        }
        None => (ProgressBar::new_spinner(), "reading {bytes}, {bytes_per_sec}"),
    };
    bar.set_draw_target(progress());
    bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
    bar
}

/// Narrower, no picture says anything.
const NARROWEST: usize = 40;

/// The columns of stdout: what COLUMNS says, else what the terminal has, else 80.
fn width() -> usize {
    let given = var_os("COLUMNS").and_then(|columns| columns.to_str()?.parse().ok());
    let of_terminal = || terminal_size::terminal_size_of(stdout()).map(|(width, _)| width.0.into());
    given.or_else(of_terminal).filter(|width| *width > 0).unwrap_or(80).max(NARROWEST)
}

/// Decides on colours by the flag; else on a terminal that has them, unless <https://no-color.org>
/// says otherwise.
fn colour() -> bool {
    let forbidden = || var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match OUTPUT_STYLE.get().map_or(Color::Auto, |it| it.color) {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => stdout().is_terminal() && !forbidden() && !dumb(),
    }
}

fn dumb() -> bool {
    var_os("TERM").is_some_and(|term| term == "dumb")
}

fn unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    locale.is_none_or(|locale| locale != "C" && locale != "POSIX")
}
