//! Recognises names that suggest a secret: `DB_PASSWORD`, `clientSecret`, `X-Api-Key`, `mot de passe`.

/// What a name suggests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Password,
    Secret,
    Token,
    Key,
    /// A name that often means something else: `pass`, `pw`, `clave`.
    Short,
}

impl Named {
    /// The kind in the mark.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Password | Self::Short => "password",
            Self::Secret => "secret",
            Self::Token => "token",
            Self::Key => "api-key",
        }
    }
}

/// Parts of names, in any case, that make a name worth a look.
pub(super) const ANCHORS: &[&str] = &[
    "pass", "pw", "psk", "secret", "token", "key", "auth", "credential", "kennwort", "kennung", "contrase",
    "clave", "senha", "mdp", "jeton", "geheim", "schlüssel", "schlÜssel", "schluessel", "clé", "clÉ", "cle_",
    "clef", "parola", "identified by", "creds", "login", "zugangsdaten", "identifiants", "credencial",
];

/// The longest name, in bytes, that is looked at.
pub(super) const NAME_BYTES_MAX: usize = 80;

const PASSWORDS: &[&str] = &[
    "password", "passwd", "passphrase", "passcode", "passwort", "kennwort", "contraseña", "contrasena",
    "contrasenya", "senha", "motdepasse", "pwd", "psk", "mdp",
];
const SHORT: &[&str] = &["pass", "pw", "clave", "parola", "pword"];
/// Words that turn a short name into that of a password: `DB_PASS`.
const SHORT_OF: &[&str] = &[
    "db", "database", "user", "my", "mysql", "pg", "postgres", "redis", "mongo", "smtp", "imap", "mail",
    "ftp", "sftp", "ssh", "root", "admin", "login", "sql", "rabbitmq", "proxy", "wifi", "vpn", "store",
    "key", "trust", "become", "sudo", "vault", "require", "master", "bind",
];
/// Words that turn `key` after them into a secret's name.
const API_KEYS: &[&str] = &[
    "api", "access", "auth", "account", "service", "subscription", "license", "app", "application",
    "consumer", "client", "write", "admin", "role",
];
const SECRET_KEYS: &[&str] = &[
    "secret", "private", "signing", "encryption", "master", "shared", "preshared", "hmac", "session",
    "cookie",
];
/// Words that may follow the decisive one: `DB_PASSWORD_PROD`, `SECRET_KEY_BASE`, `clave_bd`.
const BEHIND: &[&str] = &[
    "prod", "production", "dev", "development", "staging", "test", "testing", "live", "sandbox", "base",
    "value", "default", "old", "new", "current", "primary", "secondary", "main", "backup", "confirmation",
    "confirm", "plain", "db", "bd", "acceso", "acces", "accès", "cliente",
];
/// Words that make a name mean something else: `next_page_token`, `has_password`, `eos_token`.
const OTHERS: &[&str] = &[
    "next", "prev", "previous", "page", "cursor", "continuation", "sync", "cancel", "cancellation", "parse",
    "lexer", "eos", "bos", "pad", "unk", "mask", "sep", "cls", "special", "stop", "start", "first", "last",
    "open", "close", "max", "min", "num", "per", "no", "has", "is", "use", "without", "show", "hide",
    "forgot", "public", "primary", "foreign", "count", "allow",
];

