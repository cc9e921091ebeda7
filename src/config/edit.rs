//! Changes single keys of `config.toml` and leaves the rest as the user wrote it.

use std::path::Path;

use toml_edit::{DocumentMut, Item, Table, Value};

use super::{Config, ConfigError, text_of};
use cerebro_durable as durable;

/// Sets keys of a table, or removes those whose value is `None`. Comments, order and other keys stay. The file is
/// replaced atomically, and only by a valid configuration. A symbolic link to it stays a link.
pub fn set(path: &Path, table: &str, keys: &[(&str, Option<Value>)]) -> Result<(), ConfigError> {
    let text = text_of(path)?;
    let invalid = |reason: String| ConfigError::Invalid { path: path.to_path_buf(), reason };
    let mut document: DocumentMut = text.parse().map_err(|error| invalid(format!("{error}")))?;
    let entry = document.entry(table).or_insert_with(|| Item::Table(Table::new()));
    let Some(found) = entry.as_table_like_mut() else {
        return Err(invalid(format!("`{table}` is not a table")));
    };
    for (key, value) in keys {
        match value {
            Some(value) => put(found, key, value.clone()),
            None => drop(found.remove(key)),
        }
    }
    let text = document.to_string();
    toml::from_str::<Config>(&text).map_err(|error| invalid(error.to_string()))?;
    let unwritable = |source| ConfigError::Unwritable { path: path.to_path_buf(), source };
    durable::write(path, durable::Kind::Persons, text.as_bytes()).map_err(unwritable)
}

/// Replaces a value, but not the comment after it.
fn put(table: &mut dyn toml_edit::TableLike, key: &str, mut value: Value) {
    if let Some(old) = table.get(key).and_then(Item::as_value) {
        *value.decor_mut() = old.decor().clone();
    }
    table.insert(key, Item::Value(value));
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_users_words_stay() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("config.toml");
        let text =
            "# mine\nidle_exit = \"1h\" # long\n\n[embeddings] # here\nmodel = \"a\" # best\nbatch = 4\n";
        fs::write(&path, text).unwrap();
        set(
            &path,
            "embeddings",
            &[("model", Some("b".into())), ("batch", None), ("threads", Some(1.into()))],
        )
        .unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "# mine\nidle_exit = \"1h\" # long\n\n[embeddings] # here\nmodel = \"b\" # best\nthreads = 1\n"
        );
        assert_eq!(Config::read(&path).unwrap().embeddings.model, "b");
    }

    #[test]
    fn a_new_file_is_made_and_a_bad_one_left_alone() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("config.toml");
        set(&path, "embeddings", &[("provider", Some("none".into()))]).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "[embeddings]\nprovider = \"none\"\n");
        for (text, value) in [("idle_exit = [", "none"), ("embeddings = 1", "none"), ("", "nobody")] {
            fs::write(&path, text).unwrap();
            let error = set(&path, "embeddings", &[("provider", Some(value.into()))]).unwrap_err();
            assert!(error.to_string().contains("config.toml"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }
}
