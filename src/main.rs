//! The `cerebro` binary: everything is in the library.

fn main() -> std::process::ExitCode {
    cerebro::cli::main()
}
