//! When two saves are about the same thing, and when they have the same content.

use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;

use crate::{
    domain::{Kind, Scope},
    text::one_line,
};

/// The identity of a save: the lowercase hex SHA-256 over project, scope, type and title, in this
/// order, each preceded by its length in bytes (64 bits, little-endian), so that no two lists of
/// fields run together to the same bytes.
///
/// The title counts in NFC, in lowercase and with its white space folded. The project of a personal memory is empty.
pub fn identity(scope: &Scope, kind: &Kind, title: &str) -> String {
    let title = normal_title(title);
    let mut hash = Sha256::new();
    for field in [scope.project_name(), scope.name().as_str(), kind.as_str(), &title] {
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
    use crate::domain::Project;

    fn of(project: Option<&str>, kind: &str, title: &str) -> String {
        let scope = project.map_or(Scope::Personal, |name| Scope::Project(Project::parse(name).unwrap()));
        identity(&scope, &Kind::parse(kind).unwrap(), title)
    }

    #[test]
    fn known_answers() {
        // By Python: sha256(b"".join(len(f).to_bytes(8, "little") + f for f in fields)).
        assert_eq!(
            of(Some("owner/repo"), "decision", "Use JWT  for Café"),
            "e1599d3cc1c102c4304d86583b5a14d066949677ec56ce748e4965233b643061"
        );
        assert_eq!(
            of(None, "manual", "Tabs\n"),
            "bb701380a85bf030c0ea7c5aa10df4cbb87b7fb4a935a15aa6be3f57cd62704d"
        );
    }

    #[test]
    fn titles_are_normalised_and_fields_do_not_run_together() {
        let base = of(Some("a"), "manual", "Café au lait");
        assert_eq!(base, of(Some("a"), "manual", " CAFE\u{301}\tau \n lait "));
        for other in [
            of(Some("a"), "manual", "Cafe au lait"),
            of(Some("a"), "config", "Café au lait"),
            of(None, "manual", "Café au lait"),
            of(Some("b"), "manual", "Café au lait"),
        ] {
            assert_ne!(base, other);
        }
        assert_ne!(of(Some("a"), "bc", "d"), of(Some("a"), "b", "cd"));
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
