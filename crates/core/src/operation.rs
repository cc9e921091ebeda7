//! The table of every operation that the daemon answers.
//!
//! An operation is one row here and one line in the program's `mcp::dispatch`, which names the function that
//! answers it; where a command or a screen reads the answer, also one line in `answer`, which names its struct. Every
//! other list of operations is derived from this table: the published hints, the permissions that `setup` writes, the
//! calls that the pump may repeat, and the names that the commands and the screens send.

use std::fmt;

/// What an operation does to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Changes nothing.
    Reads,
    /// Changes what runs, or something beside the store, such as a listener or a backup, but no memory.
    Runs,
    /// Adds something each time.
    Adds,
    /// Leaves the same state however often it is repeated.
    Settles,
    /// Takes something away.
    Destroys,
}

/// Who may call an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Everybody: it is one of the 13 published tools.
    Agent,
    /// Agents, where the settings publish its group of tools.
    Group(Group),
    /// A person, through a command or a screen.
    Person,
    /// A person's `cerebro hook`, which calls it for an agent.
    Hook,
}

/// Groups of tools beyond the 13, each published if the settings say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Those of the journal of work: `[work] tools = true`.
    Work,
    /// Those of documents: `[documents] tools = true`.
    Documents,
    /// The tool by which agents say whether a memory was useful: `[feedback] tools = true`.
    Feedback,
}

impl Group {
    /// All groups, in the order in which they are listed.
    pub const ALL: [Self; 3] = [Self::Work, Self::Documents, Self::Feedback];

    /// Its tools, in the order in which they are listed.
    pub fn tools(self) -> impl Iterator<Item = Operation> {
        Operation::ALL.iter().copied().filter(move |one| one.audience() == Audience::Group(self))
    }
}

/// How the daemon treats a call while it is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attention {
    /// The worker gives way to it, and the daemon does not end before it.
    Full,
    /// It asks for background work, or is polled to draw its progress: the daemon does not end before it, but the worker
    /// goes on.
    Background,
    /// A command repeats it while it holds something open: the daemon does not end before it, and does not show the
    /// call to those who watch.
    Held,
    /// It only watches the daemon, which may end meanwhile and does not show the call to those who watch.
    Watching,
}

/// The properties of an operation, apart from its name.
#[derive(Debug, Clone, Copy)]
struct Row {
    audience: Audience,
    effect: Effect,
    attention: Attention,
    session_argument: Option<&'static str>,
    command: Option<&'static str>,
}

impl Row {
    const fn new(audience: Audience, effect: Effect) -> Self {
        Self { audience, effect, attention: Attention::Full, session_argument: None, command: None }
    }

    const fn tool(effect: Effect) -> Self {
        Self::new(Audience::Agent, effect)
    }

    const fn of(group: Group, effect: Effect) -> Self {
        Self::new(Audience::Group(group), effect)
    }

    const fn person(effect: Effect) -> Self {
        Self::new(Audience::Person, effect)
    }

    const fn hook(effect: Effect) -> Self {
        Self::new(Audience::Hook, effect)
    }

    const fn session(mut self, argument: &'static str) -> Self {
        self.session_argument = Some(argument);
        self
    }

    const fn command(mut self, command: &'static str) -> Self {
        self.command = Some(command);
        self
    }

    const fn attention(mut self, attention: Attention) -> Self {
        self.attention = attention;
        self
    }
}

/// Builds [`Operation`] from one row per operation: its variant, its name on the wire and its properties.
macro_rules! operations {
    ($($variant:ident $name:literal = $row:expr;)+) => {
        /// An operation, by what it does. Its name on the wire is [`Self::name`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Operation {
            $(#[doc = concat!("`", $name, "`")] $variant,)+
        }

        impl Operation {
            /// All of them; the published tools come first, in the order of the contract.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name on the wire.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// The operation of that name.
            // Two rows of one name do not compile.
            #[deny(unreachable_patterns)]
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    _ => None,
                }
            }

            const fn row(self) -> Row {
                match self {
                    $(Self::$variant => $row,)+
                }
            }
        }
    };
}

use Attention::{Background, Held, Watching};
use Effect::{Adds, Destroys, Reads, Runs, Settles};

