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
    COMMIT_GONE_VECTORS = "commit_gone_vectors",
    COMMIT_JOBS = "commit_jobs",
    COMMIT_MEMORIES = "commit_memories",
    COMMIT_MOVED_VECTORS = "commit_moved_vectors",
    COMMIT_NEW_MEMORIES = "commit_new_memories",
    COMMIT_PROMPTS = "commit_prompts",
    COMMIT_PURGED = "commit_purged",
    COMMIT_REVISIONS = "commit_revisions",
    COMMIT_SESSIONS = "commit_sessions",
    COMMIT_TRIMMED = "commit_trimmed",
    COMMIT_VOID_JOBS = "commit_void_jobs",
    COUNTS = "counts",
    EDGE_TIME = "edge_time",
    EVENT_AFTER = "event_after",
    JOB_CLAIM = "job_claim",
    JOB_COUNTS = "job_counts",
    JOB_END = "job_end",
    JOB_FINISH = "job_finish",
    JOB_LIST = "job_list",
    JOB_ORPHANS = "job_orphans",
    JOB_PUT = "job_put",
    JOB_PUT_BACK = "job_put_back",
    JOB_RENEW = "job_renew",
    JOB_RETRY = "job_retry",
    MEMORY_BEFORE = "memory_before",
    MEMORY_BY_PREFIX = "memory_by_prefix",
    MEMORY_DELETED = "memory_deleted",
    MEMORY_GET = "memory_get",
    MEMORY_GONE = "memory_gone",
    MEMORY_IDS = "memory_ids",
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
    MODEL_LIST = "model_list",
    MODEL_PUT = "model_put",
    MODEL_SWITCH = "model_switch",
    OBSERVATION = "observation",
    PROJECT_LIST = "project_list",
    PROMPT_GET = "prompt_get",
    PROMPT_LATEST = "prompt_latest",
    PROMPT_SESSION_BEFORE = "prompt_session_before",
    PROMPT_SESSION_SINCE = "prompt_session_since",
    PROMPT_SINCE = "prompt_since",
    REVISION_LIST = "revision_list",
    SESSION_GET = "session_get",
    SESSION_LATEST = "session_latest",
    SESSION_LATEST_EVERYWHERE = "session_latest_everywhere",
    SESSION_LIVE = "session_live",
    SESSION_MEMORIES_BEFORE = "session_memories_before",
    SESSION_MEMORIES_SINCE = "session_memories_since",
    SESSION_SINCE = "session_since",
    SPENT_ADD = "spent_add",
    SPENT_GET = "spent_get",
    TABLE_PAGE = "table_page",
    VECTOR_COUNT = "vector_count",
    VECTOR_DROP = "vector_drop",
    VECTOR_HAVE = "vector_have",
    VECTOR_NEAREST = "vector_nearest",
    VECTOR_NEAREST_WITHIN = "vector_nearest_within",
    VECTOR_PAGE = "vector_page",
    VECTOR_TABLE = "vector_table",
    WORKER_GET = "worker_get",
    WORKER_PUT = "worker_put",
    WRITER_POSITION = "writer_position",
}
