//! Secrets in places of their own: the statements, programs and sentences in which people write them.

use super::bars::Draw;
use super::{hex, letters};
use crate::redact::redact;

/// Where a password is; `VALUE` stands for it.
const PASSWORDS: &[&str] = &[
    "ALTER ROLE bob PASSWORD 'VALUE';",
    "CREATE USER 'bob'@'%' IDENTIFIED BY 'VALUE';",
    "ALTER USER bob IDENTIFIED WITH mysql_native_password BY 'VALUE';",
    "ENV DB_PASSWORD VALUE\n",
    "define('DB_PASSWORD', 'VALUE');",
    "var dbPassword string = \"VALUE\"",
    "static const char password[] = \"VALUE\";",
    "ConvertTo-SecureString \"VALUE\" -AsPlainText -Force",
    "echo 'VALUE' | sudo -S ls",
    "echo VALUE | docker login -u bob --password-stdin",
    "openssl rsa -passin pass:VALUE -in k",
    "keytool -list -storepass VALUE",
    "PW=VALUE",
    "wpa_psk=\"VALUE\"",
    "**Passwort:** VALUE",
    "- **Password**: `VALUE`",
    "| key | value |\n|---|---|\n| password | VALUE |\n",
    "| `db_password` | `VALUE` |",
    "password -> VALUE",
    "password → VALUE",
    "password: |\n  VALUE\nport: 5432\n",
    "System.setProperty(\"db.password\", \"VALUE\");",
    "password=VALUE&grant_type=password",
    "The password is: VALUE.",
    "Log in as bob with the password VALUE, then go on",
    "mot de passe : VALUE",
    "the password for the staging database is VALUE",
    "a senha é VALUE",
    "credentials: bob / VALUE",
    "Zugangsdaten: bob / VALUE",
    "Login: bob / VALUE",
    "login: bob:VALUE",
    "HTTPBasicAuth('bob', 'VALUE')",
    "aiohttp.BasicAuth(\"bob\", \"VALUE\")",
    "java -jar a.jar --spring.datasource.password VALUE",
    "Password for the staging database: VALUE",
    "Password for the staging database: it is VALUE",
    "Password for staging: VALUE is the new one",
    "Passwort für das WLAN: VALUE",
    "mot de passe de la base : VALUE",
    "auth=('bob', 'VALUE')",
    "#define PASSWORD \"VALUE\"",
    "SET PASSWORD FOR bob = 'VALUE';",
    "variable \"db_password\" {\n  type = string\n  default = \"VALUE\"\n}",
    "pw VALUE",
    "user,password\nann,required\nbob,VALUE\n",
    "id;passwort;mail\r\n1;VALUE;bob@h.example\r\n",
    "user\tDB password\nbob\tVALUE\n",
    "\"user\",\"password\"\n\"Bob, the first\",\"VALUE\"\n",
    "| user | password | role |\n|---|:--|---|\n| bob | `VALUE` | admin |\n",
    "db.example:5432:app:bob:VALUE\n",
    "define( 'DB_PASSWORD', 'VALUE' );",
    "//registry.example/:_password=VALUE\n",
    "requirepass VALUE\n",
    "id       | 1\npassword | VALUE\n",
    " id | name | password \n----+------+----------\n  1 | bob  | VALUE\n(1 row)\n",
    " password \n----------\n VALUE\n(1 row)\n",
    "+----+----------+\n| id | password |\n+----+----------+\n|  1 | VALUE |\n+----+----------+\n",
    "id  name  password\n--  ----  --------\n1   bob   VALUE\n",
    "id|name|password\n1|bob|VALUE\n",
    "│ name │ password │\n├──────┼──────────┤\n│ bob │ VALUE │\n",
    "<property name=\"db.password\">VALUE</property>",
    "<key>Password</key>\n\t<string>VALUE</string>",
    "const p = process.env.DB_PASSWORD || 'VALUE';",
    "p = os.environ.get('DB_PASSWORD') or 'VALUE'",
    "PW=\"${DB_PASSWORD:-VALUE}\"",
    "password <- \"VALUE\"",
    "char password[64] = \"VALUE\";",
    "Dim password As String = \"VALUE\"",
    "public string Password { get; set; } = \"VALUE\";",
    "\"args\": [\"--password\", \"VALUE\"]",
    "args:\n  - --password\n  - VALUE\n",
    "Set `DB_PASSWORD` to `VALUE`.",
    "curl -su bob:VALUE https://h",
    "mysql -u bob -p'VALUE;x' app",
    "htpasswd -cb .htpasswd bob VALUE",
    "htpasswd -nbB bob VALUE",
    "htpasswd -Bbn bob VALUE > auth/htpasswd",
    "openssl enc -aes-256-cbc -k VALUE",
    "unzip -P VALUE a.zip",
    "az login --service-principal -u a -p VALUE --tenant t",
    "echo 'bob:VALUE' | chpasswd",
    "sql.Open(\"mysql\", \"bob:VALUE@tcp(db:3306)/app\")",
    "mysqli_connect(\"db\", \"bob\", \"VALUE\", \"app\");",
    "DriverManager.getConnection(url, \"bob\", \"VALUE\");",
    "Password (staging): VALUE",
    "I set the password to VALUE",
    "user bob, password VALUE",
    "Das Passwort ist jetzt VALUE",
    "password for anna.meier is VALUE",
    "password: String::from(\"VALUE\"),",
    "SET PASSWORD FOR 'bob'@'h' = PASSWORD('VALUE');",
    "CREATE USER bob IDENTIFIED BY VALUE;",
    "setx DB_PASSWORD \"VALUE\"",
];

