//! `cerebro tombstones`: lists texts that no longer hold and do not come back by themselves, and forgets them.

use super::prelude::*;
use crate::answer::tombstones::Tombstone;
use cerebro_service::TOMBSTONES_LISTED_MAX;

/// List texts that do not come back: corrected, superseded, deleted
///
/// Cerebro keeps a keyed hash of each such text. No import and no hook brings the text back, and a save of a corrected or
/// superseded one is refused unless it says `--revive`. The title is that of the memory as it is now.
#[derive(Debug, Args)]
pub struct TombstonesArgs {
    /// Allow the texts of this memory to be saved and imported again
    #[arg(long, value_name = "ID")]
    forget: Option<String>,
    /// Do not ask first; needed without a terminal
    #[arg(long, requires = "forget")]
    yes: bool,
    /// Show at most N, 1 to 1000
    #[arg(long, value_name = "N", default_value_t = 50, conflicts_with = "forget",
        value_parser = within(1..=TOMBSTONES_LISTED_MAX))]
    limit: usize,
}

const COLUMNS: &[Column<Tombstone>] = &[
    ("since", Layout::Ago, |text| shown(&text.at)),
    ("why", Layout::Fixed, |text| shown(&text.why)),
    ("id", Layout::Id, |text| shown(&text.id)),
    ("title", Layout::Flexible, |text| shown(&text.title)),
    ("now", Layout::Fixed, |text| shown(&text.replaced_by)),
];

pub async fn run(context: &CommandContext, args: TombstonesArgs) -> Result<()> {
    let daemon = Daemon::reach_patiently(&context.home()?).await?;
    let Some(id) = args.forget else {
        let listed = daemon.read(Request::new(of::Tombstones).with("limit", args.limit)).await?;
        context.output.json(listed.raw())?;
        let table = Table::of(COLUMNS, &listed.tombstones);
        return context.output.table(&table, "no text was corrected, superseded or deleted yet");
    };
    // A purged memory has no title by which an id could be completed, but the id itself is enough.
    let id = daemon.memory_id(&id).await?;
    let question =
        format!("Let the earlier texts of memory {id} be saved and imported again? This cannot be undone.");
    context.output.agree(args.yes, &question, "nothing was forgotten")?;
    let gone = daemon.read(Request::new(of::ForgetTombstones).with("id", id.as_str())).await?;
    context.output.json(gone.raw())?;
    let detail = format!(": {}", text::counted(gone.forgotten, "tombstone"));
    context.output.outcome(&id, "forgotten", &detail)
}
