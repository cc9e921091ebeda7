//! A folder whose project got another name: its memories are under the former one, and the answer says so.

use std::fs;

use crate::support::{Finished, Home, Repository, Value, finish, json};

fn list(home: &Home, folder: &std::path::Path) -> Finished {
    finish(home.command().current_dir(folder).arg("list"))
}

#[test]
fn a_new_remote_renames_the_project_and_the_former_name_is_reported() {
    let home = Home::new();
    let repository = Repository::init(&home.folder("app"));
    let mut agent = home.pump().cwd(repository.path()).start();
    agent.save("The lease", "It lasts for a minute.");
    let old = agent.ok("mem_context", json!({})).str("project").to_owned();
    assert!(agent.hang_up());

    repository.origin("git@host:acme/app.git");
    let listed = list(&home, repository.path());
    let merge = format!("projects merge {old} acme/app");
    assert!(listed.stderr.contains(&merge) && listed.stderr.contains("1 memory"), "{listed:?}");
    let mut agent = home.pump().cwd(repository.path()).start();
    let context = agent.ok("mem_context", json!({}));
    assert_eq!(context.str("project"), "acme/app");
    for text in [&context.text, &context.structured["text"].as_str().unwrap().to_owned()] {
        assert!(text.contains(&merge), "{text}");
    }
    // If a project is named, or has memories of its own, nothing is reported.
    let named = agent.ok("mem_context", json!({ "project": "acme/app" }));
    assert!(!named.text.contains("projects merge"), "{named:?}");
    home.json(&["projects", "merge", &old, "acme/app", "--yes"]);
    assert!(!agent.ok("mem_context", json!({})).text.contains("projects merge"));
    assert!(!list(&home, repository.path()).stderr.contains("projects merge"));
}

#[test]
fn a_moved_folder_is_recognised_and_a_copy_is_not() {
    let home = Home::new();
    let repository = Repository::init(&home.folder("app"));
    let save = |folder: &std::path::Path| -> Value {
        finish(home.command().current_dir(folder).args(["save", "The lease", "A minute.", "--json"])).json()
    };
    let old = save(repository.path())["project"].as_str().unwrap().to_owned();
    let copy = home.folder("copies").join("app");
    let copied = std::process::Command::new("cp").arg("-r").arg(repository.path()).arg(&copy).status();
    assert!(copied.unwrap().success());
    let listed = list(&home, &copy);
    assert!(!listed.stderr.contains("projects merge"), "{listed:?}");

    let moved = home.folder("moved").join("app");
    fs::rename(repository.path(), &moved).unwrap();
    let listed = list(&home, &moved);
    assert!(listed.stderr.contains(&format!("projects merge {old} ")), "{listed:?}");
    assert!(listed.stderr.contains("brings them here"), "{listed:?}");
    // Only its user may read what is noted.
    let noted = fs::metadata(home.data().join("folders.json")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&noted.permissions()) & 0o777, 0o600);
}
