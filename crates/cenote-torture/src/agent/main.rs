//! One process of a pool, to be killed.
//!
//! ```text
//! torture-agent daemon DIRECTORY CAPACITY RESERVE IDLE_MS   serves until its input ends
//! torture-agent client DIRECTORY ANSWER_MS                  does what its input says
//! ```
//!
//! It ends with the process that started it. What a client understands is in `client.rs`.
#![expect(unsafe_code, reason = "fork(2), which is what one of the roles is about")]

mod client;
mod daemon;
mod fork;

fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    end_with_parent();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["daemon", directory, capacity, reserve, idle_ms] => {
            daemon::run(directory, capacity, reserve, idle_ms)
        }
        ["client", directory, answer_ms] => client::run(directory, answer_ms),
        _ => Err(format!("not understood: {words:?}")),
    };
    match outcome {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("failed {}", error.replace('\n', " ")));
            std::process::ExitCode::from(3)
        }
    }
}

/// SIGKILL when the parent ends, however it ends.
fn end_with_parent() {
    let kill = Some(rustix::process::Signal::KILL);
    if let Err(error) = rustix::process::set_parent_process_death_signal(kill) {
        say(&format!("failed cannot tie itself to its parent: {error}"));
    }
}

/// A line to the one who started this. Takes no lock: a forked child may say things, too.
fn say(line: &str) {
    let line = format!("{line}\n");
    let mut left = line.as_bytes();
    while let Ok(written) = rustix::io::write(rustix::stdio::stdout(), left) {
        left = &left[written..];
        if left.is_empty() {
            break;
        }
    }
}
