//! The statements of `surql/statements`, by name.
//!
//! Each is one file that a person can read and run; the program only ever binds parameters to them.

/// A named SurrealQL script.
#[derive(Debug, Clone, Copy)]
pub(super) struct Statement {
    /// The file's name, for messages.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! statements {
    ($($constant:ident = $file:literal),+ $(,)?) => {
        $(pub(super) const $constant: Statement = Statement {
            name: $file,
            text: include_str!(concat!("../../surql/statements/", $file, ".surql")),
        };)+
    };
}

statements! {
    COMMIT_CREATED_IN = "commit_created_in",
    COMMIT_EVENTS = "commit_events",
    COMMIT_FOLLOWS = "commit_follows",
    COMMIT_JOBS = "commit_jobs",
    COMMIT_MEMORIES = "commit_memories",
    COMMIT_NEW_MEMORIES = "commit_new_memories",
    COMMIT_PROMPTS = "commit_prompts",
    COMMIT_PURGED = "commit_purged",
    COMMIT_REVISIONS = "commit_revisions",
    COMMIT_SESSIONS = "commit_sessions",
    COMMIT_TRIMMED = "commit_trimmed",
    COMMIT_VOID_JOBS = "commit_void_jobs",
    COUNTS = "counts",
    DOCTOR_EDGES = "doctor_edges",
    DOCTOR_ENTITIES = "doctor_entities",
    DOCTOR_EVENTS = "doctor_events",
    DOCTOR_JOBS = "doctor_jobs",
    DOCTOR_LINKS = "doctor_links",
    DOCTOR_MODELS = "doctor_models",
    DOCTOR_OWE = "doctor_owe",
    DOCTOR_OWED = "doctor_owed",
    DOCTOR_REMOVE = "doctor_remove",
    DOCTOR_REQUEUE = "doctor_requeue",
    DOCTOR_REVISIONS = "doctor_revisions",
    DOCTOR_VECTORS = "doctor_vectors",
    EDGE_TIME = "edge_time",
    ENTITY_PUT = "entity_put",
    EVENT_AFTER = "event_after",
    MEMORY_BEFORE = "memory_before",
    MEMORY_BY_PREFIX = "memory_by_prefix",
    MEMORY_DELETED = "memory_deleted",
    MEMORY_DELETED_PAGE = "memory_deleted_page",
    MEMORY_GET = "memory_get",
    MEMORY_GONE = "memory_gone",
    MEMORY_PINNED = "memory_pinned",
    MEMORY_RECENT = "memory_recent",
    MEMORY_RECENT_EVERYWHERE = "memory_recent_everywhere",
    MEMORY_SINCE = "memory_since",
    MEMORY_TOPIC_HOLDER = "memory_topic_holder",
    MEMORY_TOPICS = "memory_topics",
    MEMORY_TWINS = "memory_twins",
    MIGRATION_LIST = "migration_list",
    MIGRATION_RECORD = "migration_record",
    MIGRATION_TABLE = "migration_table",
    OBSERVATION = "observation",
    PROJECT_LIST = "project_list",
    PROMPT_GET = "prompt_get",
    PROMPT_LATEST = "prompt_latest",
    PROMPT_SESSION_BEFORE = "prompt_session_before",
    PROMPT_SESSION_SINCE = "prompt_session_since",
    PROMPT_SINCE = "prompt_since",
    RELATION_CLAIMS = "relation_claims",
    RELATION_LIST = "relation_list",
    RELATION_PUT = "relation_put",
    REVISION_LIST = "revision_list",
    REVISION_MOMENTS = "revision_moments",
    ROW_COUNTS = "row_counts",
    SESSION_GET = "session_get",
    SESSION_LATEST = "session_latest",
    SESSION_LATEST_EVERYWHERE = "session_latest_everywhere",
    SESSION_LIVE = "session_live",
    SESSION_MEMORIES_BEFORE = "session_memories_before",
    SESSION_MEMORIES_SINCE = "session_memories_since",
    SESSION_SINCE = "session_since",
    TABLE_PAGE = "table_page",
    WRITER_POSITION = "writer_position",
}
