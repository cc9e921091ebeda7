//! Takes over the terminal for the screens, and restores it in any case.

use std::io::{self, IsTerminal, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;

use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{execute, queue};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Whether the screens have the terminal now.
static TAKEN: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// Why screens cannot be shown; `None` if standard input and output are a suitable terminal.
pub fn obstacle() -> Option<&'static str> {
    if !io::stdout().is_terminal() {
        return Some("standard output is not a terminal");
    }
    if !io::stdin().is_terminal() {
        return Some("standard input is not a terminal");
    }
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    dumb.then_some("this terminal cannot show screens (TERM is not set, or dumb)")
}

/// The terminal while the screens have it. Dropping this restores it.
pub struct Screen {
    pub terminal: Terminal<CrosstermBackend<io::Stdout>>,
}

impl Screen {
    /// Takes over the terminal. A panic in this thread restores it before the message is printed.
    pub fn take() -> io::Result<Self> {
        give_back_on_panic(std::thread::current().id());
        enter()?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout())).inspect_err(|_| leave())?;
        Ok(Self { terminal })
    }

    /// Gives the terminal to another program for a while.
    pub fn lend(&mut self) {
        leave();
    }

    /// Takes it back.
    pub fn take_again(&mut self) -> io::Result<()> {
        enter()?;
        self.clear()
    }

    /// Makes the next drawing a complete one. The library's own function would ask the terminal for the cursor's
    /// position, and the answer would arrive among the keys.
    pub fn clear(&mut self) -> io::Result<()> {
        let size = self.terminal.size()?;
        self.terminal.resize(size.into())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, Hide).inspect_err(|_| leave())
}

/// Restores the terminal, once. Ignores errors, because then the terminal is gone.
fn leave() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut stdout = io::stdout();
    let _ = queue!(stdout, DisableBracketedPaste, LeaveAlternateScreen, Show);
    let _ = stdout.flush();
    let _ = disable_raw_mode();
}

/// Restores the terminal if the thread `owner` panics. A panic in another thread ends only one task, and the screens
/// stay.
fn give_back_on_panic(owner: ThreadId) {
    HOOK.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().id() == owner {
                leave();
                previous(panic);
            } else if !TAKEN.load(Ordering::SeqCst) {
                previous(panic);
            }
        }));
    });
}

/// The signals that end the screens.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    /// Starts to listen for them.
    pub fn watch() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for one of them.
    pub async fn come(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }

    /// Drops an interrupt that was meant for the editor, which had the terminal.
    pub fn forget_interrupt(&mut self) -> io::Result<()> {
        self.interrupt = signal(SignalKind::interrupt())?;
        Ok(())
    }
}
