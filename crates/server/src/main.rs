//! How it is run: the command line, listeners, logs and metrics around `lazuli_http`. Only this crate reads
//! configuration, makes random ids and waits.

mod account;
mod admin;
mod api;
mod assets;
mod background;
mod banner;
mod begin;
mod cli;
mod clock;
mod cluster;
mod console;
mod crowd;
mod data;
mod fetch;
mod health;
mod ids;
mod import;
mod lab;
mod listen;
mod metrics;
mod oauth;
mod operations;
mod operator;
mod permissions;
mod program;
mod rescue;
mod reset;
mod secrets;
mod serve;
mod settings;
mod smb;
mod sources;
mod tail;
mod telemetry;
mod tls;
mod transfer;

use std::process::ExitCode;

/// Malloc and free were 14 to 19 % of a small request (docs/decisions/0001).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    permissions::keep_private();
    let cli = match cli::read(std::env::args_os(), |name| std::env::var(name).ok()) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    let outcome = match cli.command {
        Some(cli::Command::Operations) => {
            print!("{}", operations::table());
            Ok(())
        }
        Some(cli::Command::Account(command)) => account::run(&cli.flags, &command).map(|text| print!("{text}")),
        Some(cli::Command::Clock { command }) => clock::run(&cli.flags, command.as_ref()).map(|text| print!("{text}")),
        Some(cli::Command::Explain { request_id }) => {
            operator::explain(&cli.flags, &request_id).map(|text| print!("{text}"))
        }
        Some(cli::Command::Lab { command }) => operator::lab(&cli.flags, &command).map(|text| print!("{text}")),
        Some(cli::Command::Reset { account }) => {
            operator::reset(&cli.flags, account.as_deref()).map(|text| print!("{text}"))
        }
        Some(cli::Command::Transfer(command)) => transfer::run(&command).map(|text| print!("{text}")),
        Some(cli::Command::Check) => rescue::check(&cli.flags.location).map(|text| print!("{text}")),
        Some(cli::Command::Salvage { to }) => rescue::salvage(&cli.flags.location, &to).map(|text| print!("{text}")),
        Some(cli::Command::Import { from, to }) => import::run(&cli.flags, &from, &to).map(|text| print!("{text}")),
        Some(cli::Command::Serve) | None => serve::run(&cli.flags),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("lazuli: {message}");
            ExitCode::FAILURE
        }
    }
}
