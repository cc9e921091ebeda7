//! The `cerebro` binary: everything is in the library.

/// See `docs/performance.md`; `daemon::spawn` has its settings.
#[global_allocator]
static HEAP: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    cerebro::cli::main()
}
