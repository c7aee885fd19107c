//! The command line: everything the interface does, for scripts and pipes.

mod args;
mod capture;
mod config;
mod context;
mod descriptors;
mod diff;
mod doctor;
mod document;
mod exit;
mod global;
mod interface;
mod log;
mod output;
mod password;
mod progress;
mod read;
mod restore;
mod runs;
mod show;
mod sign_in;
mod signals;
mod surroundings;
mod target;
mod verify;

use std::process::ExitCode;
use std::time::Duration;

use clap::CommandFactory;

use crate::error::{Error, ErrorKind, Result};
use args::{Arguments, Command};
use context::Context;
use global::{Refusal, When};
use output::Output;
use sign_in::Needs;

/// Parses the arguments, runs the command, and says how it ended.
pub fn main() -> ExitCode {
    let (arguments, said) = match Arguments::read() {
        Ok(read) => read,
        Err(Refusal::Clap(error)) => return usage(&error),
        Err(Refusal::Value(error)) => return ended(&plain(), Err(error)),
    };
    log::start(arguments.global.verbose);
    let output = Output::new(arguments.global.json, arguments.global.color);
    let context = match Context::new(&arguments, said, output) {
        Ok(context) => context,
        Err(failure) => {
            let (error, output) = *failure;
            return ended(&output, Err(error));
        }
    };
    let patience = patience(arguments.command.as_ref());
    let running = run(&context, arguments.command);
    let answer = context.block_on(unless_stopped(&context, patience, running));
    log::flush();
    let code = ended(context.output(), answer.and_then(|answer| answer));
    context.end();
    code
}

/// What clap answers: help and version are no errors; an error is one line and a hint, like any
/// other, and one document with `--json`.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    ended(&plain(), Err(in_one_line(&error.render().to_string())))
}

/// The output for arguments that could not be read.
fn plain() -> Output {
    let asked_json = std::env::args_os().any(|argument| argument == "--json");
    Output::new(asked_json, When::Never)
}

/// clap's paragraphs as a message and a hint.
fn in_one_line(text: &str) -> Error {
    let mut lines = text.lines().map(str::trim);
    let mut message = String::new();
    for line in lines.by_ref().take_while(|line| !line.is_empty()) {
        let line = line.strip_prefix("error: ").unwrap_or(line);
        if !message.is_empty() {
            message.push(' ');
        }
        message.push_str(line);
    }
    let tip = lines.find_map(|line| line.strip_prefix("tip: ").map(str::to_owned));
    let hint = tip.unwrap_or_else(|| {
        "`afterrun --help` lists the commands, `afterrun COMMAND --help` what each takes".into()
    });
    Error::new(ErrorKind::Usage, message).hint(hint)
}

fn ended(output: &Output, answer: Result<ExitCode>) -> ExitCode {
    match answer.and_then(|code| output.flush().map(|()| code)) {
        Ok(code) => code,
        // Whoever read us has gone: nothing is left to say, and nobody to say it to.
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output.error(&error);
            exit::code(error.kind())
        }
    }
}

/// How long `command` may take to end once it is told to: what writes removes what it began, and the
/// interface puts the terminal back.
fn patience(command: Option<&Command>) -> Duration {
    match command {
        None | Some(Command::Open(_) | Command::Demo(_)) => Duration::MAX,
        Some(Command::Restore(_) | Command::Fetch(_) | Command::Capture(_)) => {
            Duration::from_secs(30)
        }
        _ => Duration::from_secs(1),
    }
}

/// Awaits `running`; once a signal has stopped it, no longer than `patience`, whoever does not answer.
async fn unless_stopped<T>(
    context: &Context,
    patience: Duration,
    running: impl Future<Output = Result<T>>,
) -> Result<T> {
    let mut running = std::pin::pin!(running);
    tokio::select! {
        biased;
        answer = &mut running => return answer,
        () = context.stopped() => {}
    }
    let silent = |error: &Error| {
        use ErrorKind as Kind;
        matches!(error.kind(), Kind::Timeout | Kind::Database | Kind::Store)
    };
    match tokio::time::timeout(patience, running).await {
        Ok(Err(error)) if silent(&error) => Err(Error::cancelled()),
        Ok(answer) => answer,
        Err(_) => Err(Error::cancelled()),
    }
}

/// Whether a wrong configuration ends `command`: doctor tells of it among the rest.
fn needs_configuration(command: Option<&Command>) -> bool {
    match command {
        Some(Command::Doctor | Command::Completions { .. } | Command::Man) => false,
        Some(Command::Config(args)) => !args.default,
        _ => true,
    }
}

/// Whether `command` puts private files anywhere, and so looks for those of processes that were killed.
fn has_private_files(command: Option<&Command>) -> bool {
    !matches!(
        command,
        Some(
            Command::Agents
                | Command::Runs(_)
                | Command::Show(_)
                | Command::Config(_)
                | Command::Completions { .. }
                | Command::Man
        )
    )
}

async fn run(context: &Context, command: Option<Command>) -> Result<ExitCode> {
    let done = |answer: Result<()>| answer.map(|()| ExitCode::SUCCESS);
    if needs_configuration(command.as_ref()) {
        context.configured()?;
    }
    if has_private_files(command.as_ref()) {
        context.sweep();
    }
    sign_in::sign_in(context, Needs::of(command.as_ref())).await?;
    match command {
        None => done(interface::configured(context).await),
        Some(Command::Demo(args)) => done(interface::demo(context, args).await),
        Some(Command::Open(args)) => done(interface::at(context, args).await),
        Some(Command::Agents) => done(runs::agents(context).await),
        Some(Command::Runs(args)) => done(runs::runs(context, &args).await),
        Some(Command::Show(args)) => show::show(context, &args).await,
        Some(Command::Verify(args)) => verify::verify(context, &args).await,
        Some(Command::Tree(args)) => done(read::tree(context, &args).await),
        Some(Command::Cat(args)) => done(read::cat(context, &args).await),
        Some(Command::Diff(args)) => done(diff::diff(context, &args).await),
        Some(Command::Patch(args)) => done(diff::patch(context, &args).await),
        Some(Command::Restore(args)) => done(restore::restore(context, &args).await),
        Some(Command::Fetch(args)) => done(restore::fetch(context, &args).await),
        Some(Command::Capture(args)) => done(capture::capture(context, &args).await),
        Some(Command::Config(args)) => done(config::config(context, &args)),
        Some(Command::Doctor) => doctor::doctor(context).await,
        Some(Command::Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "afterrun", &mut script);
            done(context.output().bytes(&script))
        }
        Some(Command::Man) => {
            let mut page = Vec::new();
            // What the short help leaves out is described here all the same.
            let whole = Arguments::command().mut_args(|argument| argument.hide_short_help(false));
            clap_mangen::Man::new(whole)
                .render(&mut page)
                .map_err(|error| Error::io("write", std::path::Path::new("the manual"), error))?;
            page.extend(crate::tui::reference::roff().into_bytes());
            done(context.output().bytes(&page))
        }
    }
}