/// What this name suggests; `before` is the text in front of it, since a name may be two words with a blank between
/// them.
pub(super) fn read(name: &str, before: &str) -> Option<Named> {
    let mut words = words(name);
    while words.len() > 1
        && words.last().is_some_and(|word| BEHIND.contains(&word.as_str()) || is_number(word))
    {
        words.pop();
    }
    if words.iter().any(|word| OTHERS.contains(&word.as_str())) {
        return None;
    }
    let digits = |c: char| c.is_ascii_digit();
    let last = words.pop()?;
    let last = last.trim_end_matches(digits);
    if PASSWORDS.iter().any(|word| last.ends_with(word)) {
        return Some(Named::Password);
    }
    let outer = || word_before(before);
    match last {
        _ if SHORT.contains(&last) => {
            let is_password = words.last().is_some_and(|word| SHORT_OF.contains(&word.as_str()))
                // `openssl rsa -passin pass:…`
                || ["-passin ", "-passout ", "-pass "].iter().any(|flag| before.ends_with(flag));
            Some(if is_password { Named::Password } else { Named::Short })
        }
        "passe" => {
            let apart = words.is_empty() && before.to_lowercase().ends_with("mot de ");
            let joined = words.join(" ").ends_with("mot de");
            (apart || joined).then_some(Named::Password)
        }
        "by" => (words.last().map(String::as_str) == Some("identified")).then_some(Named::Password),
        "secret" | "secreto" | "geheimnis" | "geheim" | "credential" | "credentials" => Some(Named::Secret),
        "jeton" | "token" | "auth" | "authorization" => Some(Named::Token),
        "key" | "schlüssel" | "schluessel" => {
            let word = words.last().cloned().or_else(outer)?;
            key_of(&word)
        }
        // `clé API`, `clé secrète`: the qualifier comes last, and the name is found by its first word.
        "api" | "d'api" | "secrète" | "secrete" | "secreta" => {
            let word = words.last().cloned().or_else(outer)?;
            ["clé", "cle", "clef", "clave"].contains(&word.as_str()).then_some(Named::Key)
        }
        _ => {
            let joined = |end: &str| last.strip_suffix(end).filter(|head| !head.is_empty());
            if let Some(word) = ["key", "schlüssel", "schluessel"].into_iter().find_map(joined) {
                return key_of(word);
            }
            let is_pass = |end| joined(end).is_some_and(|head| SHORT_OF.contains(&head));
            if ["pass", "pw", "auth"].into_iter().any(is_pass) {
                return Some(Named::Password);
            }
            if joined("secret").is_some() || joined("geheimnis").is_some() {
                return Some(Named::Secret);
            }
            joined("token").map(|_| Named::Token)
        }
    }
}

fn key_of(word: &str) -> Option<Named> {
    if SECRET_KEYS.contains(&word) || word.starts_with("geheim") {
        return Some(Named::Secret);
    }
    (API_KEYS.contains(&word) || word == "zugangs").then_some(Named::Key)
}

/// The word before a name, separated by one blank: `api` in `API key`.
fn word_before(before: &str) -> Option<String> {
    let rest = before.strip_suffix([' ', '-'])?;
    let word = rest.rsplit(|c: char| !c.is_alphanumeric()).next()?;
    (!word.is_empty() && word.len() <= NAME_BYTES_MAX).then(|| word.to_lowercase())
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_digit())
}

/// The words of a name, in lower case: `APIKey`, `api_key` and `api-key` are `api` and `key`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut chars = name.chars().peekable();
    let mut last: Option<char> = None;
    while let Some(c) = chars.next() {
        let joins = matches!(c, '_' | '-' | '.' | ' ');
        let begins = c.is_uppercase()
            && last.is_some_and(|last| {
                last.is_lowercase()
                    || last.is_uppercase() && chars.peek().is_some_and(|next| next.is_lowercase())
            });
        if (joins || begins) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if !joins {
            word.extend(c.to_lowercase());
        }
        last = Some(c);
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_by_their_last_word() {
        for (before, name, want) in [
            ("", "DB_PASSWORD", Named::Password),
            ("", "dbPassword2", Named::Password),
            ("", "PGPASSWORD", Named::Password),
            ("", "MYSQL_PWD", Named::Password),
            ("", "db_pass", Named::Password),
            ("", "Kennwort", Named::Password),
            ("", "contraseña", Named::Password),
            ("mot de ", "passe", Named::Password),
            ("", "mot_de_passe", Named::Password),
            ("", "pass", Named::Short),
            ("", "clientSecret", Named::Secret),
            ("", "SECRET_KEY_BASE", Named::Secret),
            ("", "APIKey", Named::Key),
            ("the API ", "key", Named::Key),
            ("", "X-Api-Key", Named::Key),
            ("clé ", "API", Named::Key),
            ("CREATE USER a ", "IDENTIFIED BY", Named::Password),
            ("", "clave_db", Named::Short),
            ("", "api-schluessel", Named::Key),
            ("", "authToken", Named::Token),
            ("", "GH_TOKEN", Named::Token),
            ("", "_authToken", Named::Token),
        ] {
            assert_eq!(read(name, before), Some(want), "{before}{name}");
        }
        for (before, name) in [
            ("", "password_length"),
            ("", "tokenizer"),
            ("", "max_tokens"),
            ("", "next_page_token"),
            ("", "has_password"),
            ("", "key"),
            ("", "primary_key"),
            ("", "cache_key"),
            ("", "passed"),
            ("", "author"),
            ("", "secretary"),
            ("de ", "passe"),
            ("the ", "key"),
            ("", "monkey"),
        ] {
            assert_eq!(read(name, before), None, "{before}{name}");
        }
    }
}
