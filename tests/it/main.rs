//! The behaviour of the whole program, driven from outside as processes: one test binary, one file
//! for each kind of behaviour.

#![recursion_limit = "512"]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::pedantic, reason = "a test is written for one reader and one case")]
#![expect(clippy::cloned_ref_to_slice_refs, reason = "`assert_eq!(ids, [id.clone()])` reads better")]

mod support;

mod backup;
mod bad_input;
mod cli;
mod cli_many;
mod cli_refusals;
mod concurrency;
mod config;
mod contract_arguments;
mod contract_bounds;
mod contract_context;
mod contract_errors;
mod contract_get;
mod contract_projects;
mod contract_prompt_stats;
mod contract_redaction;
mod contract_replies;
mod contract_save;
mod contract_search;
mod contract_sessions;
mod contract_summaries;
mod contract_timeline;
mod contract_topic;
mod contract_update_delete;
mod crash;
mod cycle;
mod daemon;
mod distil;
mod distil_caps;
mod doctor;
mod documents;
mod documents_broken;
mod documents_confined;
mod edits;
mod embed_local;
mod embed_model;
mod embed_server;
mod embed_wire;
mod errors;
mod evidence;
mod export;
mod feedback;
mod first_start;
mod folders;
mod forgetting;
mod forgetting_doors;
mod forgotten_backup;
mod former_names;
mod freshness;
mod handbook;
mod handshake;
mod health;
mod history_choice;
mod history_current;
mod history_find;
mod history_forget;
mod history_forks;
mod history_import;
mod history_malformed;
mod history_memory_files;
mod history_rows;
mod history_shared;
mod history_store;
mod home_faults;
mod hooks;
mod http;
mod import_foreign;
mod index_repair;
mod insights;
mod install;
mod library;
mod notes;
mod opencode;
mod own_files;
mod packages;
mod premises;
mod properties;
mod providers;
mod purge;
mod relations;
mod remote;
mod restore;
mod resurrection;
mod setup;
mod setup_others;
mod silence;
mod sql;
mod studio;
mod taint;
mod tidy;
mod tools;
mod trust;
mod truth;
mod tui;
mod tui_terminal;
mod web;
mod web_bounds;
mod web_decide;
mod work;
mod work_disk;
mod work_edges;
mod work_faults;
mod work_hand_over;
mod work_hooks;
mod work_order;
mod work_portable;
mod work_proof;
mod work_secrets;
mod work_transcripts;
mod worker;
mod worker_crash;

/// A file that is not listed above would never run.
#[test]
fn every_file_is_listed() {
    let listed = include_str!("main.rs");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.strip_suffix(".rs").unwrap_or(&name);
        if module != "main" {
            assert!(
                listed.contains(&format!("\nmod {module};\n")),
                "tests/it/{name} is not listed in main.rs"
            );
        }
    }
}
