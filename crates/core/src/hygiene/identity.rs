//! When two saves are about the same thing, and when they have the same content.

use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;

use crate::{
    domain::{Kind, Project, Scope},
    text::one_line,
};

/// The identity of a save: the lowercase hex SHA-256 over project, scope, type and title, in this
/// order, each preceded by its length in bytes (64 bits, little-endian), so that no two lists of
/// fields run together to the same bytes.
///
/// The title counts in NFC, in lowercase and with its white space folded. A personal memory belongs
/// to no project, whichever is given.
pub fn identity(project: &Project, scope: Scope, kind: &Kind, title: &str) -> String {
    let project = match scope {
        Scope::Project => project.as_str(),
        Scope::Personal => "",
    };
    let title = normal_title(title);
    let mut hash = Sha256::new();
    for field in [project, scope.as_str(), kind.as_str(), &title] {
        hash.update((field.len() as u64).to_le_bytes());
        hash.update(field);
    }
    format!("{:x}", hash.finalize())
}

/// A hash of a title as [`identity`] normalises it: equal titles have equal keys.
pub fn title_key(title: &str) -> u64 {
    let digest = Sha256::digest(normal_title(title));
    digest.iter().take(8).fold(0, |key, byte| (key << 8) | u64::from(*byte))
}

fn normal_title(title: &str) -> String {
    one_line(&title.nfc().collect::<String>().to_lowercase())
}

/// Whether two contents are the same: byte for byte, except for trailing white space.
pub fn same_content(a: &str, b: &str) -> bool {
    a.trim_end() == b.trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(project: &str, scope: Scope, kind: &str, title: &str) -> String {
        let project = Project::parse(project).unwrap_or_else(Project::none);
        identity(&project, scope, &Kind::parse(kind).unwrap(), title)
    }

    #[test]
    fn known_answers() {
        // By Python: sha256(b"".join(len(f).to_bytes(8, "little") + f for f in fields)).
        assert_eq!(
            of("owner/repo", Scope::Project, "decision", "Use JWT  for Café"),
            "e1599d3cc1c102c4304d86583b5a14d066949677ec56ce748e4965233b643061"
        );
        assert_eq!(
            of("owner/repo", Scope::Personal, "manual", "Tabs\n"),
            "bb701380a85bf030c0ea7c5aa10df4cbb87b7fb4a935a15aa6be3f57cd62704d"
        );
    }

    #[test]
    fn titles_are_normalised_and_fields_do_not_run_together() {
        let base = of("a", Scope::Project, "manual", "Café au lait");
        assert_eq!(base, of("a", Scope::Project, "manual", " CAFE\u{301}\tau \n lait "));
        for other in [
            of("a", Scope::Project, "manual", "Cafe au lait"),
            of("a", Scope::Project, "config", "Café au lait"),
            of("a", Scope::Personal, "manual", "Café au lait"),
            of("b", Scope::Project, "manual", "Café au lait"),
        ] {
            assert_ne!(base, other);
        }
        assert_ne!(of("a", Scope::Project, "bc", "d"), of("a", Scope::Project, "b", "cd"));
    }

    #[test]
    fn personal_memories_belong_to_no_project() {
        assert_eq!(of("a", Scope::Personal, "manual", "t"), of("b", Scope::Personal, "manual", "t"));
    }

    #[test]
    fn contents_are_equal_but_for_trailing_blanks() {
        for (a, b, same) in [
            ("x", "x \n\t\n", true),
            ("x", " x", false),
            ("x y", "x  y", false),
            ("é", "e\u{301}", false),
            ("", " \n", true),
        ] {
            assert_eq!(same_content(a, b), same, "{a:?} {b:?}");
        }
    }
}
