//! `cerebro daemon install` and `uninstall`: the service that starts the daemon with the user's session.

use std::process::Stdio;
use std::time::Duration;

use super::super::daemon;
use super::super::prelude::*;
use super::{SetupContext, print_differences, remove_empty_folders, show_changes};
use crate::setup::machine::{Order, SERVICE_RECORD, Service};
use crate::setup::{self, Change, Record};
use cerebro_core::domain::Run;

/// How long the service manager may take for one order.
const ORDER_MAX: Duration = Duration::from_secs(30);
/// The message if no file is changed or kept.
const NOTHING: &str = "Cerebro's service was not installed";

#[derive(Debug, Args)]
pub struct InstallArgs {
    /// Show the file that would be written, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Only write the file, without telling the service manager
    #[arg(long)]
    no_start: bool,
}

#[derive(Debug, Args)]
pub struct UninstallArgs {
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub async fn install(context: &CommandContext, args: &InstallArgs) -> Result<()> {
    if !args.dry_run {
        // Opening an existing home resolves symbolic links in its path. The service's name depends on that path.
        context.home()?;
    }
    let setup = SetupContext::of(context)?;
    let service = Service::of(&setup.folders, &setup.invocation);
    let record = Record::read(&setup.folder, SERVICE_RECORD)?;
    let changes = setup::plan_setup(std::slice::from_ref(&service.target), |_| true, record.as_ref())?;
    let mut problem = None;
    if !args.dry_run {
        print_differences(context, &changes, Run::Real)?;
        let home = context.home()?;
        setup::apply_setup(&changes, record.unwrap_or_default(), home.root(), SERVICE_RECORD)?;
        if !args.no_start {
            if changes.iter().any(Change::is_any) {
                // The service's daemon could not take the home from the one that runs.
                daemon::dismiss(&home).await?;
            }
            problem = give(&service.start()).await.err();
        }
    }
    let mut notes = Vec::new();
    if let Some(problem) = &problem {
        notes.push(format!("the service manager refused it: {problem}"));
    }
    if problem.is_some() || (args.no_start && !args.dry_run) {
        notes.push(format!("to start it: {}", lines(&service.start())));
    }
    show_changes(context, &setup, &changes, Run::dry_if(args.dry_run), &notes, NOTHING)?;
    done_if(problem.is_none())
}

pub async fn uninstall(context: &CommandContext, args: &UninstallArgs) -> Result<()> {
    let setup = SetupContext::of(context)?;
    let run = Run::dry_if(args.dry_run);
    let (changes, notes) = remove(context, run).await?;
    show_changes(context, &setup, &changes, run, &notes, NOTHING)
}

/// Stops and removes the service; in a dry run, only lists what would be removed. If the service manager cannot be
/// reached, that is reported and the file is removed all the same.
pub(super) async fn remove(context: &CommandContext, run: Run) -> Result<(Vec<Change>, Vec<String>)> {
    let setup = SetupContext::of(context)?;
    let service = Service::of(&setup.folders, &setup.invocation);
    let record = Record::read(&setup.folder, SERVICE_RECORD)?;
    let changes = setup::plan_unsetup(std::slice::from_ref(&service.target), record.as_ref())?;
    let mut notes = Vec::new();
    let is_any = changes.iter().any(Change::is_any);
    if run == Run::Real {
        if is_any && let Err(problem) = give(&service.stop()).await {
            let orders = lines(&service.stop());
            notes.push(format!(
                "the service manager did not answer: {problem}; if the service runs, stop it with: {orders}"
            ));
        }
        setup::apply_unsetup(&changes, record.unwrap_or_default(), &setup.folder, SERVICE_RECORD)?;
        remove_empty_folders(&setup.folder)?;
    }
    Ok((changes.into_iter().filter(Change::is_any).collect(), notes))
}

/// Runs the service manager's commands in order. Stops at the first failure and returns its reason.
async fn give(orders: &[Order]) -> std::result::Result<(), String> {
    for order in orders {
        let Some((program, arguments)) = order.split_first() else { continue };
        let mut command = tokio::process::Command::new(program);
        command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
        let output = tokio::time::timeout(ORDER_MAX, command.output())
            .await
            .map_err(|_| format!("`{program}` took longer than {} s", ORDER_MAX.as_secs()))?
            .map_err(|error| format!("`{program}` cannot be run: {error}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(text::one_line(said.lines().next().unwrap_or("it did not say why")));
        }
    }
    Ok(())
}

fn lines(orders: &[Order]) -> String {
    orders.iter().map(|order| order.join(" ")).collect::<Vec<_>>().join(" && ")
}