/// Where a token is.
const TOKENS: &[&str] = &[
    "git clone https://VALUE@github.com/a/b.git",
    "https://h.example/x?user=bob&sig=VALUE",
    "https://h.example/x?key=VALUE",
    "use the token VALUE for it",
    "INFO using api key VALUE",
    "SECRET_KEY_BASE = VALUE=",
    "token:\n  VALUE\n",
    "localStorage.setItem('token', 'VALUE')",
    "std::env::set_var(\"API_KEY\", \"VALUE\");",
    "refresh_token=VALUE&grant_type=x",
    ".header('X-Api-Key', 'VALUE')",
    "* **Token**: `VALUE`",
    "otp token VALUE",
    "service,api_key\nmaps,VALUE\n",
    "//registry.npmjs.org/:_authToken=VALUE\n",
    "curl -u VALUE: https://h",
    "geheimer Schlüssel: VALUE",
    "jeton d'accès : VALUE",
    "la clé d'API est VALUE",
    "token_acceso: VALUE",
    "cle_api=VALUE\n",
    "PresharedKey = VALUE\n",
];

#[test]
fn almost_all_secrets_in_places_of_their_own_are_redacted() {
    let mut draw = Draw(9);
    let mut missed = Vec::new();
    for (places, is_password) in [(PASSWORDS, true), (TOKENS, false)] {
        for place in places {
            let mut found = 0;
            for _ in 0..100 {
                // Numbers and signs of a password make it drawn; `hunter2` may be a word of a sentence.
                let value = if is_password { draw.strong_password() } else { draw.token() };
                let done = redact(&place.replace("VALUE", &value)).text.into_owned();
                found += usize::from(!done.contains(&value));
            }
            if found < 95 {
                missed.push(format!("{found} of 100: {place}"));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn a_user_whose_password_was_redacted_stays() {
    for text in ["htpasswd -cb file alice hunter2x", "htpasswd -nb alice hunter2x > file"] {
        assert_eq!(redact(text).text, text.replace("hunter2x", "[REDACTED:password]"));
    }
}

#[test]
fn hashes_of_passwords_are_redacted() {
    for hash in [
        format!("$2b$12${}", &letters(60)[..53]),
        format!("$6${}${}", letters(8), &letters(90)[..86]),
        format!("$apr1${}${}", letters(8), letters(22)),
        format!("$argon2id$v=19$m=65536,t=3,p=4${}${}", letters(22), letters(43)),
        format!("$y$j9T${}${}", letters(22), letters(43)),
        format!("$7$CU..../....{}${}", letters(22), letters(43)),
        format!("{{SHA}}{}=", letters(27)),
        format!("{{SSHA512}}{}==", letters(94)),
    ] {
        assert_eq!(redact(&format!("bob:{hash}:x")).text, "bob:[REDACTED:password-hash]:x");
    }
    for text in ["awk '{print $1$2}'", "$1$", "$2b$10$short", "\"$5\" costs $6", &format!("{} x", hex(40))] {
        assert_eq!(redact(text).text, text);
    }
}

#[test]
fn each_row_below_a_heading_is_redacted() {
    let rows =
        "id,password,email,token\n1,hunter2x,a@h.example,a8f3k2m9x1\n2,\"b,4nana!\",b@h.example,none\n";
    let want = "id,password,email,token\n1,[REDACTED:password],a@h.example,[REDACTED:token]\n2,\"[REDACTED:password]\",b@h.example,none\n";
    assert_eq!(redact(rows).text, want);
    // A row of another length ends the table, and a line within it is no heading.
    for rows in ["a,password\n1,2,3\n1,hunter2x\n", "a,b\nc,password\n1,hunter2x\n"] {
        assert_eq!(redact(rows).text, rows);
    }
}

#[test]
fn the_data_of_a_secret_of_kubernetes_is_redacted() {
    let parts = [
        "apiVersion: v1\n",
        "kind: Secret\n",
        "metadata:\n  name: db1\n",
        "data:\n  user: Ym9iYm9i\n  dsn.txt: aHVudGVyMg==\n",
    ];
    for order in [[0, 1, 2, 3], [0, 3, 1, 2], [3, 2, 1, 0]] {
        let manifest: String = order.map(|at| parts[at]).concat();
        let mark = "[REDACTED:secret]";
        let want = manifest.replace("Ym9iYm9i", mark).replace("aHVudGVyMg==", mark);
        assert_eq!(redact(&format!("{manifest}---\n{}", parts[3])).text, format!("{want}---\n{}", parts[3]));
        let nested = |text: &str| text.lines().map(|line| format!("  {line}\n")).collect::<String>();
        assert_eq!(redact(&nested(&manifest)).text, nested(&want));
        let other = manifest.replace("Secret", "ConfigMap");
        assert_eq!(redact(&other).text, other);
    }
}

#[test]
fn a_secret_of_kubernetes_may_be_an_item_of_a_list() {
    let list = "items:\n- kind: Secret\n  data:\n    dsn: aHVudGVyMg==\n- kind: ConfigMap\n  data:\n    mode: ZmFzdGVy\n\
                - data:\n    dsn: aHVudGVyMw==\n  stringData:\n    dsn: hunter2x\n    mode: ''\n  kind: Secret\n";
    let mark = "[REDACTED:secret]";
    let want = list.replace("aHVudGVyMg==", mark).replace("aHVudGVyMw==", mark).replace("hunter2x", mark);
    assert_eq!(redact(list).text, want);
}

#[test]
fn a_private_key_in_base64_is_redacted_and_a_certificate_is_not() {
    for (begin, is_private) in [
        ("LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1J", true),
        ("LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpN", true),
        ("LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0tLS0tCk1J", true),
        ("LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZBVEUgS0VZLS0t", true),
        ("LS0tLS1CRUdJTiBFTkNSWVBURUQgUFJJVkFURSBLRVkt", true),
        ("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSQ", false),
        ("LS0tLS1CRUdJTiBQVUJMSUMgS0VZLS0tLS0KTUlJ", false),
    ] {
        let text = format!("client-data: {begin}{}==\n", letters(60));
        let want = if is_private { "client-data: [REDACTED:private-key]\n" } else { &text };
        assert_eq!(redact(&text).text, want);
    }
}

#[test]
fn the_keys_of_wordpress_are_redacted() {
    let key = "pj]BvNUqS) jt)m-mb])Y(g:dfMA^#8s(Ktm8+F~;(SqB9!4j<EqXSDgrMiiP[rX";
    for name in ["AUTH_KEY", "SECURE_AUTH_SALT", "LOGGED_IN_KEY", "NONCE_SALT"] {
        let text = format!("define( '{name}',   '{key}' );");
        assert_eq!(redact(&text).text, text.replace(key, "[REDACTED:secret]"));
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn what_only_looks_like_such_a_place_stays() {
    for line in [
        "user, password\nbob, required\n",
        "the user, the password\nof the page, which is new\n",
        "login(user, password,\n  host1x2y, port1x2y)",
        "| token | the token to use |\n| key2 | value2x3 |",
        "localhost:5432:5432",
        "app:5432:db:user:password",
        "kind: Secret\nmetadata:\n  name: db\n",
        "kind: Secret\n```\n\n```yaml\ndata:\n  mode: fast\n```\n",
        "ok  \tapp/auth\t0.005s\nok  \tapp/oauth2server\t0.011s\n",
        "12K\tauth\n8K\toauth2server\n",
        "from app import db, auth\nfrom utils import log, b64decode\n",
        "a1b2c3d, reset the admin password\nb2c3d4e, upgrade nginx 1.25\n",
        "cat users | token\n\nfoo1x2y3 | bar4z5w6\n",
        "| Secret | Used by |\n|---|---|\n| K8S_TOKEN | deploy |\n",
        "https://h.example/o/r/blob/{SHA}/crates/service/src/recall/anchors.rs",
        "t('auth_key', 'Enter the key of 32 signs that you got from your account today')",
        "| token | the token to use |",
        "| password | string | required |",
        "**Token:** see the vault",
        "**Password**: required",
        "the password for the database is stored in the vault",
        "password for user postgres: ",
        "token for the app: see page2",
        "the password for bob: TODO",
        "Password for 'https://bob@h.example': ",
        "a-config.password is read",
        "each memory is identified by 'slug'",
        "users are identified by \"name\"",
        "with the token sha256",
        "the token E0502 is unknown",
        "and the password field2",
        "token -> String",
        "self.password->len()",
        "assert_eq!(find(\"password\", \"name\"), None);",
        "t('password', 'Password')",
        "token:\n  type: string",
        "secret:\n  - name1",
        "password:\n",
        "credentials: see docs/auth.md",
        "credentials: https://host/path1",
        "https://h.example/x?key=user_id_of_the_account",
        "https://a-long-name-of-a-user@host.example/x",
        "login: POST /api/v1/login2",
        "login: src/auth2.rs",
        "Login: see docs/page2",
        "login: 2024-01-02 10:30:22",
        "login: admin/admin1",
        "credentials: bob / alice",
        "the token v2 is used",
        "variable \"db_password\" {\n  type = string\n}",
        "#define TOKEN_H 1",
        "echo hello | sudo tee /etc/x1",
        "ENV TOKEN",
        "password -> bcrypt$12 cost",
        "password = hash_v2",
        "const token = next();",
        "var password string",
        "password: SecretString,",
        "The password to set is in the vault",
        "Set `token` to `Bearer`.",
        "Password\n--------\nUse base64url for it\n",
        "password | string\n",
        "password required\n",
        "password = getenv(\"DB_PASSWORD2\")",
        "password = decrypt(\"the-field-2\")",
        "the user is identified by name2",
        "token <- ch",
        "password || 'Enter your password'",
        "Password (optional): none",
        " key | token \n-----+-------\n k1 | the token\n",
        "| a password\n|---\n| field2 |\n",
        "with password field2",
        "<label for=\"password\">Wachtwoord</label>",
        "<h2 id=\"password\">Rules</h2>",
        "PASSWORD(\"grant2pw\"),",
        "pwd <- getCurrentDirectory",
        "- --password\n- --username\n",
        "- --password\n- Added in the second version\n",
        "a user is identified by email2name",
        "Login { password: getUserIdByName, port: 1 }",
        "authToken = getUserIdByGroupIdFromDb",
        "it converts the password to UTF-16LE",
        "migrate auth to oauth2proxy",
        "PASS: test12",
        "--- PASS: TestHTTPServerOfTheURL (0.05s)",
        "PASS: TestUTF8ToUTF16",
        "ModulePass *createAnnotation2MetadataLegacyPass();",
        "password = conf.getString(\"SMTP_PW_2024\")",
        "apiKey = get(\"k8s-api-name\")",
        "openssl enc -k",
        "openssl req -x509 -newkey rsa:4096 -keyout key.pem -out cert.pem",
        "htpasswd -cB passwords.txt alice7",
        "Call htpasswd -b to add a user to the file quickly",
        "htpasswd -b file user password",
        "the login('bob', 'page2') call",
    ] {
        assert_eq!(redact(line).text, line);
    }
}
