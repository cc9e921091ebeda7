//! Sets up what belongs to the machine and not to an agent: the service that starts the daemon with the user's
//! session, and shell completions. Cerebro writes these files whole, and plans, records and removes them like those
//! of agents.

use super::block::WRITTEN_BY;
use super::piece::Target;
use super::user_folders::{Invocation, UserFolders};

/// The name of the record of the service's file.
pub const SERVICE_RECORD: &str = "daemon";
/// The name of the record of the completion files.
pub const COMPLETIONS_RECORD: &str = "completions";

/// A shell that can complete `cerebro` command lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Shell {
    /// Every shell.
    pub const ALL: [Self; 3] = [Self::Bash, Self::Zsh, Self::Fish];

    /// The file in which the shell looks for the completions of `cerebro`, with `script` as its text.
    pub fn target(self, folders: &UserFolders, script: &str) -> Target {
        let data = folders.named("XDG_DATA_HOME", ".local/share");
        let path = match self {
            Self::Bash => data.join("bash-completion/completions/cerebro"),
            Self::Zsh => data.join("zsh/site-functions/_cerebro"),
            Self::Fish => folders.config().join("fish/completions/cerebro.fish"),
        };
        Target::whole(&path, self.marked(script))
    }

    /// The script with the mark on a line of its own. The first line of a zsh script must stay the first.
    pub fn marked(self, script: &str) -> String {
        let mark = format!("# {WRITTEN_BY}completions`; `cerebro completions --remove` removes it");
        match script.split_once('\n').filter(|_| self == Self::Zsh) {
            Some((first, rest)) => format!("{first}\n{mark}\n{rest}"),
            None => format!("{mark}\n{script}"),
        }
    }
}

/// The service that starts the daemon with the user's session: a systemd user unit, on macOS a launchd agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Service {
    /// Its name for the service manager.
    pub name: String,
    /// Its one file.
    pub target: Target,
}

/// A command line of the service manager.
pub type Order = Vec<String>;

impl Service {
    /// The service of one home. For the default home its name is plain. For another home it includes a hash of the
    /// path, so that two homes do not share a file.
    pub fn of(folders: &UserFolders, invocation: &Invocation) -> Self {
        let suffix = invocation.home_suffix();
        let words = invocation.words(&["daemon", "run"]);
        if cfg!(target_os = "macos") {
            let name = format!("cerebro.daemon{suffix}");
            let path = folders.home(&format!("Library/LaunchAgents/{name}.plist"));
            let target = Target::whole(&path, launch_agent(&name, &words));
            Self { name, target }
        } else {
            let name = format!("cerebro{suffix}.service");
            let path = folders.config().join("systemd/user").join(&name);
            Self { target: Target::whole(&path, unit(&words)), name }
        }
    }

    /// The commands that make the manager read the file, and start the service now and with each session.
    pub fn start(&self) -> Vec<Order> {
        let file = self.target.path.to_string_lossy();
        if cfg!(target_os = "macos") {
            return vec![order(&["launchctl", "load", "-w", &file])];
        }
        vec![
            order(&["systemctl", "--user", "daemon-reload"]),
            order(&["systemctl", "--user", "enable", "--now", &self.name]),
        ]
    }

    /// The commands that stop the service, before its file is removed.
    pub fn stop(&self) -> Vec<Order> {
        let file = self.target.path.to_string_lossy();
        if cfg!(target_os = "macos") {
            return vec![order(&["launchctl", "unload", "-w", &file])];
        }
        vec![order(&["systemctl", "--user", "disable", "--now", &self.name])]
    }
}

fn order(words: &[&str]) -> Order {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A systemd unit. A daemon that finds another one serving ends with 3, which is not a failure. One that is idle or
/// replaced ends with 0, and systemd does not restart it: the next client starts one.
fn unit(words: &[String]) -> String {
    let (program, arguments) = words.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
    let arguments = arguments.iter().map(|word| format!(" {}", in_unit(&word.replace('$', "$$"))));
    format!(
        "# {WRITTEN_BY}daemon install`; `cerebro daemon uninstall` removes it\n\
         [Unit]\n\
         Description=Cerebro, the memory of AI coding agents\n\
         Documentation=man:cerebro(1)\n\
         StartLimitIntervalSec=120\n\
         StartLimitBurst=5\n\
         \n\
         [Service]\n\
         ExecStart={}{}\n\
         Restart=on-failure\n\
         RestartSec=5\n\
         SuccessExitStatus=3\n\
         UMask=0077\n\
         NoNewPrivileges=true\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        in_unit(program),
        arguments.collect::<String>(),
    )
}

/// A word of a command line for systemd: quoted, and with `%` doubled, because `%` begins a specifier.
fn in_unit(word: &str) -> String {
    let escaped = word.replace('\\', r"\\").replace('"', "\\\"").replace('%', "%%").replace('\n', r"\n");
    format!("\"{escaped}\"")
}

/// A property list of launchd.
fn launch_agent(name: &str, words: &[String]) -> String {
    let words: String = words.iter().map(|word| format!("    <string>{}</string>\n", in_xml(word))).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!-- {WRITTEN_BY}daemon install`; `cerebro daemon uninstall` removes it -->\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n\
         <dict>\n\
         \x20 <key>Label</key>\n\
         \x20 <string>{}</string>\n\
         \x20 <key>ProgramArguments</key>\n\
         \x20 <array>\n\
         {words}\
         \x20 </array>\n\
         \x20 <key>RunAtLoad</key>\n\
         \x20 <true/>\n\
         \x20 <key>Umask</key>\n\
         \x20 <integer>63</integer>\n\
         </dict>\n\
         </plist>\n",
        in_xml(name),
    )
}

fn in_xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::block::is_written_by_cerebro;

    fn words(words: &[&str]) -> Vec<String> {
        order(words)
    }

    #[test]
    fn a_unit_starts_exactly_the_command_that_was_meant() {
        let text = unit(&words(&["/a b/100%/cerebro", "--home", "/h\"$x\\", "daemon", "run"]));
        let line = text.lines().find(|line| line.starts_with("ExecStart=")).unwrap();
        assert_eq!(line, r#"ExecStart="/a b/100%%/cerebro" "--home" "/h\"$$x\\" "daemon" "run""#);
        assert!(is_written_by_cerebro(&text));
    }

    #[test]
    fn a_launch_agent_is_ours_and_escapes_what_xml_would_read() {
        let text = launch_agent("cerebro.daemon", &words(&["/a&b/<c>", "daemon"]));
        assert!(
            text.contains("    <string>/a&amp;b/&lt;c&gt;</string>\n    <string>daemon</string>\n"),
            "{text}"
        );
        assert!(is_written_by_cerebro(&text));
    }

    #[test]
    fn every_script_is_marked_and_zshs_first_line_stays_first() {
        for shell in Shell::ALL {
            let marked = shell.marked("#compdef cerebro\nbody\n");
            assert!(is_written_by_cerebro(&marked) && marked.ends_with("body\n"), "{shell:?}: {marked}");
            assert_eq!(marked.starts_with("#compdef cerebro\n"), shell == Shell::Zsh, "{marked}");
        }
    }

    #[test]
    fn another_home_has_a_service_of_its_own() {
        let folders = UserFolders::of("/u".into());
        let of = |home: Option<&str>| {
            Service::of(
                &folders,
                &Invocation { program: "/c".into(), home: home.map(Into::into), former: None },
            )
            .name
        };
        assert_ne!(of(None), of(Some("/h")));
        assert_ne!(of(Some("/h")), of(Some("/i")));
        assert_eq!(of(Some("/h")), of(Some("/h")));
    }
}
