//! `umtop completions` and `umtop man`: made of the definition of the command line, so that they cannot differ from it.

use super::{Failure, print};
use crate::cli::{Cli, EXIT_USAGE};
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use std::io;
use std::process::ExitCode;

pub(super) fn completions(shell: Shell) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "umtop", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn man(name: Option<&str>) -> Result<ExitCode, Failure> {
    let mut umtop = Cli::command().disable_help_subcommand(true);
    // Gives the subcommands their full names.
    umtop.build();
    let command = match name {
        None => umtop,
        Some(name) => match umtop.find_subcommand(name) {
            Some(command) => command.clone(),
            None => return Err(Failure::new(EXIT_USAGE, unknown(name, &umtop))),
        },
    };
    let page = page(command).map_err(|error| Failure::failed(format!("cannot make the page: {error}")))?;
    print(&page)?;
    Ok(ExitCode::SUCCESS)
}

fn unknown(name: &str, umtop: &Command) -> String {
    let names: Vec<&str> = umtop.get_subcommands().map(Command::get_name).collect();
    format!("there is no command '{name}': choose one of {}", names.join(", "))
}

/// The page in roff. clap_mangen would fill the lines of the examples, so they are written here.
fn page(command: Command) -> io::Result<String> {
    let after = command.get_after_help().map(ToString::to_string);
    let has_commands = command.has_subcommands();
    let man = Man::new(command).source(concat!("umtop ", env!("CARGO_PKG_VERSION"))).manual("umtop");
    let mut out = Vec::new();
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    man.render_synopsis_section(&mut out)?;
    man.render_description_section(&mut out)?;
    man.render_options_section(&mut out)?;
    if has_commands {
        man.render_subcommands_section(&mut out)?;
    }
    let mut text = String::from_utf8_lossy(&out).into_owned();
    if let Some(after) = after {
        let literal = after.replace('\\', "\\e").replace('-', "\\-");
        text += &format!(".SH EXAMPLES\n.nf\n{}\n.fi\n", literal.trim_start_matches("Examples:\n"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_its_examples_line_by_line() {
        let mut umtop = Cli::command().disable_help_subcommand(true);
        umtop.build();
        for command in umtop.get_subcommands() {
            let text = page(command.clone()).unwrap();
            let name = command.get_display_name().unwrap();
            assert!(text.contains(&format!(".TH {name} 1")), "{text}");
            let examples = text.split(".SH EXAMPLES\n.nf\n").nth(1).unwrap();
            assert!(examples.starts_with("  umtop "), "{name}: {examples}");
        }
    }
}