operations! {
    SessionStart "mem_session_start" = Row::tool(Settles).session("id");
    SessionEnd "mem_session_end" = Row::tool(Settles).session("session_id");
    SessionSummary "mem_session_summary" = Row::tool(Settles).session("session_id");
    Context "mem_context" = Row::tool(Reads).command("context");
    Save "mem_save" = Row::tool(Adds).session("session_id").command("save");
    Update "mem_update" = Row::tool(Settles).command("update");
    Delete "mem_delete" = Row::tool(Destroys).command("delete");
    SuggestTopicKey "mem_suggest_topic_key" = Row::tool(Reads);
    Search "mem_search" = Row::tool(Reads).command("search");
    GetObservation "mem_get_observation" = Row::tool(Reads).command("get");
    Timeline "mem_timeline" = Row::tool(Reads).command("timeline");
    SavePrompt "mem_save_prompt" = Row::tool(Adds).session("session_id");
    Stats "mem_stats" = Row::tool(Reads).command("stats").attention(Background);

    WorkBegin "work_begin" = Row::of(Group::Work, Adds);
    WorkNote "work_note" = Row::of(Group::Work, Adds);
    WorkLook "work_list" = Row::of(Group::Work, Reads);
    WorkTake "work_resume" = Row::of(Group::Work, Settles);

    DocIngest "doc_ingest" = Row::of(Group::Documents, Settles).command("ingest");
    DocList "doc_list" = Row::of(Group::Documents, Reads).command("documents list");
    DocRemove "doc_remove" = Row::of(Group::Documents, Settles);

    Feedback "mem_feedback" = Row::of(Group::Feedback, Settles);

    Status "op_status" = Row::person(Reads).command("daemon status").attention(Watching);
    Stop "op_stop" = Row::person(Runs).command("daemon stop");
    Clients "op_clients" = Row::person(Reads).attention(Watching);
    Live "op_live" = Row::person(Reads).attention(Watching);

    Resolve "op_resolve" = Row::person(Reads);
    List "op_list" = Row::person(Reads).command("list");
    Browse "op_browse" = Row::person(Reads);
    Restore "op_restore" = Row::person(Settles).command("restore");
    Pin "op_pin" = Row::person(Settles).command("pin");
    Unpin "op_unpin" = Row::person(Settles).command("unpin");
    Archive "op_archive" = Row::person(Settles).command("archive");
    Unarchive "op_unarchive" = Row::person(Settles).command("unarchive");
    CyclePlan "op_cycle_plan" = Row::person(Runs).command("consolidate");
    CycleApply "op_cycle_apply" = Row::person(Settles).command("consolidate");
    CycleUndo "op_cycle_undo" = Row::person(Settles).command("consolidate");
    CycleLog "op_cycle_log" = Row::person(Reads).command("consolidate");
    Tombstones "op_tombstones" = Row::person(Reads).command("tombstones");
    ForgetTombstones "op_forget_tombstones" = Row::person(Settles).command("tombstones");
    Sessions "op_sessions" = Row::person(Reads).command("sessions");
    Story "op_story" = Row::person(Reads).command("sessions show");
    Prompts "op_prompts" = Row::person(Reads).command("prompts");
    Projects "op_projects" = Row::person(Reads).command("projects");
    Types "op_types" = Row::person(Reads);
    Spelling "op_spelling" = Row::person(Reads);
    MergeProjects "op_merge_projects" = Row::person(Settles).command("projects merge");
    Events "op_events" = Row::person(Reads).command("events");
    Activity "op_activity" = Row::person(Reads);
    Graph "op_graph" = Row::person(Reads).command("graph");
    Pairs "op_pairs" = Row::person(Reads);
    Settle "op_settle" = Row::person(Settles);
    Entity "op_entity" = Row::person(Reads).command("graph entity");
    Health "op_health" = Row::person(Reads).command("health");

    Export "op_export" = Row::person(Reads).command("export");
    Import "op_import" = Row::person(Settles).command("import");
    Known "op_known" = Row::person(Reads);
    Note "op_note" = Row::person(Settles);
    Relations "op_relations" = Row::person(Reads);
    Backup "op_backup" = Row::person(Runs).command("backup");
    BackupProgress "op_backup_progress" = Row::person(Reads);
    Compact "op_compact" = Row::person(Runs).command("compact");
    Examine "op_examine" = Row::person(Runs).command("doctor");

    HistoryImport "op_history_import" = Row::person(Runs).command("history import").attention(Background);
    HistoryPreview "op_history_preview" = Row::person(Reads).attention(Background);
    HistoryStatus "op_history_status" = Row::person(Reads).command("history status").attention(Background);
    HistorySession "op_history_session" = Row::person(Reads).command("history show");
    HistoryFacts "op_history_facts" = Row::person(Reads).command("history files");
    HistoryForget "op_history_forget" = Row::person(Destroys).command("history forget");

    DistilStatus "op_distil_status" = Row::person(Reads).command("distil status").attention(Background);
    DistilPlan "op_distil_plan" = Row::person(Reads);
    DistilRun "op_distil_run" = Row::person(Runs).command("distil run");
    DistilReview "op_distil_review" = Row::person(Reads).command("distil review");
    DistilShow "op_distil_show" = Row::person(Reads).command("distil show");
    DistilAccept "op_distil_accept" = Row::person(Settles).command("distil accept");
    DistilReject "op_distil_reject" = Row::person(Settles).command("distil reject");
    DistilArrangePlan "op_distil_arrange_plan" = Row::person(Reads);
    DistilArrange "op_distil_arrange" = Row::person(Runs).command("distil arrange");
    DistilUndo "op_distil_undo" = Row::person(Settles).command("distil undo");
    DistilHandbook "op_distil_handbook" = Row::person(Reads).command("distil handbook");
    DistilRender "op_distil_render" = Row::person(Settles);
    DistilSkills "op_distil_skills" = Row::person(Reads).command("distil skills");
    Ingest "op_ingest" = Row::person(Settles).command("ingest");
    Documents "op_documents" = Row::person(Reads).command("documents list");
    DocumentShow "op_document_show" = Row::person(Reads).command("documents show");
    DocumentRemove "op_document_remove" = Row::person(Settles);
    DocumentForget "op_document_forget" = Row::person(Destroys).command("documents forget");

    Worker "op_worker" = Row::person(Reads).command("worker").attention(Background);
    WorkerPause "op_worker_pause" = Row::person(Runs).command("worker pause");
    WorkerResume "op_worker_resume" = Row::person(Runs).command("worker resume");
    Jobs "op_jobs" = Row::person(Reads).command("jobs").attention(Background);
    JobsRetry "op_jobs_retry" = Row::person(Runs).command("jobs retry");
    Reindex "op_reindex" = Row::person(Runs).command("reindex");

    WorkList "op_work_list" = Row::person(Reads).command("work list");
    WorkShow "op_work_show" = Row::person(Reads).command("work show");
    WorkTail "op_work_tail" = Row::person(Reads).command("work tail").attention(Background);
    WorkResume "op_work_resume" = Row::person(Reads).command("work resume");
    WorkClose "op_work_close" = Row::person(Settles).command("work close");
    WorkFork "op_work_fork" = Row::person(Adds).command("work fork");
    WorkExport "op_work_export" = Row::person(Reads).command("work export");
    WorkPrune "op_work_prune" = Row::person(Destroys).command("work prune");
    WorkVerify "op_work_verify" = Row::person(Reads).command("work verify");
    WorkHead "op_work_head" = Row::person(Runs).command("work head");
    WorkProve "op_work_prove" = Row::person(Reads).command("work prove");
    WorkClaim "op_work_claim" = Row::person(Settles).command("work claim");
    WorkRelease "op_work_release" = Row::person(Settles).command("work release");
    WorkArtifact "op_work_artifact" = Row::person(Reads);
    WorkUnsettled "op_work_unsettled" = Row::person(Reads).command("work sweep");
    WhatIf "op_whatif" = Row::person(Runs).command("whatif run");

    Sql "op_sql" = Row::person(Reads).command("sql");
    StudioOpen "op_studio_open" = Row::person(Runs).command("studio");
    StudioClose "op_studio_close" = Row::person(Runs);
    StudioStatus "op_studio_status" = Row::person(Reads).attention(Held);
    HttpOpen "op_http_open" = Row::person(Runs).command("serve");
    HttpClose "op_http_close" = Row::person(Runs);
    HttpStatus "op_http_status" = Row::person(Reads).attention(Held);
    WebOpen "op_web_open" = Row::person(Runs).command("web");
    WebClose "op_web_close" = Row::person(Runs);
    WebStatus "op_web_status" = Row::person(Reads).attention(Held);

    HookContext "op_hook_context" = Row::hook(Reads);
    HookPrompt "op_hook_prompt" = Row::hook(Adds);
    HookMessage "op_hook_message" = Row::hook(Settles);
    HookCompaction "op_hook_compaction" = Row::hook(Settles);
    HookEnd "op_hook_end" = Row::hook(Settles);
    HookStep "op_hook_step" = Row::hook(Adds);
    HookHint "op_hook_hint" = Row::hook(Reads);
    HookTranscript "op_hook_transcript" = Row::hook(Runs).attention(Background);
}

