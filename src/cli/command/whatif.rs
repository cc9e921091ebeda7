//! `cerebro whatif`: runs statements and undoes them. Longer trials are in `trial`.

use std::path::PathBuf;

use super::prelude::*;
use super::sql::text;
use super::trial;
use cerebro_core::domain::limits::{SQL_ROWS_MAX, SQL_SECONDS_MAX};

#[derive(Debug, Subcommand)]
pub enum WhatIfCommand {
    Run(RunArgs),
    New(trial::NewArgs),
    /// List the trials of this home
    List,
    Diff(trial::DiffArgs),
    Drop(trial::DropArgs),
}

/// Run SurrealQL, show which rows it would create, change and delete, and undo it
///
/// The statements run in one transaction, which is cancelled. They see their own changes. The search index and the
/// vectors in memory are outside of the transaction and do not change.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// A file of statements; without it, or with `-`, standard input is read
    file: Option<PathBuf>,
    /// Show at most N rows one by one, 1 to 10000 [default: 100]
    #[arg(long, value_name = "N", value_parser = within(1..=SQL_ROWS_MAX))]
    limit: Option<usize>,
    /// Stop the statements after this many seconds, 1 to 60 [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = within(1..=SQL_SECONDS_MAX))]
    timeout: Option<usize>,
}

const TABLES: &[(&str, Layout)] =
    &[("table", Layout::Fixed), ("change", Layout::Fixed), ("rows", Layout::Count)];
const CHANGES: &[(&str, Layout)] = &[("change", Layout::Fixed), ("row", Layout::Flexible)];

pub async fn run(context: &CommandContext, command: WhatIfCommand) -> Result<()> {
    match command {
        WhatIfCommand::Run(args) => try_out(context, args).await,
        WhatIfCommand::New(args) => trial::new(context, args).await,
        WhatIfCommand::List => trial::list(context),
        WhatIfCommand::Diff(args) => trial::diff(context, args).await,
        WhatIfCommand::Drop(args) => trial::drop_trial(context, args).await,
    }
}

async fn try_out(context: &CommandContext, args: RunArgs) -> Result<()> {
    let file = args.file.filter(|file| file.as_os_str() != "-");
    let request = Request::new(of::WhatIf).given(json!({
        "query": text(None, file)?, "rows": args.limit, "seconds": args.timeout,
    }));
    let trial = context.answer(request).await?;
    let fields = |row: &Value, names: &[&str]| names.iter().map(|name| shown(&row[*name])).collect();
    let tables = Table::listing(TABLES, &trial.tables, |row| fields(row, &["place", "deed", "rows"]));
    context.output.table(&tables, "nothing would change")?;
    if !tables.is_empty() {
        context.output.text("")?;
        let changes = Table::listing(CHANGES, &trial.changes, |row| fields(row, &["deed", "row"]));
        context.output.table(&changes, "")?;
        context.output.note("everything was undone");
    }
    if trial.more {
        context.output.note("there is more; give --limit");
    }
    Ok(())
}
