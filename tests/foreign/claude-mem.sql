-- Made by claude-mem@13.25.3; see record.py.
CREATE TABLE sdk_sessions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        content_session_id TEXT NOT NULL,
        memory_session_id TEXT UNIQUE,
        project TEXT NOT NULL,
        platform_source TEXT NOT NULL DEFAULT 'claude',
        user_prompt TEXT,
        started_at TEXT NOT NULL,
        started_at_epoch INTEGER NOT NULL,
        completed_at TEXT,
        completed_at_epoch INTEGER,
        status TEXT CHECK(status IN ('active', 'completed', 'failed')) NOT NULL DEFAULT 'active'
      , worker_port INTEGER, prompt_counter INTEGER DEFAULT 0, custom_title TEXT, observed_model TEXT, observed_billing TEXT);
INSERT INTO sdk_sessions (id, content_session_id, memory_session_id, project, platform_source, user_prompt, started_at, started_at_epoch, completed_at, completed_at_epoch, status, worker_port, prompt_counter, custom_title, observed_model, observed_billing) VALUES (1, '5c0ffee5-0000-4000-8000-000000000001', 'mem-1', 'Harbour Cranes', 'claude', 'Fix the crane', '2026-01-02T03:00:00.000Z', 1767322800000, '2026-01-02T04:00:00.000Z', 1767326400000, 'completed', NULL, 0, NULL, NULL, NULL);
CREATE TABLE "observations" (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        memory_session_id TEXT NOT NULL,
        project TEXT NOT NULL,
        text TEXT,
        type TEXT NOT NULL,
        title TEXT,
        subtitle TEXT,
        facts TEXT,
        narrative TEXT,
        concepts TEXT,
        files_read TEXT,
        files_modified TEXT,
        prompt_number INTEGER,
        created_at TEXT NOT NULL,
        created_at_epoch INTEGER NOT NULL, discovery_tokens INTEGER DEFAULT 0, content_hash TEXT, generated_by_model TEXT, relevance_count INTEGER DEFAULT 0, merged_into_project TEXT, agent_type TEXT, agent_id TEXT, metadata TEXT, synced_at INTEGER, origin_device_id TEXT, origin_local_id TEXT, sync_rev TEXT NOT NULL DEFAULT '1',
        FOREIGN KEY(memory_session_id) REFERENCES sdk_sessions(memory_session_id) ON DELETE CASCADE ON UPDATE CASCADE
      );
INSERT INTO observations (id, memory_session_id, project, text, type, title, subtitle, facts, narrative, concepts, files_read, files_modified, prompt_number, created_at, created_at_epoch, discovery_tokens, content_hash, generated_by_model, relevance_count, merged_into_project, agent_type, agent_id, metadata, synced_at, origin_device_id, origin_local_id, sync_rev) VALUES (1, 'mem-1', 'Harbour Cranes', NULL, 'bugfix', 'Crane stopped at the cormorant limit', 'The limit was read in feet', '["limit is 40 m","sensor reports feet"]', 'The sensor''s unit was assumed.', '["problem-solution","units"]', '["src/sensor.ts"]', '["src/limit.ts"]', 1, '2026-01-02T03:04:05.000Z', 1767323045000, 10, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '1');
INSERT INTO observations (id, memory_session_id, project, text, type, title, subtitle, facts, narrative, concepts, files_read, files_modified, prompt_number, created_at, created_at_epoch, discovery_tokens, content_hash, generated_by_model, relevance_count, merged_into_project, agent_type, agent_id, metadata, synced_at, origin_device_id, origin_local_id, sync_rev) VALUES (2, 'mem-1', 'Harbour Cranes', 'An old entry with a text only', 'discovery', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, '2026-01-02T03:04:05.000Z', 1767323045000, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '1');
CREATE TABLE "session_summaries" (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        memory_session_id TEXT NOT NULL,
        project TEXT NOT NULL,
        request TEXT,
        investigated TEXT,
        learned TEXT,
        completed TEXT,
        next_steps TEXT,
        files_read TEXT,
        files_edited TEXT,
        notes TEXT,
        prompt_number INTEGER,
        created_at TEXT NOT NULL,
        created_at_epoch INTEGER NOT NULL, discovery_tokens INTEGER DEFAULT 0, merged_into_project TEXT, synced_at INTEGER, origin_device_id TEXT, origin_local_id TEXT, sync_rev TEXT NOT NULL DEFAULT '1',
        FOREIGN KEY(memory_session_id) REFERENCES sdk_sessions(memory_session_id) ON DELETE CASCADE ON UPDATE CASCADE
      );
INSERT INTO session_summaries (id, memory_session_id, project, request, investigated, learned, completed, next_steps, files_read, files_edited, notes, prompt_number, created_at, created_at_epoch, discovery_tokens, merged_into_project, synced_at, origin_device_id, origin_local_id, sync_rev) VALUES (1, 'mem-1', 'Harbour Cranes', 'Fix the crane', 'The sensor', 'It reports feet', 'Converted to metres', NULL, NULL, NULL, NULL, 1, '2026-01-02T03:04:05.000Z', 1767323045000, 0, NULL, NULL, NULL, NULL, '1');
CREATE TABLE "user_prompts" (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_db_id INTEGER,
        content_session_id TEXT NOT NULL,
        prompt_number INTEGER NOT NULL,
        prompt_text TEXT NOT NULL,
        created_at TEXT NOT NULL,
        created_at_epoch INTEGER NOT NULL, synced_at INTEGER, origin_device_id TEXT, origin_local_id TEXT, sync_rev TEXT NOT NULL DEFAULT '1',
        FOREIGN KEY(session_db_id) REFERENCES sdk_sessions(id) ON DELETE CASCADE
      );
INSERT INTO user_prompts (id, session_db_id, content_session_id, prompt_number, prompt_text, created_at, created_at_epoch, synced_at, origin_device_id, origin_local_id, sync_rev) VALUES (1, 1, '5c0ffee5-0000-4000-8000-000000000001', 1, 'Fix the crane', '2026-01-02T03:04:05.000Z', 1767323045000, NULL, NULL, NULL, '1');
