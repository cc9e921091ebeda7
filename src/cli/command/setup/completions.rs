//! `cerebro completions` and `cerebro man`: shell completions and manual pages, generated from the same definition
//! that parses the command line.

use std::path::PathBuf;

use clap::CommandFactory;
use clap_complete::aot;
use clap_mangen::Man;

use super::super::prelude::*;
use super::{SetupContext, files, print_files, remove_empty_folders};
use crate::cli::Cli;
use crate::platform;
use crate::setup::machine::{COMPLETIONS_RECORD, Shell};
use crate::setup::{self, Change, Record, Target};
use cerebro_core::domain::Run;
use cerebro_durable as durable;

/// Print or install the command-line completions of a shell
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
    /// Write them into your own folder of the shell, and show the file; no file of yours is replaced
    #[arg(long)]
    install: bool,
    /// Remove what `--install` wrote
    #[arg(long, conflicts_with = "install")]
    remove: bool,
}

/// Write the manual pages, for those who pack the program
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The folder; it is created if it is missing
    dir: PathBuf,
}

pub fn run(context: &CommandContext, args: &CompletionsArgs) -> Result<()> {
    if args.remove {
        let changes = remove(context, &[args.shell], Run::Real)?;
        return show(context, &changes, &[]);
    }
    let script = script(args.shell)?;
    if !args.install {
        if !context.output.json(&json!({ "script": args.shell.marked(&script) }))? {
            context.output.write(&args.shell.marked(&script))?;
        }
        return Ok(());
    }
    let setup = SetupContext::of(context)?;
    let home = context.home()?;
    let targets = [args.shell.target(&setup.folders, &script)];
    let record = Record::read(&setup.folder, COMPLETIONS_RECORD)?.unwrap_or_default();
    let changes = setup::plan_setup(&targets, |_| true, Some(&record))?;
    setup::apply_setup(&changes, record, home.root(), COMPLETIONS_RECORD)?;
    let note = match args.shell {
        Shell::Bash => "a new shell completes, where the package bash-completion is installed",
        Shell::Fish => "a new shell completes",
        Shell::Zsh => {
            "zsh looks there if ~/.zshrc says, before compinit: fpath=(~/.local/share/zsh/site-functions $fpath)"
        }
    };
    show(context, &changes, &[note])
}

/// Removes installed completions; in a dry run, only returns what would change.
pub(super) fn remove(context: &CommandContext, shells: &[Shell], run: Run) -> Result<Vec<Change>> {
    let setup = SetupContext::of(context)?;
    let targets: Vec<Target> = shells.iter().map(|shell| shell.target(&setup.folders, "")).collect();
    let record = Record::read(&setup.folder, COMPLETIONS_RECORD)?;
    let changes = setup::plan_unsetup(&targets, record.as_ref())?;
    if run == Run::Real {
        setup::apply_unsetup(&changes, record.unwrap_or_default(), &setup.folder, COMPLETIONS_RECORD)?;
        remove_empty_folders(&setup.folder)?;
    }
    Ok(changes.into_iter().filter(Change::is_any).collect())
}

fn show(context: &CommandContext, changes: &[Change], notes: &[&str]) -> Result<()> {
    context.output.json(&json!({ "files": files(changes, Run::Real), "notes": notes }))?;
    print_files(context, &SetupContext::of(context)?, changes, "no completions of Cerebro were installed")?;
    for note in notes {
        context.output.note(note);
    }
    Ok(())
}

fn script(shell: Shell) -> Result<String> {
    let mut bytes = Vec::new();
    let mut tree = Cli::command();
    let generator = match shell {
        Shell::Bash => aot::Shell::Bash,
        Shell::Zsh => aot::Shell::Zsh,
        Shell::Fish => aot::Shell::Fish,
    };
    aot::generate(generator, &mut tree, "cerebro", &mut bytes);
    String::from_utf8(bytes).map_err(|error| Error::internal(format!("the script is not text: {error}")))
}

pub fn man(context: &CommandContext, args: &ManArgs) -> Result<()> {
    let unusable = |error| Error::file("write to", &args.dir, &error);
    platform::create_private_dir_all(&args.dir).map_err(unusable)?;
    let mut tree = Cli::command().disable_help_subcommand(true);
    tree.build();
    let mut written = Vec::new();
    for command in with_subcommands(tree) {
        let page = Man::new(command);
        let mut bytes = Vec::new();
        page.render(&mut bytes).map_err(unusable)?;
        let path = args.dir.join(page.get_filename());
        durable::write(&path, durable::Kind::Derived, &bytes).map_err(unusable)?;
        written.push(path.display().to_string());
    }
    context.output.json(&json!({ "pages": written }))?;
    context.output.text(&written.join("\n"))
}

/// A command and all below it that people are shown.
fn with_subcommands(command: clap::Command) -> Vec<clap::Command> {
    let shown = command.get_subcommands().filter(|each| !each.is_hide_set()).cloned();
    let below: Vec<clap::Command> = shown.flat_map(with_subcommands).collect();
    std::iter::once(command).chain(below).collect()
}