impl Operation {
    /// The number of tools published to agents.
    pub const TOOL_COUNT: usize = {
        let (mut count, mut at) = (0, 0);
        while at < Self::ALL.len() {
            if Self::ALL[at].is_tool() {
                count += 1;
            }
            at += 1;
        }
        count
    };

    /// The tools published to agents, in the order of the contract.
    pub fn tools() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|operation| operation.is_tool())
    }

    /// Whether it is published to agents.
    pub const fn is_tool(self) -> bool {
        matches!(self.row().audience, Audience::Agent)
    }

    /// Who may call it.
    pub const fn audience(self) -> Audience {
        self.row().audience
    }

    /// What it does to the store.
    pub const fn effect(self) -> Effect {
        self.row().effect
    }

    /// Whether executing it twice is the same as not executing it, so that a call without an answer may be sent
    /// again.
    pub const fn only_reads(self) -> bool {
        matches!(self.row().effect, Effect::Reads)
    }

    /// Whether it may change a memory, a session or a prompt.
    pub const fn changes_memories(self) -> bool {
        matches!(self.row().effect, Effect::Adds | Effect::Settles | Effect::Destroys)
    }

    /// How the daemon treats a call of it.
    pub const fn attention(self) -> Attention {
        self.row().attention
    }

    /// The argument that names the session of a call, where it has one.
    pub const fn session_argument(self) -> Option<&'static str> {
        self.row().session_argument
    }

    /// The command that does the same for a person, without the program's name.
    pub const fn command(self) -> Option<&'static str> {
        self.row().command
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_found_by_its_name_and_no_other_is() {
        for &operation in Operation::ALL {
            assert_eq!(Operation::named(operation.name()), Some(operation));
        }
        for name in ["", "mem_", "mem_saves", "op_", "OP_STATUS", "mem_save "] {
            assert_eq!(Operation::named(name), None, "{name}");
        }
    }

    #[test]
    fn the_prefix_of_a_name_tells_its_audience() {
        for &operation in Operation::ALL {
            let name = operation.name();
            let audience = match () {
                () if name == "mem_feedback" => Audience::Group(Group::Feedback),
                () if name.starts_with("mem_") => Audience::Agent,
                () if name.starts_with("work_") => Audience::Group(Group::Work),
                () if name.starts_with("doc_") => Audience::Group(Group::Documents),
                () if name.starts_with("op_hook_") => Audience::Hook,
                () if name.starts_with("op_") => Audience::Person,
                () => panic!("{name}"),
            };
            assert_eq!(operation.audience(), audience, "{name}");
        }
    }

    #[test]
    fn the_published_tools_come_first_and_are_counted() {
        let tools: Vec<_> = Operation::tools().collect();
        assert_eq!(tools, Operation::ALL[..Operation::TOOL_COUNT]);
        assert_eq!(tools.len(), 13);
    }

    #[test]
    fn background_work_gives_way_to_what_writes() {
        for &operation in Operation::ALL {
            let is_background = operation.attention() != Attention::Full;
            assert!(!is_background || !operation.changes_memories(), "{operation}");
            assert!(!(operation.only_reads() && operation.changes_memories()), "{operation}");
        }
    }
}
